/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Wrappers of libibverbs and librdmacm that record registrations and can fail. Nothing fails
 * unless told to.
 */
#ifndef PINION_TEST_VERBS_H
#define PINION_TEST_VERBS_H

struct registrations {
	int calls;
	int access[8]; /* of each */
	void *at[8]; /* likewise */
	int fail[8]; /* an errno for the call of this number, 0: none */
	int pass_access; /* if not 0: the real call gets these rights */
};

extern struct registrations registrations;

/* Clears the records, and lets all calls pass. */
void registrations_reset(void);

extern int dereg_fails; /* what the next ibv_dereg_mr() returns, if not 0 */
extern int
	alloc_pd_fails; /* errno of the next ibv_alloc_pd(); -1: NULL, errno 0 */

extern int ack_fails; /* errno of the next rdma_ack_cm_event(), if not 0 */
extern int migrate_fails; /* errno of the next rdma_migrate_id(), likewise */

/*
 * Makes the next malloc() or calloc() of this thread fail. Skips the test if others have
 * replaced them, as valgrind does.
 */
void fail_malloc(void);
void stop_failing_malloc(void);

#endif /* PINION_TEST_VERBS_H */
