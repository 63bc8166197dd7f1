// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_advise_mr(3): bring pages before they are touched, at once or soon. Checks what is
 * asked for and keeps the regions meanwhile; how pages come is odp.c's.
 */
#include <linux/slab.h>

#include "../logic/range.h"
#include "odp.h"

struct prefetch {
	struct pinion_odp *odp;
	u64 offset;
	u64 length;
	bool write;
	bool fault;
};

static int bring(const struct prefetch *p)
{
	return pinion_odp_prefetch(p->odp, p->offset, p->length, p->write, p->fault);
}

/* On success a user of the region's pages is counted in. */
static int find(struct pinion_keys *keys, struct ib_pd *pd, const struct ib_sge *sge,
		struct prefetch *p)
{
	struct pinion_key *key = pinion_key_get(keys, sge->lkey);
	int err = 0;

	if (!key)
		return -ENOENT;
	down_read(&key->gate);
	if (key->value != sge->lkey || key->state == PINION_KEY_DEAD)
		err = -ENOENT;
	else if (key->pd != pd)
		err = -EPERM;
	else if (!pinion_odp_of(key))
		err = -EINVAL;
	else if (p->write && !(key->rights & IB_ACCESS_LOCAL_WRITE))
		err = -EPERM;
	else if (!pinion_range_holds(key->base, key->length, sge->addr, sge->length))
		err = -EFAULT;
	if (!err) {
		p->odp = pinion_odp_of(key);
		p->offset = sge->addr - key->base;
		p->length = sge->length;
		pinion_pager_get(&p->odp->pager);
	}
	up_read(&key->gate);
	pinion_key_put(key);
	return err;
}

struct prefetch_work {
	struct work_struct work;
	u32 num;
	struct prefetch ranges[] __counted_by(num);
};

static void release(struct prefetch_work *work)
{
	while (work->num)
		pinion_pager_put(&work->ranges[--work->num].odp->pager);
	kvfree(work);
}

/* It was asked for as a hint, so nobody is told what came of it. */
static void prefetch_later(struct work_struct *w)
{
	struct prefetch_work *work = container_of(w, struct prefetch_work, work);
	u32 i;

	for (i = 0; i < work->num; i++)
		if (work->ranges[i].length)
			bring(&work->ranges[i]);
	release(work);
}

static int prefetch_now(struct prefetch_work *work)
{
	int err = 0;
	u32 i;

	for (i = 0; i < work->num && !err; i++)
		if (work->ranges[i].length)
			err = bring(&work->ranges[i]);
	release(work);
	return err;
}

/**
 * pinion_advise_mr - bring pages of on-demand regions before they are touched
 * @keys: the device's keys
 * @pd: whose regions
 * @advice: which way
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH: be done on return
 * @sges: ranges
 * @num_sge: how many
 *
 * Every range is checked before anything is done. Work that is left for later counts as
 * a user of the regions, so none of them ends before it.
 *
 * Return: 0 or a negative errno.
 */
int pinion_advise_mr(struct pinion_keys *keys, struct ib_pd *pd,
		     enum ib_uverbs_advise_mr_advice advice, u32 flags,
		     const struct ib_sge *sges, u32 num_sge)
{
	struct prefetch_work *work;
	int err;
	u32 i;

	if (advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	if (flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return -EINVAL;
	work = kvzalloc(struct_size(work, ranges, num_sge), GFP_KERNEL_ACCOUNT);
	if (!work)
		return -ENOMEM;
	for (i = 0; i < num_sge; i++) {
		work->num = i + 1;
		work->ranges[i].write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
		work->ranges[i].fault = advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
		err = find(keys, pd, &sges[i], &work->ranges[i]);
		if (err) {
			work->num = i;
			release(work);
			return err;
		}
	}
	if (flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return prefetch_now(work);
	INIT_WORK(&work->work, prefetch_later);
	queue_work(keys->wq, &work->work);
	return 0;
}
