// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The children of on-demand regions: made where it is touched, ended where nothing is
 * left. Never looks a page up and never moves a byte.
 *
 * Children point at their region and not the other way round but for the list of them,
 * which the region empties when it ends; nobody counts anybody. The list's own lock is
 * held to find a child and count oneself in, to put one there, or to take one away, and
 * never while anything is allocated or waited for: faults in different children have
 * nothing in common but that. A child that somebody fills has a user, and is not taken
 * away.
 *
 * Movers find a child, and read its table, under RCU. Nothing is in a child that is taken
 * away, and nothing comes any more, so whoever still reads its table finds pages missing;
 * no gate is closed for it.
 *
 * Lock order: umem_mutex -> lock of the list. A notifier runs below whatever waits for it
 * to end, so it only says which child is empty; a work item of the region takes it away.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "../compat/odp.h"
#include "odp.h"

#define MAYBE_EMPTY	XA_MARK_0

static unsigned long child_index(const struct pinion_odp *odp, u64 address)
{
	return (address >> odp->child_shift) - (odp->start >> odp->child_shift);
}

/* Nobody has found it, or does any more. */
static void child_free(struct pinion_child *child)
{
	/*
	 * The core gives everything back. What is invalidated before it takes the notifier
	 * away goes out of the table as ever, which nobody reads any more.
	 */
	ib_umem_odp_release(child->umem);
	kfree(child->table);
	kfree(child);
}

/* It is off the list, and was empty then. Sleeps. */
static void child_bury(struct pinion_child *child)
{
	ib_umem_odp_release(child->umem);
	/* Movers may still look for something in it. */
	kfree_rcu_mightsleep(child->table);
	kfree_rcu(child, rcu);
}

/* Off the list if nothing is in it and nobody fills it. The list's lock is held. */
static bool child_take(struct pinion_child *child)
{
	struct pinion_odp *odp = child->odp;

	lockdep_assert_held(&odp->children.xa_lock);
	/* Without users nothing comes; and who takes the last page out says so afterwards. */
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

	/* If it is off the list by now, this says nothing of its successor. */
	xa_set_mark(&odp->children, child_index(odp, child->start), MAYBE_EMPTY);
	queue_work(odp->pager.key->keys->reaps, &odp->reap);
}

int pinion_children_init(struct pinion_odp *odp, struct ib_device *ibdev, int access)
{
	odp->root = ib_umem_odp_alloc_implicit(ibdev, access);
	if (IS_ERR(odp->root))
		return PTR_ERR(odp->root);
	/* The core leaves it to us that the mm stays allocated while there is no child. */
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

	/* Notifiers may still say that something is empty; it is not for them to end it. */
	disable_work_sync(&odp->reap);
	xa_for_each(&odp->children, index, child) {
		child_free(child);
		cond_resched();
	}
	xa_destroy(&odp->children);
	ib_umem_odp_release(odp->root);
	mmdrop(mm);
}

/* The child of the span that @address is in, as far as the region goes; one user, us. */
static struct pinion_child *child_make(struct pinion_odp *odp, u64 address)
{
	u64 block = BIT_ULL(odp->shift), span = BIT_ULL(odp->child_shift);
	u64 start = max(round_down(address, span), round_down(odp->start, block));
	u64 last = min(address | (span - 1), odp->last | (block - 1));
	struct pinion_child *child;
	int err = -ENOMEM;

	/* Nothing of the process's can be there. */
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
	 * The core looks up and maps small pages and is not told of a promise of huge ones:
	 * two of its loops disagree on what an index counts once pages are huge.
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
		/* Somebody was faster, so there is one now; unless it is gone already. */
	}
}

void pinion_child_put(struct pinion_child *child)
{
	struct pinion_odp *odp = child->odp;
	bool taken;

	xa_lock(&odp->children);
	child->users--;
	/* If nothing came: whoever asks for holes gets no children of them. */
	taken = child_take(child);
	xa_unlock(&odp->children);
	if (taken)
		child_bury(child);
}
