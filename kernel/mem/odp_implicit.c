// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Implicit on-demand regions: the children of one, made where it is touched, ended where
 * nothing is left. Never looks a page up and never moves a byte.
 *
 * Children point at their region and not the other way round but for the list of them,
 * which the region empties when it ends; nobody counts anybody. Movers look the list up
 * inside the region's gate; whoever takes a child off it waits for those inside before it
 * frees the child. A child that is filled has a user, and is not taken away.
 *
 * Lock order: children->lock -> mmap_lock (a first notifier), umem_mutex, gate. A notifier
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
	pinion_gate_sync(&odp->pager.key->gate);
	list_for_each_entry_safe(child, next, dead, dead)
		pinion_stretch_free(child);
}

static unsigned long index_of(const struct pinion_stretch *child)
{
	return ib_umem_start(child->umem) >> PINION_CHILD_SHIFT;
}

/* Off the list if nothing is in it and nobody fills it. children->lock is held. */
static void take_if_idle(struct pinion_children *children, struct pinion_stretch *child,
			 struct list_head *dead)
{
	lockdep_assert_held(&children->lock);
	if (child->users || READ_ONCE(child->present))
		return;
	xa_erase(&children->stretches, index_of(child));
	WRITE_ONCE(children->count, children->count - 1);
	list_add(&child->dead, dead);
}

static void reap(struct work_struct *work)
{
	struct pinion_children *children = container_of(work, struct pinion_children, reap);
	struct pinion_stretch *child;
	unsigned long index;
	LIST_HEAD(dead);

	mutex_lock(&children->lock);
	xa_for_each_marked(&children->stretches, index, child, MAYBE_EMPTY) {
		xa_clear_mark(&children->stretches, index, MAYBE_EMPTY);
		take_if_idle(children, child, &dead);
	}
	mutex_unlock(&children->lock);
	bury(children->odp, &dead);
}

void pinion_child_emptied(struct pinion_stretch *child)
{
	struct pinion_children *children = child->odp->children;

	/* If it is off the list by now, this says nothing of its successor. */
	xa_set_mark(&children->stretches, index_of(child), MAYBE_EMPTY);
	queue_work(child->odp->pager.key->keys->reaps, &children->reap);
}

struct pinion_children *pinion_children_create(struct pinion_odp *odp, struct ib_device *ibdev,
					       int access)
{
	struct pinion_children *children;
	int err;

	children = kzalloc(sizeof(*children), GFP_KERNEL_ACCOUNT);
	if (!children)
		return ERR_PTR(-ENOMEM);
	children->root = ib_umem_odp_alloc_implicit(ibdev, access);
	if (IS_ERR(children->root)) {
		err = PTR_ERR(children->root);
		kfree(children);
		return ERR_PTR(err);
	}
	/* The core leaves it to us that the mm stays allocated while it has no child. */
	mmgrab(children->root->umem.owning_mm);
	children->odp = odp;
	xa_init_flags(&children->stretches, XA_FLAGS_ACCOUNT);
	mutex_init(&children->lock);
	INIT_WORK(&children->reap, reap);
	return children;
}

void pinion_children_destroy(struct pinion_children *children)
{
	struct mm_struct *mm = children->root->umem.owning_mm;
	struct pinion_stretch *child;
	unsigned long index;

	/* Notifiers may still say that something is empty; it is not for them to end it. */
	disable_work_sync(&children->reap);
	xa_for_each(&children->stretches, index, child) {
		pinion_stretch_free(child);
		cond_resched();
	}
	xa_destroy(&children->stretches);
	ib_umem_odp_release(children->root);
	mmdrop(mm);
	kfree(children);
}

static struct pinion_stretch *make(struct pinion_children *children, unsigned long index)
{
	unsigned long start = index << PINION_CHILD_SHIFT;
	struct pinion_stretch *child;
	struct ib_umem_odp *umem;
	int err;

	/* Nothing of the process's can be there. */
	if (start >= READ_ONCE(children->root->umem.owning_mm->task_size))
		return ERR_PTR(-EFAULT);
	umem = ib_umem_odp_alloc_child(children->root, start, PINION_CHILD_SIZE,
				       &pinion_odp_notifier_ops);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	child = pinion_stretch_make(children->odp, umem, PAGE_SHIFT, 0);
	if (IS_ERR(child)) {
		ib_umem_odp_release(umem);
		return child;
	}
	err = xa_err(xa_store(&children->stretches, index, child, GFP_KERNEL_ACCOUNT));
	if (err) {
		pinion_stretch_free(child);
		return ERR_PTR(err);
	}
	pinion_stretch_arm(child);
	WRITE_ONCE(children->count, children->count + 1);
	return child;
}

/* Who takes it off the list waits for those inside the gate before it is freed. */
struct pinion_stretch *pinion_child_at(struct pinion_children *children, u64 offset)
{
	return xa_load(&children->stretches, offset >> PINION_CHILD_SHIFT);
}

struct pinion_stretch *pinion_child_get(struct pinion_children *children, u64 offset)
{
	unsigned long index = offset >> PINION_CHILD_SHIFT;
	struct pinion_stretch *child;

	mutex_lock(&children->lock);
	child = xa_load(&children->stretches, index);
	if (!child)
		child = make(children, index);
	if (!IS_ERR(child))
		child->users++;
	mutex_unlock(&children->lock);
	return child;
}

void pinion_child_put(struct pinion_stretch *child)
{
	struct pinion_odp *odp = child->odp;
	struct pinion_children *children = odp->children;
	LIST_HEAD(dead);

	mutex_lock(&children->lock);
	child->users--;
	/* Nothing came: whoever asks for holes gets no children of them. */
	take_if_idle(children, child, &dead);
	mutex_unlock(&children->lock);
	bury(odp, &dead);
}
