/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Kernel memory that one process may map. It is freed when its owner has ended it and no call of
 * mmap() uses the entry any more. Pages that are mapped have references of their own.
 */
#ifndef PINION_VERBS_MMAP_H
#define PINION_VERBS_MMAP_H

#include <rdma/ib_verbs.h>

struct pinion_mapping {
	struct rdma_user_mmap_entry entry;
	void *area;			/* from vmalloc */
	size_t size;			/* whole pages */
	bool is_dm;			/* device memory: has a fixed command, see mmap.c */
	struct file *trap;		/* a doorbell page's, see path/trap.h; else NULL */
	void (*release)(struct pinion_mapping *map);	/* frees @map and what it holds */
};

/* Let @context map @map, which is filled. On success the core owns @map until it is ended. */
int pinion_mapping_offer(struct pinion_mapping *map, struct ib_ucontext *context);

/* The offset, in bytes, that the process passes to mmap(). */
u64 pinion_mapping_offset(const struct rdma_user_mmap_entry *entry);

/* Allow no new mappings; pages that are mapped stay. @map may be freed on return. */
static inline void pinion_mapping_end(struct pinion_mapping *map)
{
	rdma_user_mmap_entry_remove(&map->entry);
}

#endif
