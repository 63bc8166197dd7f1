/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Device memory: pages of the kernel that users allocate, map, and register as regions.
 */
#ifndef PINION_MEM_DM_H
#define PINION_MEM_DM_H

#include "mr.h"

/* Bytes that one user may have on a device; all users together may have twice as much. */
#define PINION_DM_SIZE	(64ULL << 20)

struct pinion_dm {
	struct ib_dm ibdm;
	atomic64_t *used;		/* the user's account, in bytes */
	void *memory;			/* vmalloc area */
	size_t size;			/* in bytes, whole pages */
	/* the mapping, owned by verbs */
	struct rdma_user_mmap_entry *mapping;
};

static inline struct pinion_dm *to_pinion_dm(struct ib_dm *ibdm)
{
	return container_of(ibdm, struct pinion_dm, ibdm);
}

/* @used: the user's account of bytes. */
struct pinion_dm *pinion_dm_alloc(atomic64_t *used, u64 length);
void pinion_dm_free(struct pinion_dm *dm);

/* The core has checked that @offset and @length are inside @dm. */
struct ib_mr *pinion_reg_dm_mr(struct pinion_keys *keys, struct ib_pd *pd,
			       struct pinion_dm *dm, u64 offset, u64 length, int access);

#endif
