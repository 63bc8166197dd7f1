// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand regions, explicit and implicit: their life, and which stretch of memory an
 * offset is in. What happens in a stretch is odp.c's.
 */
#include <linux/hugetlb.h>
#include <linux/slab.h>

#include "dwell.h"
#include "mr.h"
#include "odp.h"
#include "trace.h"

/* What one entry of the table stands for. A promise of huge pages is kept to. */
static u8 block_shift(int access)
{
#ifdef CONFIG_HUGETLB_PAGE
	if (access & IB_ACCESS_HUGETLB)
		return HPAGE_SHIFT;
#endif
	return PAGE_SHIFT;
}

static struct pinion_odp *to_odp(struct pinion_pager *pager)
{
	return container_of(pager, struct pinion_odp, pager);
}

static int init_explicit(struct pinion_odp *odp, struct ib_device *ibdev, u64 start,
			 u64 length, int access)
{
	u8 shift = block_shift(access);
	u64 size = 1ULL << shift;
	u64 first = start & (size - 1);
	struct pinion_stretch *whole;
	struct ib_umem_odp *umem;

	/*
	 * The core looks up and maps small pages and is not told of the promise: two of its
	 * loops disagree on what an index counts once pages are huge. Whole blocks are asked
	 * for, so that the table's are.
	 */
	umem = ib_umem_odp_get(ibdev, start - first, ALIGN(first + length, size),
			       access & ~IB_ACCESS_HUGETLB, &pinion_odp_notifier_ops);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	whole = pinion_stretch_make(odp, umem, shift, first);
	if (IS_ERR(whole)) {
		ib_umem_odp_release(umem);
		return PTR_ERR(whole);
	}
	odp->whole = whole;
	return 0;
}

static int init_implicit(struct pinion_odp *odp, struct ib_device *ibdev, int access)
{
	struct pinion_children *children = pinion_children_create(odp, ibdev, access);

	if (IS_ERR(children))
		return PTR_ERR(children);
	odp->children = children;
	return 0;
}

static void attach(struct pinion_pager *pager, struct pinion_key *key)
{
	struct pinion_odp *odp = to_odp(pager);

	/* Children are armed as they come. */
	if (odp->whole)
		pinion_stretch_arm(odp->whole);
}

static void destroy(struct pinion_pager *pager)
{
	struct pinion_odp *odp = to_odp(pager);

	if (odp->whole)
		pinion_stretch_free(odp->whole);
	else
		pinion_children_destroy(odp->children);
	kfree(odp);
}

/* Of an implicit region, which has no table of its own. */
static u64 run(struct pinion_pager *pager, u64 offset, u64 want, bool writes, void **kva)
{
	struct pinion_stretch *child = pinion_child_at(to_odp(pager)->children, offset);

	if (!child)
		return 0;
	pinion_dwell(PINION_DWELL_CHILD);
	offset &= PINION_CHILD_SIZE - 1;
	return pinion_mtt_run_present(child->mtt, offset, min(want, PINION_CHILD_SIZE - offset),
				      writes, kva);
}

/* The stretch at *@offset; both numbers become the part of them that is in it. */
static struct pinion_stretch *stretch_get(struct pinion_odp *odp, u64 *offset, u64 *length)
{
	struct pinion_stretch *child;

	if (odp->whole)
		return odp->whole;
	child = pinion_child_get(odp->children, *offset);
	*offset &= PINION_CHILD_SIZE - 1;
	*length = min(*length, PINION_CHILD_SIZE - *offset);
	return child;
}

static void stretch_put(struct pinion_stretch *stretch)
{
	if (stretch->odp->children)
		pinion_child_put(stretch);
}

static int fault(struct pinion_pager *pager, u64 offset, u64 length, bool write)
{
	struct pinion_odp *odp = to_odp(pager);
	u64 begun = trace_odp_fault_enabled() ? ktime_get_ns() : 0;
	struct pinion_stretch *stretch;
	u64 within = offset;
	s64 pages;

	stretch = stretch_get(odp, &within, &length);
	if (IS_ERR(stretch)) {
		pages = PTR_ERR(stretch);
	} else {
		pages = pinion_stretch_fault(stretch, within, length, write);
		stretch_put(stretch);
	}
	if (pages > 0)
		pinion_pager_count(pager, PINION_PAGER_FAULTS, PINION_PAGER_FAULTS_HANDLED, pages);
	trace_odp_fault(odp->pager.key, offset, length, write, pages, pinion_since(begun));
	return min_t(s64, pages, 0);
}

static const struct pinion_pager_ops explicit_ops = {
	.fault = fault,
	.attach = attach,
	.destroy = destroy,
};

static const struct pinion_pager_ops implicit_ops = {
	.fault = fault,
	.run = run,
	.attach = attach,
	.destroy = destroy,
};

struct pinion_odp *pinion_odp_of(const struct pinion_key *key)
{
	struct pinion_pager *pager = key->pager;

	if (!pager || (pager->ops != &explicit_ops && pager->ops != &implicit_ops))
		return NULL;
	return to_odp(pager);
}

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
	bool implicit = !start && length == U64_MAX;
	struct pinion_odp *odp;
	int err;

	odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	if (!odp)
		return ERR_PTR(-ENOMEM);
	pinion_pager_init(&odp->pager, implicit ? &implicit_ops : &explicit_ops);
	err = pinion_odp_watch();
	if (!err && implicit)
		err = init_implicit(odp, ibdev, access);
	else if (!err)
		err = init_explicit(odp, ibdev, start, length, access);
	if (err) {
		pinion_pager_discard(&odp->pager);
		kfree(odp);
		return ERR_PTR(err);
	}
	return odp;
}

int pinion_odp_prefetch(struct pinion_odp *odp, u64 offset, u64 length, bool write,
			bool fault)
{
	u64 begun = trace_odp_prefetch_enabled() ? ktime_get_ns() : 0;
	struct mem_cgroup *before = pinion_pager_charge(&odp->pager);
	struct pinion_stretch *stretch;
	u64 done, within, part;
	int err = 0;

	for (done = 0; !err && done < length; done += part) {
		within = offset + done;
		part = length - done;
		stretch = stretch_get(odp, &within, &part);
		if (IS_ERR(stretch)) {
			err = PTR_ERR(stretch);
			break;
		}
		err = pinion_stretch_prefetch(stretch, within, part, write, fault);
		stretch_put(stretch);
	}
	pinion_pager_uncharge(before);
	trace_odp_prefetch(odp->pager.key, offset, length, write, err, pinion_since(begun));
	return err;
}
