// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory: allocation, and regions of it. The verbs layer maps it into processes.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dm.h"
#include "mtt.h"
#include "trace.h"

/* Account @size bytes if the limit allows it. Does not exceed the limit even for a moment. */
static bool dm_take(atomic64_t *used, size_t size)
{
	s64 before = atomic64_read(used);

	do {
		if (size > PINION_DM_SIZE - before)
			return false;
	} while (!atomic64_try_cmpxchg(used, &before, before + size));
	return true;
}

/**
 * pinion_dm_alloc - allocate device memory
 * @used: the user's account of bytes
 * @length: in bytes; rounded up to whole pages
 *
 * Return: zeroed memory, charged to the caller, or an ERR_PTR.
 */
struct pinion_dm *pinion_dm_alloc(atomic64_t *used, u64 length)
{
	struct pinion_dm *dm;
	size_t size;

	if (!length || length > PINION_DM_SIZE)
		return ERR_PTR(-EINVAL);
	size = PAGE_ALIGN(length);
	if (!dm_take(used, size))
		return ERR_PTR(-ENOMEM);
	dm = kzalloc(sizeof(*dm), GFP_KERNEL_ACCOUNT);
	if (!dm)
		goto err_give_back;
	dm->memory = __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!dm->memory)
		goto err_free;
	dm->size = size;
	dm->used = used;
	return dm;

err_free:
	kfree(dm);
err_give_back:
	atomic64_sub(size, used);
	return ERR_PTR(-ENOMEM);
}

/**
 * pinion_dm_free - free device memory of which no region is left
 * @dm: the memory; pages that a process has mapped live on with the mapping
 */
void pinion_dm_free(struct pinion_dm *dm)
{
	atomic64_sub(dm->size, dm->used);
	vfree(dm->memory);
	kfree(dm);
}

static struct pinion_mtt *dm_describe(const struct pinion_dm *dm, u64 offset, u64 length)
{
	/*
	 * A region of 0 bytes is allowed, and gets a table of one page; also at the end of the
	 * memory, where the page before is used.
	 */
	u64 first_page = min_t(u64, offset, dm->size - 1) >> PAGE_SHIFT;
	u64 pages = length ? ((offset + length - 1) >> PAGE_SHIFT) - first_page + 1 : 1;
	struct pinion_mtt *mtt;
	u64 i;

	mtt = pinion_mtt_alloc(pages, PAGE_SHIFT, offset_in_page(offset));
	if (!mtt)
		return NULL;
	for (i = 0; i < pages; i++)
		*pinion_mtt_slot(mtt, i) =
			page_to_phys(vmalloc_to_page(dm->memory +
						     ((first_page + i) << PAGE_SHIFT)));
	return mtt;
}

/**
 * pinion_reg_dm_mr - register a part of device memory
 * @keys: the device's keys
 * @pd: protection domain
 * @dm: the memory
 * @offset: of the first byte
 * @length: in bytes
 * @access: IB_ACCESS_*; the core requires IB_ZERO_BASED
 *
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *pinion_reg_dm_mr(struct pinion_keys *keys, struct ib_pd *pd,
			       struct pinion_dm *dm, u64 offset, u64 length, int access)
{
	u64 begun = trace_mr_reg_enabled() ? ktime_get_ns() : 0;
	struct pinion_backing backing = {};
	struct ib_mr *ibmr;

	if (access & (IB_ACCESS_ON_DEMAND | IB_ACCESS_HUGETLB | IB_ACCESS_FLUSH_PERSISTENT))
		return ERR_PTR(pinion_mr_refused(pd, offset, length, 0, access,
						 "rights that no device memory has", -EINVAL));
	backing.mtt = dm_describe(dm, offset, length);
	if (!backing.mtt)
		return ERR_PTR(pinion_mr_refused(pd, offset, length, 0, access,
						 "no room for its table", -ENOMEM));
	ibmr = pinion_region_make(keys, pd, &backing, 0, length, access);
	if (IS_ERR(ibmr)) {
		pinion_mtt_free(backing.mtt);
		pinion_mr_refused(pd, offset, length, 0, access, "no key", PTR_ERR(ibmr));
		return ibmr;
	}
	trace_mr_reg(ibmr->lkey, ibmr->iova, length, access, pinion_since(begun));
	return ibmr;
}
