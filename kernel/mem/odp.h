/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * On-demand paging: regions whose pages come when they are touched and go when the
 * process's memory changes.
 *
 * A region, whether of one page or of the whole address space, is a range and rights, and
 * has nothing as long as the range. What is there of it is in its *children*: a child is
 * as much of the range as is in one span, a umem with its notifier, and a table, which
 * is the only authority of what is there. The first fault in a span makes its child; it
 * ends when nothing is left in it.
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
 * A span is as large as what one page of page table entries maps, so what a child costs
 * (a page of addresses in the core, one of table) follows what the process's own tables
 * cost; or as a huge page, where those were promised.
 */
#define PINION_CHILD_SHIFT	21

/* A table's entry is the address of a block, with these bits; or 0: a missing one. */
#define PINION_ODP_PRESENT	BIT_ULL(0)
#define PINION_ODP_WRITABLE	BIT_ULL(1)

struct pinion_odp {
	struct pinion_pager pager;
	struct ib_umem_odp *root;	/* what children inherit; and a reference to its mm */
	u64 start, last;		/* the addresses of the region's first and last byte */
	u8 shift;			/* log2 of what one entry of a table stands for */
	u8 child_shift;			/* of a span */
	struct xarray children;		/* by the number of their span, the first's is 0 */
	atomic_long_t num_children;
	struct work_struct reap;	/* of those that are empty */
};

struct pinion_child {
	struct pinion_odp *odp;		/* whose it is, and who outlives it */
	struct ib_umem_odp *umem;
	u64 start;			/* the address of its first block */
	u32 num_blocks;
	u32 present;			/* entries in the table; changed under umem_mutex */
	u32 users;			/* who fills it, under the lock of odp->children */
	struct mutex walk;		/* one at a time looks pages up; see odp.c */
	struct rcu_head rcu;
	u64 *table;
};

/*
 * Nothing is present yet. -EINVAL, -ENOMEM, -EOVERFLOW; -EINTR who is being killed. @start
 * 0 and @length U64_MAX: the whole address space.
 */
struct pinion_odp *pinion_odp_create(struct ib_device *ibdev, u64 start, u64 length,
				     int access);
/* Whose pages a key's are, or NULL: not on demand. Its gate is held, or it is ours. */
struct pinion_odp *pinion_odp_of(const struct pinion_key *key);

/* As the core's checks know it: of no length. */
static inline struct ib_umem *pinion_odp_umem(const struct pinion_odp *odp)
{
	return &odp->root->umem;
}

/*
 * Make pages from @offset bytes into the region on present: all, or without @fault those
 * that the process has already. In no gate; sleeps. Return: 0 or a negative errno.
 */
int pinion_odp_prefetch(struct pinion_odp *odp, u64 offset, u64 length, bool write,
			bool fault);

int pinion_advise_mr(struct pinion_keys *keys, struct pinion_hints *hints, struct ib_pd *pd,
		     enum ib_uverbs_advise_mr_advice advice, u32 flags,
		     const struct ib_sge *sges, u32 num_sge);

/* ------------------------------------------------- between odp*.c, nobody else */

/*
 * Have the kernel make what it needs to watch the caller's memory, so that making a child
 * does not. Return: 0, -ENOMEM, or -EINTR for who is being killed.
 */
int pinion_odp_watch(void);

/* No children yet. Return: 0 or a negative errno. */
int pinion_children_init(struct pinion_odp *odp, struct ib_device *ibdev, int access);
/* Nobody uses the region any more. */
void pinion_children_destroy(struct pinion_odp *odp);
/* The child whose span @address is in, or NULL. Under RCU. */
struct pinion_child *pinion_child_find(struct pinion_odp *odp, u64 address);
/* The same, or else the next behind it that there is. */
struct pinion_child *pinion_child_from(struct pinion_odp *odp, u64 address);
/* The child of @address, made if need be, until it is put; or an ERR_PTR. In no gate. */
struct pinion_child *pinion_child_get(struct pinion_odp *odp, u64 address);
void pinion_child_put(struct pinion_child *child);
/* It has become empty. In its notifier. */
void pinion_child_emptied(struct pinion_child *child);

extern const struct mmu_interval_notifier_ops pinion_odp_notifier_ops;

/* From here on the notifier of its umem, which did nothing, takes pages out of the table. */
void pinion_child_arm(struct pinion_child *child);
/* As pinion_mtt_run(): 0 if the block at @address is missing, or not @writable. Under RCU. */
u64 pinion_child_run(const struct pinion_child *child, u64 address, u64 want, bool writable,
		     void **kva);
/* Return: the pages that were brought, or a negative errno. */
s64 pinion_child_fault(struct pinion_child *child, u64 address, u64 length, bool write);
int pinion_child_prefetch(struct pinion_child *child, u64 address, u64 length, bool write,
			  bool fault);

#endif
