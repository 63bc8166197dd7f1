// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Implicit on-demand regions: the children of one, made where it is touched, ended where
 * nothing is left. Never looks a page up and never moves a byte.
 *
 * Children point at their region and not the other way round but for the list of them,
 * which the region empties when it ends; nobody counts anybody. Movers look the list up
 * inside the region's gate; whoever takes a child off it closes that gate once before it
 * frees the child. A child that is filled has a user, and is not taken away.
 *
 * Lock order: odp->lock -> mmap_lock (a first notifier), umem_mutex, gate. A notifier
 * runs below all of them, so it only says which child is empty; a work item of the
 * region takes it away.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "odp.h"

#define MAYBE_EMPTY	XA_MARK_0

/* No mover has it any more, and no work: it is gone from the list. */
static void bury(struct pinion_odp *odp, struct list_head *dead)
{
	struct pinion_stretch *child, *next;

	if (list_empty(dead))
		return;
	/* Who found one of them before is still inside. */
	pinion_key_close(odp->pager.key);
	pinion_key_open(odp->pager.key);
	list_for_each_entry_safe(child, next, dead, dead)
		pinion_stretch_free(child);
}

static unsigned long index_of(const struct pinion_stretch *child)
{
	return ib_umem_start(child->umem) >> PINION_CHILD_SHIFT;
}

/* Off the list if nothing is in it and nobody fills it. odp->lock is held. */
static void take_if_idle(struct pinion_odp *odp, struct pinion_stretch *child,
			 struct list_head *dead)
{
	lockdep_assert_held(&odp->lock);
	if (child->users || READ_ONCE(child->present))
		return;
	xa_erase(&odp->children, index_of(child));
	WRITE_ONCE(odp->num_children, odp->num_children - 1);
	list_add(&child->dead, dead);
}

static void reap(struct work_struct *work)
{
	struct pinion_odp *odp = container_of(work, struct pinion_odp, reap);
	struct pinion_stretch *child;
	unsigned long index;
	LIST_HEAD(dead);

	mutex_lock(&odp->lock);
	xa_for_each_marked(&odp->children, index, child, MAYBE_EMPTY) {
		xa_clear_mark(&odp->children, index, MAYBE_EMPTY);
		take_if_idle(odp, child, &dead);
	}
	mutex_unlock(&odp->lock);
	bury(odp, &dead);
}

void pinion_child_emptied(struct pinion_stretch *child)
{
	struct pinion_odp *odp = child->odp;

	/* If it is off the list by now, this says nothing of its successor. */
	xa_set_mark(&odp->children, index_of(child), MAYBE_EMPTY);
	queue_work(odp->pager.key->keys->reaps, &odp->reap);
}

int pinion_implicit_init(struct pinion_odp *odp, struct ib_device *ibdev, int access)
{
	odp->root = ib_umem_odp_alloc_implicit(ibdev, access);
	if (IS_ERR(odp->root))
		return PTR_ERR(odp->root);
	/* The core leaves it to us that the mm stays allocated while it has no child. */
	mmgrab(odp->root->umem.owning_mm);
	xa_init_flags(&odp->children, XA_FLAGS_ACCOUNT);
	mutex_init(&odp->lock);
	INIT_WORK(&odp->reap, reap);
	return 0;
}

void pinion_implicit_end(struct pinion_odp *odp)
{
	struct mm_struct *mm = odp->root->umem.owning_mm;
	struct pinion_stretch *child;
	unsigned long index;

	/* Notifiers may still say that something is empty; it is not for them to end it. */
	disable_work_sync(&odp->reap);
	xa_for_each(&odp->children, index, child) {
		pinion_stretch_free(child);
		cond_resched();
	}
	xa_destroy(&odp->children);
	ib_umem_odp_release(odp->root);
	mmdrop(mm);
}

static struct pinion_stretch *make(struct pinion_odp *odp, unsigned long index)
{
	unsigned long start = index << PINION_CHILD_SHIFT;
	struct pinion_stretch *child;
	struct ib_umem_odp *umem;
	int err;

	/* Nothing of the process's can be there. */
	if (start >= READ_ONCE(odp->root->umem.owning_mm->task_size))
		return ERR_PTR(-EFAULT);
	umem = ib_umem_odp_alloc_child(odp->root, start, PINION_CHILD_SIZE,
				       &pinion_odp_notifier_ops);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	child = pinion_stretch_make(odp, umem, PAGE_SHIFT, 0);
	if (IS_ERR(child)) {
		ib_umem_odp_release(umem);
		return child;
	}
	err = xa_err(xa_store(&odp->children, index, child, GFP_KERNEL_ACCOUNT));
	if (err) {
		pinion_stretch_free(child);
		return ERR_PTR(err);
	}
	pinion_stretch_arm(child);
	WRITE_ONCE(odp->num_children, odp->num_children + 1);
	return child;
}

struct pinion_stretch *pinion_child_get(struct pinion_odp *odp, u64 offset)
{
	unsigned long index = offset >> PINION_CHILD_SHIFT;
	struct pinion_stretch *child;

	mutex_lock(&odp->lock);
	child = xa_load(&odp->children, index);
	if (!child)
		child = make(odp, index);
	if (!IS_ERR(child))
		child->users++;
	mutex_unlock(&odp->lock);
	return child;
}

void pinion_child_put(struct pinion_stretch *child)
{
	struct pinion_odp *odp = child->odp;
	LIST_HEAD(dead);

	mutex_lock(&odp->lock);
	child->users--;
	/* Nothing came: whoever asks for holes gets no children of them. */
	take_if_idle(odp, child, &dead);
	mutex_unlock(&odp->lock);
	bury(odp, &dead);
}
