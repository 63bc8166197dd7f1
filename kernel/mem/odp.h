/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * On-demand paging: regions whose pages come when they are touched and go when the
 * process's memory changes. The table is the only authority of what is there.
 *
 * A *stretch* is one range of a process's memory: a umem with its notifier, and a table.
 * An explicit region is one stretch. An implicit one is the whole address space; it has
 * children, one stretch each, where it has been touched.
 */
#ifndef PINION_MEM_ODP_H
#define PINION_MEM_ODP_H

#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>
#include <rdma/ib_umem_odp.h>

#include "key.h"
#include "mtt.h"
#include "pager.h"

/*
 * A child is as large as what one page of page table entries maps, so what it costs us
 * (a page of addresses in the core, one of table) follows what it costs the process.
 */
#define PINION_CHILD_SHIFT	21
#define PINION_CHILD_SIZE	BIT_ULL(PINION_CHILD_SHIFT)

struct pinion_stretch {
	struct pinion_odp *odp;		/* whose it is */
	struct ib_umem_odp *umem;
	struct pinion_mtt *mtt;
	struct mutex walk;		/* one at a time looks pages up; see odp.c */
	u64 present;			/* entries in the table, under umem_mutex */
	/* a child, under children->lock: */
	u32 users;			/* who fills it */
	struct list_head dead;
};

struct pinion_children {
	struct pinion_odp *odp;		/* whose they are */
	struct ib_umem_odp *root;	/* and a reference to its mm */
	struct xarray stretches;	/* by address >> PINION_CHILD_SHIFT */
	struct mutex lock;		/* they come and go; never taken in a notifier */
	u64 count;
	struct work_struct reap;	/* of those that are empty */
};

struct pinion_odp {
	struct pinion_pager pager;
	/* One or the other, for good. */
	struct pinion_stretch *whole;		/* of an explicit region */
	struct pinion_children *children;	/* of an implicit one */
};

/*
 * Nothing is present yet. -EINVAL, -ENOMEM, -EOVERFLOW. @start 0 and @length U64_MAX: the
 * whole address space.
 */
struct pinion_odp *pinion_odp_create(struct ib_device *ibdev, u64 start, u64 length,
				     int access);
/* Whose pages a key's are, or NULL: not on demand. Its gate is held, or it is ours. */
struct pinion_odp *pinion_odp_of(const struct pinion_key *key);

/* The umem as the core's checks know it, and the table; NULL for an implicit region. */
static inline struct ib_umem *pinion_odp_umem(const struct pinion_odp *odp)
{
	return odp->whole ? &odp->whole->umem->umem : &odp->children->root->umem;
}

static inline struct pinion_mtt *pinion_odp_mtt(const struct pinion_odp *odp)
{
	return odp->whole ? odp->whole->mtt : NULL;
}

/*
 * Make pages from @offset bytes into the region on present: all, or without @fault those
 * that the process has already. In no gate; sleeps. Return: 0 or a negative errno.
 */
int pinion_odp_prefetch(struct pinion_odp *odp, u64 offset, u64 length, bool write,
			bool fault);

int pinion_advise_mr(struct pinion_keys *keys, struct ib_pd *pd,
		     enum ib_uverbs_advise_mr_advice advice, u32 flags,
		     const struct ib_sge *sges, u32 num_sge);

/* ------------------------------------------------- between odp*.c, nobody else */

/*
 * Have the kernel make what it needs to watch the caller's memory, so that making a child
 * does not. Return: 0, -ENOMEM, or -EINTR for who is being killed.
 */
int pinion_odp_watch(void);

extern const struct mmu_interval_notifier_ops pinion_odp_notifier_ops;

/*
 * Takes @umem over if all is well, whose notifier does nothing before it is armed; else
 * returns an ERR_PTR.
 */
struct pinion_stretch *pinion_stretch_make(struct pinion_odp *odp, struct ib_umem_odp *umem,
					   u8 shift, u64 first);
void pinion_stretch_arm(struct pinion_stretch *stretch);
/* Return: the pages that were brought, or a negative errno. */
s64 pinion_stretch_fault(struct pinion_stretch *stretch, u64 offset, u64 length, bool write);
int pinion_stretch_prefetch(struct pinion_stretch *stretch, u64 offset, u64 length, bool write,
			    bool fault);
/* Nobody is inside a gate with it any more. */
void pinion_stretch_free(struct pinion_stretch *stretch);

/* None yet; or an ERR_PTR. */
struct pinion_children *pinion_children_create(struct pinion_odp *odp, struct ib_device *ibdev,
					       int access);
/* Nobody uses the region any more. */
void pinion_children_destroy(struct pinion_children *children);
/* The child at @offset, or NULL. Inside the region's gate, and good for as long. */
struct pinion_stretch *pinion_child_at(struct pinion_children *children, u64 offset);
/* The same, made if need be, until it is put; or an ERR_PTR. In no gate. */
struct pinion_stretch *pinion_child_get(struct pinion_children *children, u64 offset);
void pinion_child_put(struct pinion_stretch *child);
/* It has become empty. In its notifier. */
void pinion_child_emptied(struct pinion_stretch *child);

#endif
