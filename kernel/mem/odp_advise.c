// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_advise_mr(3): bring pages before they are touched, at once or soon. Checks what is
 * asked for, and keeps a region only while its pages are brought; how they come is
 * odp.c's.
 *
 * A caller who waits for pages of files does not bring them himself, either: a page may never
 * come, and then nothing would end his system call, for which the removal of the device waits. So
 * he can be killed.
 *
 * What is left for later knows its regions by their keys alone and looks them up when
 * their turn comes. Pages may take as long as some file system likes: were regions kept
 * from the start, one process's slow memory would keep those of all others.
 */
#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/userfaultfd_k.h>
#include <rdma/pinion-abi.h>

#include "../logic/pace.h"
#include "odp.h"

/*
 * How long a hint is followed before others have their turn: its ranges may be terabytes in
 * sum, with nothing there.
 */
#define TURN_MS		20

const struct pinion_sleepers_kind pinion_hints_kind = {
	.name = "pinion_prefetch",
	.active = PINION_HINTS_ACTIVE,
	.most = PINION_HINTS_WAITING,
	.own = PINION_HINTS_ACTIVE,
	/* A work queue has so many active on each NUMA node: those of other nodes. */
	.most_shared = 64 * PINION_HINTS_ACTIVE,
	.most_threads = 64 * PINION_HINTS_ACTIVE,
};

/* As many as their callers are threads, who wait for each other if there are very many. */
const struct pinion_sleepers_kind pinion_flushes_kind = {
	.name = "pinion_flush",
	.most = 64,
	.own = 4,
	.most_shared = 64,
	.most_threads = 256,
};

/* How long until who waits for others asks again; longer each time, and at most. */
#define AGAIN_NS	NSEC_PER_MSEC
#define AGAIN_MOST_NS	(100 * NSEC_PER_MSEC)

struct prefetch {
	struct ib_sge range;
	/*
	 * A reference, once it was found. It keeps no region, only its number and the address of
	 * its domain from being taken for those of another.
	 */
	struct pinion_key *region;
};

struct prefetches {
	struct work_struct work;
	struct pinion_keys *keys;	/* a reference */
	struct pinion_sleepers *sleepers; /* a reference of the work item's, who is counted there */
	refcount_t ref;			/* the work item, and who waits */
	struct completion brought;	/* with @err, for him */
	int err;
	bool given_up;			/* he is being killed */
#ifdef CONFIG_FAULT_INJECTION
	unsigned int fail_nth;		/* his, while the work item stands in for him */
#endif
	const struct ib_pd *pd;		/* only compared: it may be gone */
	bool write;
	bool fault;
	u32 next;			/* of @each, for a turn that is left for later */
	u32 num;
	struct prefetch each[] __counted_by(num);
};

static void prefetches_put(struct prefetches *p)
{
	u32 i;

	if (!refcount_dec_and_test(&p->ref))
		return;
	for (i = 0; i < p->num && p->each[i].region; i++)
		pinion_key_put(p->each[i].region);
	pinion_keys_put(p->keys);
	kvfree(p);
}

static int advise_errno(int syndrome)
{
	switch (syndrome) {
	case 0:
		return 0;
	case PINION_SYN_KEY_RIGHTS:
		return -EPERM;
	case PINION_SYN_KEY_RANGE:
		return -EFAULT;
	default:
		return -ENOENT;
	}
}

/* Is it the one that was found first? The first to be found is. */
static bool advise_is_same(struct prefetch *each, struct pinion_key *region)
{
	if (each->region)
		return each->region == region;
	kref_get(&region->ref);
	each->region = region;
	return true;
}

/* With @odp, a user of the region's pages is counted in if all is well. */
static int advise_find(const struct prefetches *p, struct prefetch *each,
		       struct pinion_odp **odp, u64 *offset)
{
	const struct ib_sge *range = &each->range;
	struct pinion_want want = {
		.pd = p->pd,
		.key = range->lkey,
		.whole = true,
		.region = true,
	};
	struct pinion_pass pass;
	int err;

	/* Of any region of ours we say first whether it is on demand. */
	err = pinion_key_enter_wait(p->keys, &want, &pass);
	if (err)
		return advise_errno(err);
	want.rights = p->write ? IB_ACCESS_LOCAL_WRITE : 0;
	want.addr = range->addr;
	want.length = range->length;
	want.whole = false;
	err = pinion_odp_of(pass.region) ? advise_errno(pinion_key_refuse(pass.region, &want)) :
					   -EINVAL;
	if (!err && !advise_is_same(each, pass.region))
		err = -ENOENT;
	if (!err && odp) {
		*odp = pinion_odp_of(pass.region);
		*offset = range->addr - pass.region->base;
		pinion_pager_get(&(*odp)->pager);
	}
	pinion_key_leave(&pass);
	return err;
}

static int advise_check_all(struct prefetches *p)
{
	int err = 0;
	u32 i;

	for (i = 0; i < p->num && !err; i++)
		err = advise_find(p, &p->each[i], NULL, NULL);
	return err;
}

static int advise_bring(const struct prefetches *p, struct prefetch *each)
{
	struct pinion_odp *odp;
	u64 offset;
	int err;

	err = advise_find(p, each, &odp, &offset);
	if (err)
		return err;
	if (each->range.length)
		err = pinion_odp_prefetch(odp, offset, each->range.length, p->write, p->fault);
	pinion_pager_put(&odp->pager);
	return err;
}

/* Return: whether there is more to bring, after others had their turn. */
static bool advise_bring_some(struct prefetches *p)
{
	unsigned long end = jiffies + msecs_to_jiffies(TURN_MS);

	while (p->next < p->num && !READ_ONCE(p->sleepers->abandoned)) {
		advise_bring(p, &p->each[p->next++]);
		if (time_after(jiffies, end))
			return p->next < p->num;
	}
	return false;
}

/* It was asked for as a hint, so nobody is told what came of it, or that it was forgotten. */
static void advise_bring_later(struct work_struct *work)
{
	struct prefetches *p = container_of(work, struct prefetches, work);
	struct pinion_sleepers *sleepers = p->sleepers;
	bool more = false;

	if (pinion_sleepers_begin(sleepers)) {
		more = advise_bring_some(p);
		pinion_sleepers_end(sleepers);
	}
	if (more) {
		queue_work(sleepers->wq, &p->work);
		return;
	}
	prefetches_put(p);
	pinion_sleepers_leave(sleepers);
}

/* Takes @p over. It is a hint: what there is no room for is forgotten. */
static void advise_leave_for_later(struct prefetches *p, struct pinion_hints *hints)
{
	p->sleepers = pinion_hints_sleepers(hints);
	if (IS_ERR(p->sleepers) || !pinion_sleepers_enter(p->sleepers)) {
		prefetches_put(p);
		return;
	}
	INIT_WORK(&p->work, advise_bring_later);
	queue_work(p->sleepers->wq, &p->work);
}

/* Until something cannot be brought, or nobody waits any more. */
static int advise_bring_all(struct prefetches *p)
{
	int err = 0;
	u32 i;

	for (i = 0; i < p->num && !err && !READ_ONCE(p->given_up); i++)
		err = advise_bring(p, &p->each[i]);
	return err;
}

/* What is to fail of the caller's allocations, by order of a test, fails where they are made. */
static void advise_lend_failures(struct prefetches *p)
{
#ifdef CONFIG_FAULT_INJECTION
	swap(p->fail_nth, current->fail_nth);
#endif
}

static void advise_bring_now(struct work_struct *work)
{
	struct prefetches *p = container_of(work, struct prefetches, work);
	struct pinion_sleepers *sleepers = p->sleepers;

	advise_lend_failures(p);
	p->err = advise_bring_all(p);
	advise_lend_failures(p);
	complete(&p->brought);
	prefetches_put(p);
	pinion_sleepers_end(sleepers);
	pinion_sleepers_leave(sleepers);
}

/* While there is none, others of the user's wait for their memory. */
static int advise_await_thread(struct pinion_sleepers *flushes)
{
	u64 pause = 0;

	while (!pinion_sleepers_enter_and_begin(flushes)) {
		pause = pinion_pace_slower(pause, AGAIN_NS, AGAIN_MOST_NS);
		schedule_timeout_killable(usecs_to_jiffies(pause / NSEC_PER_USEC));
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}

/* Is there nothing but anonymous memory, or none, in [@start, @start + @length)? */
static bool advise_is_anonymous(u64 start, u64 length)
{
	struct vm_area_struct *vma;
	struct vma_iterator vmi;
	bool anonymous = true;

	if (mmap_read_lock_killable(current->mm))
		return false;
	vma_iter_init(&vmi, current->mm, start);
	for_each_vma_range(vmi, vma, start + length) {
		anonymous = vma_is_anonymous(vma) && !userfaultfd_armed(vma);
		if (!anonymous)
			break;
	}
	mmap_read_unlock(current->mm);
	return anonymous;
}

/*
 * May the caller bring the pages himself? If all of it is anonymous memory of his own: that waits
 * for no file system. It is faster, and if his memory cgroup is full it is he who is killed. For
 * a work item the kernel would kill one of the group after the other, as long as the work item
 * keeps the memory of the first.
 *
 * Another thread of his may map a file there meanwhile. Then the call waits for that file.
 */
static bool advise_comes_by_itself(struct prefetches *p)
{
	struct pinion_odp *odp;
	bool comes = true;
	u64 offset;
	u32 i;

	for (i = 0; i < p->num && comes; i++) {
		if (advise_find(p, &p->each[i], &odp, &offset))
			return false;
		comes = pinion_odp_umem(odp)->owning_mm == current->mm &&
			advise_is_anonymous(odp->start + offset, p->each[i].range.length);
		pinion_pager_put(&odp->pager);
	}
	return comes;
}

/* Takes @p over. */
static int advise_flush(struct prefetches *p, struct pinion_hints *hints)
{
	int err;

	if (advise_comes_by_itself(p)) {
		err = advise_bring_all(p);
		prefetches_put(p);
		return err;
	}
	p->sleepers = pinion_hints_flushes(hints);
	err = PTR_ERR_OR_ZERO(p->sleepers);
	if (!err)
		err = advise_await_thread(p->sleepers);
	if (err) {
		prefetches_put(p);
		return err;
	}
	refcount_inc(&p->ref);
	INIT_WORK(&p->work, advise_bring_now);
	advise_lend_failures(p);
	queue_work(p->sleepers->wq, &p->work);
	if (wait_for_completion_killable(&p->brought)) {
		WRITE_ONCE(p->given_up, true);
		err = -EINTR;
	} else {
		advise_lend_failures(p);
		err = p->err;
	}
	prefetches_put(p);
	return err;
}

/**
 * pinion_advise_mr - bring pages of on-demand regions before they are touched
 * @keys: the device's keys
 * @hints: of who asks
 * @pd: whose regions
 * @advice: which way
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH: be done on return
 * @sges: ranges
 * @num_sge: how many
 *
 * Every range is checked before anything is done. A region that ends before work that is
 * left for later comes to it is passed over, and so is what is asked for while too much
 * of the asker's waits already.
 *
 * Return: 0 or a negative errno: among others -EAGAIN if too much of the asker's waits already
 * and he would, and -EINTR if he is killed meanwhile.
 */
int pinion_advise_mr(struct pinion_keys *keys, struct pinion_hints *hints, struct ib_pd *pd,
		     enum ib_uverbs_advise_mr_advice advice, u32 flags,
		     const struct ib_sge *sges, u32 num_sge)
{
	struct prefetches *p;
	int err;
	u32 i;

	if (advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	if (flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return -EINVAL;
	p = kvzalloc(struct_size(p, each, num_sge), GFP_KERNEL_ACCOUNT);
	if (!p)
		return -ENOMEM;
	refcount_set(&p->ref, 1);
	init_completion(&p->brought);
	pinion_keys_get(keys);
	p->keys = keys;
	p->pd = pd;
	p->write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	p->fault = advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
	p->num = num_sge;
	for (i = 0; i < num_sge; i++)
		p->each[i].range = sges[i];
	err = advise_check_all(p);
	if (err) {
		prefetches_put(p);
		return err;
	}
	if (flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return advise_flush(p, hints);
	advise_leave_for_later(p, hints);
	return 0;
}
