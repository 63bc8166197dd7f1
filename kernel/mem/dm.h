/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Device memory: pages of the device's own, mapped by users and registered like
 * any other memory.
 */
#ifndef PINION_MEM_DM_H
#define PINION_MEM_DM_H

#include "mr.h"

/* What one user may have; all together have twice as much. */
#define PINION_DM_SIZE	(64ULL << 20)

struct pinion_dm {
	struct ib_dm ibdm;
	atomic64_t *used;		/* of the device, in bytes */
	void *memory;			/* vmalloc area, whole pages */
	size_t size;
	/* the mapping, owned by verbs */
	struct rdma_user_mmap_entry *mapping;
};

static inline struct pinion_dm *to_pinion_dm(struct ib_dm *ibdm)
{
	return container_of(ibdm, struct pinion_dm, ibdm);
}

/* @used counts what the device has given out. */
struct pinion_dm *pinion_dm_alloc(atomic64_t *used, u64 length);
void pinion_dm_free(struct pinion_dm *dm);

/* @offset and @length are inside @dm, which the core has checked. */
struct ib_mr *pinion_reg_dm_mr(struct pinion_keys *keys, struct ib_pd *pd,
			       struct pinion_dm *dm, u64 offset, u64 length, int access);

#endif
