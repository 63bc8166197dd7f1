/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory offered to one process for mapping, and kept until neither its owner nor
 * anybody about to map it holds it any more.
 */
#ifndef PINION_VERBS_MMAP_H
#define PINION_VERBS_MMAP_H

#include <rdma/ib_verbs.h>

struct pinion_mapping {
	struct rdma_user_mmap_entry entry;
	void *area;			/* from vmalloc */
	size_t size;			/* whole pages */
	bool is_dm;			/* device memory: what mlx5's ABI tells of it is short */
	void (*release)(struct pinion_mapping *map);	/* frees @map and what it holds */
};

/* @map is filled. On success the core owns it; pinion_mapping_end() ends that. */
int pinion_mapping_offer(struct pinion_mapping *map, struct ib_ucontext *context);

/* What a process maps it by. */
u64 pinion_mapping_offset(const struct rdma_user_mmap_entry *entry);

/* No new mappings; pages that are mapped stay. @map may be gone afterwards. */
static inline void pinion_mapping_end(struct pinion_mapping *map)
{
	rdma_user_mmap_entry_remove(&map->entry);
}

#endif
