/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * On-demand paging: regions whose pages come when they are touched and go when the
 * process's memory changes. The table is the only authority of what is there.
 */
#ifndef PINION_MEM_ODP_H
#define PINION_MEM_ODP_H

#include <linux/completion.h>
#include <rdma/ib_umem_odp.h>

#include "key.h"

enum pinion_odp_count {
	PINION_ODP_FAULTS,		/* pages */
	PINION_ODP_FAULTS_HANDLED,	/* events */
	PINION_ODP_INVALIDATIONS,
	PINION_ODP_INVALIDATIONS_HANDLED,
	PINION_ODP_PREFETCHES,
	PINION_ODP_NUM_COUNTS
};

struct pinion_odp {
	struct ib_umem_odp *umem;
	struct pinion_mtt *mtt;
	struct pinion_key *key;		/* a reference, for the notifier */
	u64 present;			/* entries in the table, under umem_mutex */
	refcount_t users;		/* who faults, outside any gate */
	struct completion unused;
	atomic64_t counts[PINION_ODP_NUM_COUNTS];
};

/* Nothing is present yet. */
struct pinion_odp *pinion_odp_create(struct ib_device *ibdev, u64 start, u64 length,
				     int access);
/* From here on invalidations reach @key's table. The key is not published yet, or closed. */
void pinion_odp_attach(struct pinion_odp *odp, struct pinion_key *key);
/* The key is dead, or has other memory. Waits for who still faults. NULL is fine. */
void pinion_odp_destroy(struct pinion_odp *odp);

/* Inside a gate: keep it until pinion_odp_put(). */
static inline void pinion_odp_get(struct pinion_odp *odp)
{
	refcount_inc(&odp->users);
}

void pinion_odp_put(struct pinion_odp *odp);

/*
 * Make pages present from @offset bytes into the region on: the first that is missing,
 * and more of the following @length bytes as it suits. In no gate; sleeps. Return: 0 or
 * a negative errno.
 */
int pinion_odp_fault(struct pinion_odp *odp, u64 offset, u64 length, bool write);

int pinion_advise_mr(struct pinion_keys *keys, struct ib_pd *pd,
		     enum ib_uverbs_advise_mr_advice advice, u32 flags,
		     const struct ib_sge *sges, u32 num_sge);

#endif
