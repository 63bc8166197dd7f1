// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand regions: creation and destruction, and the pager's ops. odp_children.c creates and
 * destroys children, odp.c faults and invalidates their pages.
 */
#include <linux/hugetlb.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "dwell.h"
#include "inject.h"
#include "mr.h"
#include "odp.h"
#include "trace.h"

/* log2 of the bytes that a child covers: at least one block. */
static u8 odp_span_shift(u8 block_shift)
{
	u32 blocks = BIT(PINION_CHILD_SHIFT - PAGE_SHIFT);

	blocks = pinion_inject_size(PINION_INJECT_SPAN, task_tgid_nr(current), 0, blocks);
	return max_t(u8, block_shift, PAGE_SHIFT + ilog2(blocks));
}

/* log2 of the bytes per table entry. IB_ACCESS_HUGETLB promises that all pages are huge. */
static u8 odp_block_shift(int access)
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

static void odp_attach(struct pinion_pager *pager, struct pinion_key *key)
{
	/* Nothing to do: children are made by faults, with mmu notifiers of their own. */
}

static void odp_destroy(struct pinion_pager *pager)
{
	struct pinion_odp *odp = to_odp(pager);

	pinion_children_destroy(odp);
	kfree(odp);
}

static u64 odp_run(struct pinion_pager *pager, u64 offset, u64 want, bool writes, void **kva)
{
	struct pinion_odp *odp = to_odp(pager);
	struct pinion_child *child;
	u64 run = 0;

	rcu_read_lock();
	child = pinion_child_find(odp, odp->start + offset);
	if (child) {
		pinion_dwell(PINION_DWELL_CHILD);
		run = pinion_child_run(child, odp->start + offset, want, writes, kva);
	}
	rcu_read_unlock();
	return run;
}

/* How many of the @length bytes at @address are in the same span. */
static u64 odp_part_in_span(const struct pinion_odp *odp, u64 address, u64 length)
{
	u64 span = BIT_ULL(odp->child_shift);

	return min(length, span - (address & (span - 1)));
}

static int odp_fault(struct pinion_pager *pager, u64 offset, u64 length, bool write)
{
	struct pinion_odp *odp = to_odp(pager);
	u64 begun = trace_odp_fault_enabled() ? ktime_get_ns() : 0;
	u64 address = odp->start + offset;
	struct pinion_child *child;
	s64 pages;

	length = odp_part_in_span(odp, address, length);
	child = pinion_child_get(odp, address);
	if (IS_ERR(child)) {
		pages = PTR_ERR(child);
	} else {
		pages = pinion_child_fault(child, address, length, write);
		pinion_child_put(child);
	}
	if (pages > 0)
		pinion_pager_count(pager, PINION_PAGER_FAULTS, PINION_PAGER_FAULTS_HANDLED, pages);
	trace_odp_fault(odp->pager.key, offset, length, write, pages, pinion_since(begun));
	return min_t(s64, pages, 0);
}

static int odp_region_invalidate(struct pinion_pager *pager, u64 offset, u64 length)
{
	struct pinion_odp *odp = to_odp(pager);
	u64 address = odp->start + offset, last = address + length - 1;
	struct pinion_child *child;
	int err = 0;

	while (!err && address <= last) {
		child = pinion_child_get_from(odp, address);
		if (!child)
			break;
		if (child->start <= last)
			err = pinion_child_take_away(child, address, last);
		/* Behind it, which may be behind @last. */
		address = child->start + ((u64)child->num_blocks << odp->shift);
		pinion_child_put(child);
		cond_resched();
	}
	return err;
}

static const struct pinion_pager_ops odp_ops = {
	.fault = odp_fault,
	.invalidate = odp_region_invalidate,
	.run = odp_run,
	.attach = odp_attach,
	.destroy = odp_destroy,
};

struct pinion_odp *pinion_odp_of(const struct pinion_key *key)
{
	struct pinion_pager *pager = key->pager;

	return pager && pager->ops == &odp_ops ? to_odp(pager) : NULL;
}

static int odp_init(struct pinion_odp *odp, struct ib_device *ibdev, u64 start, u64 length,
		    int access)
{
	bool implicit = !start && length == U64_MAX;
	int err;

	odp->shift = odp_block_shift(access);
	odp->child_shift = odp_span_shift(odp->shift);
	odp->start = start;
	if (check_add_overflow(start, length - 1, &odp->last))
		return -EOVERFLOW;
	/* Children have whole blocks, and the end of the last must be below 2^64. */
	if (!implicit && (odp->last | (BIT_ULL(odp->shift) - 1)) == U64_MAX)
		return -EOVERFLOW;
	err = pinion_odp_watch();
	if (err)
		return err;
	/* Keep the flag for the implicit region: the core refuses that combination. */
	if (!implicit)
		access &= ~IB_ACCESS_HUGETLB;
	return pinion_children_init(odp, ibdev, access);
}

/**
 * pinion_odp_create - make an on-demand region of the current process's memory
 * @ibdev: the device
 * @start: of the range, any alignment
 * @length: in bytes
 * @access: IB_ACCESS_*
 *
 * Return: the region, without children, or an ERR_PTR.
 */
struct pinion_odp *pinion_odp_create(struct ib_device *ibdev, u64 start, u64 length, int access)
{
	struct pinion_odp *odp;
	int err;

	odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	if (!odp)
		return ERR_PTR(-ENOMEM);
	pinion_pager_init(&odp->pager, &odp_ops);
	err = odp_init(odp, ibdev, start, length, access);
	if (err) {
		pinion_pager_discard(&odp->pager);
		kfree(odp);
		return ERR_PTR(err);
	}
	return odp;
}

int pinion_odp_prefetch(struct pinion_odp *odp, u64 offset, u64 length, bool write,
			enum pinion_bring bring)
{
	u64 begun = trace_odp_prefetch_enabled() ? ktime_get_ns() : 0;
	struct mem_cgroup *before = pinion_pager_charge(&odp->pager);
	u64 address = odp->start + offset, done, part;
	struct pinion_child *child;
	int err = 0;

	for (done = 0; !err && done < length; done += part) {
		part = odp_part_in_span(odp, address + done, length - done);
		child = pinion_child_get(odp, address + done);
		if (IS_ERR(child)) {
			err = PTR_ERR(child);
			break;
		}
		err = pinion_child_prefetch(child, address + done, part, write, bring);
		pinion_child_put(child);
	}
	pinion_pager_uncharge(before);
	trace_odp_prefetch(odp->pager.key, offset, length, write, err, pinion_since(begun));
	return err;
}
