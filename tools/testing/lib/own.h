/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queues in memory of this process: a parent domain whose allocators keep count.
 */
#ifndef PINION_TEST_OWN_H
#define PINION_TEST_OWN_H

#include <infiniband/verbs.h>
#include <pinion/queues.h>

/* PINION_RES_TYPE_* without its upper half; 0 is none */
enum { OWN_KINDS = 5 };

enum own_answer {
	OWN_MEMORY,
	OWN_DEFAULT, /* may be the kernel's */
	OWN_NOTHING,
	OWN_READ_ONLY, /* memory that cannot be written */
};

struct own {
	int live[OWN_KINDS], ever[OWN_KINDS]; /* atomic */
	void *last[OWN_KINDS]; /* where the latest of each kind is */
	enum own_answer answer;
	int left; /* how much memory is given before that */
};

/* For ibv_alloc_parent_domain(): pd is still to be set. */
struct ibv_parent_domain_init_attr own_attr(struct own *own);
/* One around @pd. */
struct ibv_pd *own_domain(struct own *own, struct ibv_pd *pd);
/* All was given back. */
void own_check(const struct own *own);

#endif /* PINION_TEST_OWN_H */
