// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging: the umem, its notifier, faults. Fills and clears tables; who
 * reads them while it does so is the gate's business.
 *
 * A table entry is written under umem_mutex, after the core has checked that no
 * invalidation came between looking a page up and locking. An invalidation takes
 * umem_mutex, then closes the gate, so that when it returns nobody is copying to or
 * from the pages and nobody will. Filling needs no closed gate: it makes an entry
 * that said nothing say something, in one store.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "../compat/odp.h"
#include "../logic/range.h"
#include "mtt.h"
#include "odp.h"

/* Pages a fault brings at most: neighbours are likely to be needed, too. */
#define FAULT_PAGES	512

static struct pinion_odp *to_odp(struct pinion_pager *pager)
{
	return container_of(pager, struct pinion_odp, pager);
}

/* Takes pages [first, end) out of the table; returns how many there were. */
static u64 forget(struct pinion_odp *odp, u64 first, u64 end)
{
	u64 forgotten = 0, page, *slot;

	pinion_key_close(odp->pager.key);
	for (page = first; page < end; page++) {
		slot = pinion_mtt_slot(odp->mtt, page);
		if (!*slot)
			continue;
		/* The core marks what it knows to be writable; we know who may have written. */
		if (*slot & PINION_MTT_WRITABLE)
			set_page_dirty(pfn_to_page(PHYS_PFN(*slot)));
		WRITE_ONCE(*slot, 0);
		forgotten++;
	}
	odp->present -= forgotten;
	pinion_key_open(odp->pager.key);
	return forgotten;
}

static bool invalidate(struct mmu_interval_notifier *notifier,
		       const struct mmu_notifier_range *range, unsigned long seq)
{
	struct ib_umem_odp *umem = container_of(notifier, struct ib_umem_odp, notifier);
	struct pinion_odp *odp;
	u64 start, end;

	if (!mmu_notifier_range_blockable(range))
		return false;
	mutex_lock(&umem->umem_mutex);
	mmu_interval_set_seq(notifier, seq);
	odp = umem->private;
	/* Not attached yet, or not any more; and where nothing is, nothing goes. */
	if (!odp || !odp->present)
		goto out;
	start = max_t(u64, ib_umem_start(umem), range->start);
	end = min_t(u64, ib_umem_end(umem), range->end);
	pinion_pager_count(&odp->pager, PINION_PAGER_INVALIDATIONS,
			   PINION_PAGER_INVALIDATIONS_HANDLED,
			   forget(odp, (start - ib_umem_start(umem)) >> PAGE_SHIFT,
				  DIV_ROUND_UP_ULL(end - ib_umem_start(umem), PAGE_SIZE)));
	ib_umem_odp_unmap_dma_pages(umem, start, end);
out:
	mutex_unlock(&umem->umem_mutex);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = invalidate,
};

static const struct pinion_pager_ops pager_ops;

/**
 * pinion_odp_create - watch a range of the caller's memory
 * @ibdev: the device
 * @start: of the range, any alignment
 * @length: in bytes
 * @access: IB_ACCESS_*
 *
 * Return: the range, with an empty table, or an ERR_PTR.
 */
struct pinion_odp *pinion_odp_create(struct ib_device *ibdev, u64 start, u64 length, int access)
{
	struct pinion_odp *odp;
	int err = -ENOMEM;

	odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	if (!odp)
		return ERR_PTR(-ENOMEM);
	/* Pages are taken as they are; a promise that they are huge needs no keeping. */
	odp->umem = ib_umem_odp_get(ibdev, start, length, access & ~IB_ACCESS_HUGETLB,
				    &notifier_ops);
	if (IS_ERR(odp->umem)) {
		err = PTR_ERR(odp->umem);
		goto err_free;
	}
	odp->mtt = pinion_mtt_alloc(ib_umem_odp_num_pages(odp->umem), PAGE_SHIFT,
				    offset_in_page(start));
	if (!odp->mtt)
		goto err_release;
	odp->mtt->sparse = true;
	pinion_pager_init(&odp->pager, &pager_ops);
	return odp;

err_release:
	ib_umem_odp_release(odp->umem);
err_free:
	kfree(odp);
	return ERR_PTR(err);
}

struct pinion_odp *pinion_odp_of(const struct pinion_key *key)
{
	return key->pager && key->pager->ops == &pager_ops ? to_odp(key->pager) : NULL;
}

static void attach(struct pinion_pager *pager, struct pinion_key *key)
{
	struct pinion_odp *odp = to_odp(pager);

	mutex_lock(&odp->umem->umem_mutex);
	odp->umem->private = odp;
	mutex_unlock(&odp->umem->umem_mutex);
}

static void destroy(struct pinion_pager *pager)
{
	struct pinion_odp *odp = to_odp(pager);

	mutex_lock(&odp->umem->umem_mutex);
	if (pager->key)
		forget(odp, 0, odp->mtt->num_blocks);
	odp->umem->private = NULL;
	mutex_unlock(&odp->umem->umem_mutex);
	ib_umem_odp_release(odp->umem);
	pinion_mtt_free(odp->mtt);
	kfree(odp);
}

static bool is_there(struct pinion_odp *odp, u64 page, bool write)
{
	u64 flags = PINION_MTT_PRESENT | (write ? PINION_MTT_WRITABLE : 0);

	return (READ_ONCE(*pinion_mtt_slot(odp->mtt, page)) & flags) == flags;
}

/* umem_mutex is held. */
static void fill(struct pinion_odp *odp, u64 first, u64 end)
{
	u64 page, value, *slot;
	bool writable;

	for (page = first; page < end; page++) {
		value = pinion_odp_page(odp->umem, page, &writable);
		if (!value)
			continue;
		value |= PINION_MTT_PRESENT | (writable ? PINION_MTT_WRITABLE : 0);
		slot = pinion_mtt_slot(odp->mtt, page);
		odp->present += !*slot;
		/* Whoever only reads takes no right to write away. */
		WRITE_ONCE(*slot, value | (*slot & PINION_MTT_WRITABLE));
	}
}

static int map(struct pinion_odp *odp, u64 first, u64 end, bool write, bool fault)
{
	int pages, err = 0;

	pages = pinion_odp_map(odp->umem, ib_umem_start(odp->umem) + (first << PAGE_SHIFT),
			       (end - first) << PAGE_SHIFT, write, fault);
	if (pages < 0)
		return pages;
	fill(odp, first, end);
	/* A page that could not be mapped for the device must not be tried for ever. */
	if (fault && !is_there(odp, first, write))
		err = -EIO;
	mutex_unlock(&odp->umem->umem_mutex);
	return err ?: pages;
}

static int fault(struct pinion_pager *pager, u64 offset, u64 length, bool write)
{
	struct pinion_odp *odp = to_odp(pager);
	u64 first = (odp->mtt->first + offset) >> PAGE_SHIFT;
	u64 last = (odp->mtt->first + offset + length - 1) >> PAGE_SHIFT;
	u64 end;
	int pages;

	while (first <= last && is_there(odp, first, write))
		first++;
	if (first > last)
		return 0;
	for (end = first + 1; end <= last && end - first < FAULT_PAGES; end++)
		if (is_there(odp, end, write))
			break;
	pages = map(odp, first, end, write, true);
	/* One bad page must not hide the good ones before it. */
	if (pages < 0 && end - first > 1)
		pages = map(odp, first, first + 1, write, true);
	if (pages < 0)
		return pages;
	pinion_pager_count(pager, PINION_PAGER_FAULTS, PINION_PAGER_FAULTS_HANDLED, pages);
	return 0;
}

static const struct pinion_pager_ops pager_ops = {
	.fault = fault,
	.attach = attach,
	.destroy = destroy,
};

/* ----------------------------------------------------------------- prefetch */

struct prefetch {
	struct pinion_odp *odp;
	u64 offset;
	u64 length;
	bool write;
	bool fault;
};

static int bring(const struct prefetch *p)
{
	u64 first = (p->odp->mtt->first + p->offset) >> PAGE_SHIFT;
	u64 last = (p->odp->mtt->first + p->offset + p->length - 1) >> PAGE_SHIFT;
	u64 end;
	int pages;

	for (; first <= last; first = end) {
		end = first + 1;
		if (is_there(p->odp, first, p->write))
			continue;
		while (end <= last && end - first < FAULT_PAGES &&
		       !is_there(p->odp, end, p->write))
			end++;
		pages = map(p->odp, first, end, p->write, p->fault);
		if (pages < 0)
			return pages;
		atomic64_add(pages, &p->odp->pager.counts[PINION_PAGER_PREFETCHES]);
		cond_resched();
	}
	return 0;
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
