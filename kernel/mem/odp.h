/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * On-demand paging: regions whose pages come when they are touched and go when the
 * process's memory changes. The table is the only authority of what is there.
 */
#ifndef PINION_MEM_ODP_H
#define PINION_MEM_ODP_H

#include <rdma/ib_umem_odp.h>

#include "key.h"
#include "pager.h"

struct pinion_odp {
	struct pinion_pager pager;
	struct ib_umem_odp *umem;
	struct pinion_mtt *mtt;
	u64 present;			/* entries in the table, under umem_mutex */
};

/* Nothing is present yet. */
struct pinion_odp *pinion_odp_create(struct ib_device *ibdev, u64 start, u64 length,
				     int access);

/* Whose pages a key's are, or NULL: not on demand. Its gate is held, or it is ours. */
struct pinion_odp *pinion_odp_of(const struct pinion_key *key);

int pinion_advise_mr(struct pinion_keys *keys, struct ib_pd *pd,
		     enum ib_uverbs_advise_mr_advice advice, u32 flags,
		     const struct ib_sge *sges, u32 num_sge);

#endif
