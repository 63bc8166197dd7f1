/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * On-demand paging: regions whose pages come when they are touched and go when the
 * process's memory changes.
 *
 * A region, whether of one page or of the whole address space, is only a range and rights; it
 * allocates nothing by its length. Its address range is divided into spans of 2 MiB. The first
 * fault in a span makes a *child*: a umem with its own mmu notifier, and a table. The table
 * alone says which pages are present. A child ends when its last page is invalidated.
 */
#ifndef PINION_MEM_ODP_H
#define PINION_MEM_ODP_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_umem_odp.h>

#include "key.h"
#include "pager.h"

/*
 * log2 of a span: what one page of page table entries maps. So a child, which costs the core a
 * page of addresses and us a page of table, costs about what the process's own page tables do.
 * A region in larger huge pages has spans of that size.
 */
#define PINION_CHILD_SHIFT	21

/* A table entry is the DMA address of a block with these bits, or 0 if the block is missing. */
#define PINION_ODP_PRESENT	BIT_ULL(0)
#define PINION_ODP_WRITABLE	BIT_ULL(1)

struct pinion_odp {
	struct pinion_pager pager;
	struct ib_umem_odp *root;	/* device, access and mm of all children; holds the mm */
	u64 start, last;		/* the addresses of the region's first and last byte */
	u8 shift;			/* log2 of what one entry of a table stands for */
	u8 child_shift;			/* of a span */
	struct xarray children;		/* by the number of their span, from 0 */
	atomic_long_t num_children;
	struct work_struct reap;	/* ends children that are empty */
};

struct pinion_child {
	struct pinion_odp *odp;		/* the region, which outlives it */
	struct ib_umem_odp *umem;
	u64 start;			/* the address of its first block */
	u32 num_blocks;
	u32 present;			/* entries that are present; written under umem_mutex */
	u32 users;			/* threads that fault in it; lock of odp->children */
	struct mutex walk;		/* held to look pages up; see odp.c */
	struct rcu_head rcu;
	u64 *table;
};

/*
 * A region of the caller's memory, with no page present yet. @start 0 and @length U64_MAX mean
 * the whole address space. Return: the region, or an ERR_PTR: -EINVAL, -ENOMEM, -EOVERFLOW, or
 * -EINTR if the caller is being killed.
 */
struct pinion_odp *pinion_odp_create(struct ib_device *ibdev, u64 start, u64 length,
				     int access);
/* The on-demand region of @key, or NULL. The caller is in its gate or owns the key. */
struct pinion_odp *pinion_odp_of(const struct pinion_key *key);

/* A umem for the core's checks of access and mm. Its length is 0. */
static inline struct ib_umem *pinion_odp_umem(const struct pinion_odp *odp)
{
	return &odp->root->umem;
}

/* Which pages to bring. */
enum pinion_bring {
	PINION_BRING_PRESENT,		/* those that the process has already */
	/*
	 * In a system call of the process itself: also those of anonymous memory, whose faults end.
	 * It stops at others with -EAGAIN, and whatever it waits for, it can be killed.
	 */
	PINION_BRING_OWN,
	PINION_BRING_ALL,
};

/*
 * Bring @length bytes at @offset in the region. The caller is in no gate; sleeps. Return: 0 or a
 * negative errno.
 */
int pinion_odp_prefetch(struct pinion_odp *odp, u64 offset, u64 length, bool write,
			enum pinion_bring bring);

int pinion_advise_mr(struct pinion_keys *keys, struct pinion_hints *hints, struct ib_pd *pd,
		     enum ib_uverbs_advise_mr_advice advice, u32 flags,
		     const struct ib_sge *sges, u32 num_sge);

/* ------------------------------------------------- between odp*.c, nobody else */

/*
 * Prepare the caller's mm for mmu notifiers, so that no fault has to (odp_watch.c). Return: 0,
 * -ENOMEM, or -EINTR if the caller is being killed.
 */
int pinion_odp_watch(void);

/* An empty list of children. Return: 0 or a negative errno. */
int pinion_children_init(struct pinion_odp *odp, struct ib_device *ibdev, int access);
/* Ends all children. No mover and no fault is in the region any more. */
void pinion_children_destroy(struct pinion_odp *odp);
/* The child whose span @address is in, or NULL. Under RCU. */
struct pinion_child *pinion_child_find(struct pinion_odp *odp, u64 address);
/* The same, or the next child behind @address. */
struct pinion_child *pinion_child_from(struct pinion_odp *odp, u64 address);
/*
 * The child of @address, made if there is none, kept until pinion_child_put(); or an ERR_PTR.
 * The caller is in no gate.
 */
struct pinion_child *pinion_child_get(struct pinion_odp *odp, u64 address);
/* As pinion_child_from(), kept until pinion_child_put(); or NULL. */
struct pinion_child *pinion_child_get_from(struct pinion_odp *odp, u64 address);
void pinion_child_put(struct pinion_child *child);
/* Called by the notifier of @child, with umem_mutex, when its last page is gone. */
void pinion_child_emptied(struct pinion_child *child);

extern const struct mmu_interval_notifier_ops pinion_odp_notifier_ops;

/* Connect @child to the notifier of its umem. Until then the notifier does nothing. */
void pinion_child_arm(struct pinion_child *child);
/* As pinion_mtt_run(): 0 if the block at @address is missing, or not @writable. Under RCU. */
u64 pinion_child_run(const struct pinion_child *child, u64 address, u64 want, bool writable,
		     void **kva);
/* Bring the page at @address, and maybe more of @length. Return: pages, or a negative errno. */
s64 pinion_child_fault(struct pinion_child *child, u64 address, u64 length, bool write);
/*
 * Invalidate the child's pages in [first, last] by order. Sleeps. Return: 0, or -EBUSY if a fault
 * in the child takes too long.
 */
int pinion_child_take_away(struct pinion_child *child, u64 first, u64 last);
int pinion_child_prefetch(struct pinion_child *child, u64 address, u64 length, bool write,
			  enum pinion_bring bring);
/*
 * Look up pages of the process at @va, and keep them from going: on success umem_mutex is held. See
 * odp_pages.c. Return: 0 or a negative errno.
 */
int pinion_odp_look_up(struct ib_umem_odp *umem, u64 va, u64 length, bool write,
		       enum pinion_bring bring);

#endif
