// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The children of on-demand regions. A child is made by the first fault in its span, and ends
 * when its last page is invalidated.
 *
 * Lifetime: the region (struct pinion_odp) has an xarray of its children. A child points at its
 * region, which outlives it, so there are no reference counts. child->users counts the threads
 * that fault in it; only a child with no users and no pages is taken off the list.
 *
 * Locking: the xarray's lock is held for a moment, to find a child and count oneself in, to
 * insert one, or to erase one. Nothing is allocated or waited for under it, so faults in
 * different children share nothing else. Order: umem_mutex, then the xarray's lock.
 *
 * Movers find a child and read its table under RCU. A child that is taken off the list is empty
 * and stays so: a mover that still reads its table finds all pages missing. No gate is closed.
 *
 * A notifier cannot end its own child: ending removes the notifier, which waits for
 * notifiers that run. It marks the child (MAYBE_EMPTY), and a work item of the region ends it.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "../compat/odp.h"
#include "dwell.h"
#include "odp.h"

#define MAYBE_EMPTY	XA_MARK_0

static unsigned long child_index(const struct pinion_odp *odp, u64 address)
{
	return (address >> odp->child_shift) - (odp->start >> odp->child_shift);
}

/* It was never on the list, or the region ends: no mover can see it. */
static void child_free(struct pinion_child *child)
{
	/*
	 * The core removes the notifier and unmaps all pages. Until the notifier is gone it may
	 * still run and clear entries, so the table is freed after that.
	 */
	ib_umem_odp_release(child->umem);
	kfree(child->table);
	kfree(child);
}

/* It was empty when it was taken off the list, but movers may still read it. Sleeps. */
static void child_bury(struct pinion_child *child)
{
	ib_umem_odp_release(child->umem);
	/* Movers that found it before still read both, under RCU. */
	kfree_rcu_mightsleep(child->table);
	kfree_rcu(child, rcu);
}

/* Take @child off the list if it has no pages and no users. The list's lock is held. */
static bool child_take(struct pinion_child *child)
{
	struct pinion_odp *odp = child->odp;

	lockdep_assert_held(&odp->children.xa_lock);
	/*
	 * Without users no page can come. If a notifier clears the last page after this look,
	 * it marks the child then, and the work item runs again.
	 */
	if (child->users || READ_ONCE(child->present))
		return false;
	__xa_erase(&odp->children, child_index(odp, child->start));
	atomic_long_dec(&odp->num_children);
	return true;
}

static void child_reap_all(struct work_struct *work)
{
	struct pinion_odp *odp = container_of(work, struct pinion_odp, reap);
	struct pinion_child *child;
	unsigned long index = 0;
	bool taken;

	pinion_dwell(PINION_DWELL_REAP);
	do {
		taken = false;
		xa_lock(&odp->children);
		child = xa_find(&odp->children, &index, ULONG_MAX, MAYBE_EMPTY);
		if (child) {
			__xa_clear_mark(&odp->children, index, MAYBE_EMPTY);
			taken = child_take(child);
		}
		xa_unlock(&odp->children);
		if (taken)
			child_bury(child);
		cond_resched();
	} while (child);
}

void pinion_child_emptied(struct pinion_child *child)
{
	struct pinion_odp *odp = child->odp;

	/*
	 * @child may be off the list already and another one in its place. That one is marked
	 * for nothing: child_take() looks whether it is empty.
	 */
	xa_set_mark(&odp->children, child_index(odp, child->start), MAYBE_EMPTY);
	queue_work(odp->pager.key->keys->reaps, &odp->reap);
}

int pinion_children_init(struct pinion_odp *odp, struct ib_device *ibdev, int access)
{
	odp->root = ib_umem_odp_alloc_implicit(ibdev, access);
	if (IS_ERR(odp->root))
		return PTR_ERR(odp->root);
	/* Without children there is no notifier, so nothing else keeps the mm_struct. */
	mmgrab(odp->root->umem.owning_mm);
	xa_init_flags(&odp->children, XA_FLAGS_ACCOUNT);
	atomic_long_set(&odp->num_children, 0);
	INIT_WORK(&odp->reap, child_reap_all);
	return 0;
}

void pinion_children_destroy(struct pinion_odp *odp)
{
	struct mm_struct *mm = odp->root->umem.owning_mm;
	struct pinion_child *child;
	unsigned long index;

	/* Notifiers run until the children are freed below, and queue this work. */
	disable_work_sync(&odp->reap);
	xa_for_each(&odp->children, index, child) {
		child_free(child);
		cond_resched();
	}
	xa_destroy(&odp->children);
	ib_umem_odp_release(odp->root);
	mmdrop(mm);
}

/* A child for the part of the region that is in @address's span, with one user: the caller. */
static struct pinion_child *child_make(struct pinion_odp *odp, u64 address)
{
	u64 block = BIT_ULL(odp->shift), span = BIT_ULL(odp->child_shift);
	u64 start = max(round_down(address, span), round_down(odp->start, block));
	u64 last = min(address | (span - 1), odp->last | (block - 1));
	struct pinion_child *child;
	int err = -ENOMEM;

	/* Beyond the end of the process's address space. */
	if (start >= READ_ONCE(odp->root->umem.owning_mm->task_size))
		return ERR_PTR(-EFAULT);
	child = kzalloc(sizeof(*child), GFP_KERNEL_ACCOUNT);
	if (!child)
		return ERR_PTR(-ENOMEM);
	child->odp = odp;
	child->start = start;
	child->num_blocks = (last - start + 1) >> odp->shift;
	child->users = 1;
	mutex_init(&child->walk);
	child->table = kcalloc(child->num_blocks, sizeof(*child->table), GFP_KERNEL_ACCOUNT);
	if (!child->table)
		goto err_free_child;
	/*
	 * The umem is always of small pages, also where the region promised huge ones: with
	 * IB_ACCESS_HUGETLB two loops of the core count indices in different units. We check
	 * that pages form huge blocks ourselves (child_look).
	 */
	child->umem = ib_umem_odp_alloc_child(odp->root, start, last - start + 1,
					      &pinion_odp_notifier_ops);
	if (IS_ERR(child->umem)) {
		err = PTR_ERR(child->umem);
		goto err_free_table;
	}
	err = pinion_odp_charge_lists(child->umem);
	if (err)
		goto err_release;
	pinion_child_arm(child);
	return child;

err_release:
	ib_umem_odp_release(child->umem);
err_free_table:
	kfree(child->table);
err_free_child:
	kfree(child);
	return ERR_PTR(err);
}

struct pinion_child *pinion_child_find(struct pinion_odp *odp, u64 address)
{
	return xa_load(&odp->children, child_index(odp, address));
}

struct pinion_child *pinion_child_from(struct pinion_odp *odp, u64 address)
{
	unsigned long index = child_index(odp, address);

	return xa_find(&odp->children, &index, ULONG_MAX, XA_PRESENT);
}

struct pinion_child *pinion_child_get(struct pinion_odp *odp, u64 address)
{
	struct pinion_child *child, *made;

	for (;;) {
		xa_lock(&odp->children);
		child = pinion_child_find(odp, address);
		if (child)
			child->users++;
		xa_unlock(&odp->children);
		if (child)
			return child;

		made = child_make(odp, address);
		if (IS_ERR(made))
			return made;
		child = xa_cmpxchg(&odp->children, child_index(odp, address), NULL, made,
				   GFP_KERNEL_ACCOUNT);
		if (!child) {
			atomic_long_inc(&odp->num_children);
			return made;
		}
		child_free(made);
		if (xa_is_err(child))
			return ERR_PTR(xa_err(child));
		/* Another thread made one first: look again, as that may have ended meanwhile. */
	}
}

struct pinion_child *pinion_child_get_from(struct pinion_odp *odp, u64 address)
{
	struct pinion_child *child;

	xa_lock(&odp->children);
	child = pinion_child_from(odp, address);
	if (child)
		child->users++;
	xa_unlock(&odp->children);
	return child;
}

void pinion_child_put(struct pinion_child *child)
{
	struct pinion_odp *odp = child->odp;
	bool taken;

	xa_lock(&odp->children);
	child->users--;
	/* The fault brought nothing: a user must not fill memory with children of holes. */
	taken = child_take(child);
	xa_unlock(&odp->children);
	if (taken)
		child_bury(child);
}
