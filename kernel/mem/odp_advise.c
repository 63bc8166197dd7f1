// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_advise_mr(3): faults pages of on-demand regions before they are accessed, at once (FLUSH) or
 * soon (a hint). odp.c does the faults. A pager is held only while its pages are faulted.
 *
 * With FLUSH the caller waits, but it faults anonymous memory only: a fault in a file may never
 * end, and device removal waits for system calls. A work item faults what is left, and waiting for
 * that the caller can be killed.
 *
 * A queued hint knows its regions by their keys only, and looks them up when it runs. If it held
 * the pagers, regions could not be freed for as long as faults of other hints take.
 */
#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <rdma/pinion-abi.h>

#include "../logic/pace.h"
#include "odp.h"

/*
 * How long one run of the work item carries out a hint; then others have their turn. Its ranges may
 * be terabytes in sum, without any memory. The work item is queued again within microseconds (see
 * TURN_MS in path/exec.c), so longer turns would gain nothing.
 */
#define TURN_MS		20

const struct pinion_sleepers_kind pinion_hints_kind = {
	.name = "pinion_prefetch",
	.active = PINION_HINTS_ACTIVE,
	.most = PINION_HINTS_WAITING,
	.own = PINION_HINTS_ACTIVE,
	/* max_active of a workqueue is per NUMA node: room for threads on further nodes. */
	.most_shared = 64 * PINION_HINTS_ACTIVE,
	.most_threads = 64 * PINION_HINTS_ACTIVE,
};

/* Each has a caller that waits for it. If the limits are reached, further callers wait first. */
const struct pinion_sleepers_kind pinion_flushes_kind = {
	.name = "pinion_flush",
	.most = 64,
	.own = 4,
	.most_shared = 64,
	.most_threads = 256,
};

/* Pauses of a caller that waits for a thread; doubled each time, up to the second value. */
#define AGAIN_NS	NSEC_PER_MSEC
#define AGAIN_MOST_NS	(100 * NSEC_PER_MSEC)

struct prefetch {
	struct ib_sge range;
	/*
	 * The region's key, when it was first found. The reference keeps only the key's memory:
	 * a later region with the same value, in a domain at the same address, is another key.
	 */
	struct pinion_key *region;
};

struct prefetches {
	struct work_struct work;
	struct pinion_keys *keys;	/* a reference */
	struct pinion_sleepers *sleepers; /* the work item has entered it */
	refcount_t ref;			/* the work item, and with FLUSH the caller */
	struct completion brought;	/* FLUSH: the work item is done, with result @err */
	int err;
	bool given_up;			/* FLUSH: the caller was killed, so stop */
#ifdef CONFIG_FAULT_INJECTION
	unsigned int fail_nth;		/* the caller's, lent to the work item */
#endif
	const struct ib_pd *pd;		/* only compared: it may be freed */
	bool write;
	enum pinion_bring bring;
	u32 next;			/* index in @each at which the next run continues */
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

static int advise_errno(enum pinion_syndrome syndrome)
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

/* Is @region the one that was found the first time? Remembers it if this is the first time. */
static bool advise_is_same(struct prefetch *each, struct pinion_key *region)
{
	if (each->region)
		return each->region == region;
	kref_get(&region->ref);
	each->region = region;
	return true;
}

/*
 * Find the region of @each and check the range. On success, if @odp is not NULL, *@odp is set with
 * a reference to its pager. Sleeps; no gate is held.
 */
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

	/* Enter without a range first: "not on demand" is reported before rights and range. */
	err = advise_errno(pinion_key_enter_wait(p->keys, &want, &pass));
	if (err)
		return err;
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

static int advise_bring(const struct prefetches *p, struct prefetch *each,
			enum pinion_bring bring)
{
	struct pinion_odp *odp;
	u64 offset;
	int err;

	err = advise_find(p, each, &odp, &offset);
	if (err)
		return err;
	if (each->range.length)
		err = pinion_odp_prefetch(odp, offset, each->range.length, p->write, bring);
	pinion_pager_put(&odp->pager);
	return err;
}

/* Carry out part of a hint. Return: whether there is more, for the next run. */
static bool advise_bring_some(struct prefetches *p)
{
	unsigned long end = jiffies + msecs_to_jiffies(TURN_MS);

	while (p->next < p->num && !READ_ONCE(p->sleepers->abandoned)) {
		advise_bring(p, &p->each[p->next++], p->bring);
		if (time_after(jiffies, end))
			return p->next < p->num;
	}
	return false;
}

/* The work item of a hint. Its result is not reported to anybody. */
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

/* Queue a hint; the caller's reference to @p is given up. If there is no room it is dropped. */
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

/* Bring all ranges, until one fails or the caller was killed. */
static int advise_bring_all(struct prefetches *p, enum pinion_bring bring)
{
	int err = 0;
	u32 i;

	for (i = 0; i < p->num && !err && !READ_ONCE(p->given_up); i++)
		err = advise_bring(p, &p->each[i], bring);
	return err;
}

/*
 * Move fault injection's fail_nth between the caller and the work item: the allocations that a test
 * wants to fail are made by the work item.
 */
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
	p->err = advise_bring_all(p, p->bring);
	advise_lend_failures(p);
	complete(&p->brought);
	prefetches_put(p);
	pinion_sleepers_end(sleepers);
	pinion_sleepers_leave(sleepers);
}

/* Wait until the user may have one more thread for FLUSH. -EINTR: killed. */
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

/*
 * Bring all ranges and wait. The caller's reference to @p is given up.
 *
 * Anonymous memory of its own the caller faults itself. That is faster. And if the memory cgroup is
 * full, the OOM killer kills the caller. With a work item it would kill one process of the cgroup
 * after the other, since the work item keeps the memory of the first one.
 */
static int advise_flush(struct prefetches *p, struct pinion_hints *hints)
{
	int err;

	err = advise_bring_all(p, min(p->bring, PINION_BRING_OWN));
	if (err != -EAGAIN) {
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
 * pinion_advise_mr - fault pages of on-demand regions before they are accessed
 * @keys: the device's keys
 * @hints: the caller's context's
 * @pd: domain of the regions
 * @advice: for reading, for writing, or without faults
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH: wait until it is done
 * @sges: ranges
 * @num_sge: how many
 *
 * All ranges are checked before anything is done. Without FLUSH: regions that are gone when the
 * work item runs are skipped, and the whole hint is dropped if too many are queued.
 *
 * Return: 0 or a negative errno; with FLUSH also -EAGAIN if the user has too many threads in faults
 * already, and -EINTR if the caller is killed.
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
	p->bring = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT ? PINION_BRING_PRESENT :
									    PINION_BRING_ALL;
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
