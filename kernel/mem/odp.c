// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging: one stretch of memory, its notifier, its faults. Fills and clears
 * tables; who reads them while it does so is the gate's business.
 *
 * A table entry is written under umem_mutex, after the core has checked that no
 * invalidation came between looking a page up and locking. An invalidation takes
 * umem_mutex, takes entries away, then waits for those inside the gate, so that when it
 * returns nobody is copying to or from the pages and nobody will. Neither it nor filling
 * closes the gate: an entry that said nothing says something, or the other way round, in
 * one store.
 *
 * The core looks pages up into a list of its own without any lock. Were there two at it,
 * the slower could write what was true before an invalidation into the list while the
 * other, whose look-up is fresh, reads it: hence stretch->walk.
 *
 * An entry says something if and only if the core holds its pages mapped. Only what an
 * entry does not allow yet is looked up, so that the core knows every page to be writable
 * that an entry lets be written: it marks them dirty when it gives them back.
 */
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "../compat/odp.h"
#include "mr.h"
#include "odp.h"
#include "trace.h"

/* What a fault brings at most: neighbours are likely to be needed, too. */
#define FAULT_BYTES	SZ_2M

/* An entry whose pages are about to be given back, which for everybody is not there. */
#define LEAVING		PINION_MTT_WRITABLE

static u64 pages_per_block(const struct pinion_stretch *stretch)
{
	return 1ULL << (stretch->mtt->shift - PAGE_SHIFT);
}

static u64 address_of(const struct pinion_stretch *stretch, u64 block)
{
	return ib_umem_start(stretch->umem) + (block << stretch->mtt->shift);
}

/* ------------------------------------------------------------- invalidation */

static void unmap(struct pinion_stretch *stretch, u64 first, u64 end)
{
	ib_umem_odp_unmap_dma_pages(stretch->umem, address_of(stretch, first),
				    address_of(stretch, end));
}

/* Returns how many of blocks [first, end) are LEAVING now. */
static u64 hide(struct pinion_stretch *stretch, u64 first, u64 end)
{
	u64 hidden = 0, block, *slot;

	for (block = first; block < end && stretch->present; block++) {
		slot = pinion_mtt_slot(stretch->mtt, block);
		if (!*slot)
			continue;
		WRITE_ONCE(*slot, LEAVING);
		stretch->present--;
		hidden++;
	}
	/* Who has read an entry before is out when this returns; nobody else has to wait. */
	if (hidden)
		pinion_gate_sync(&stretch->odp->pager.key->gate);
	return hidden;
}

/*
 * Takes blocks [first, end) out of the table and gives their pages back; returns how
 * many pages there were. umem_mutex is held.
 *
 * What is not in the table is left alone: somebody may be looking it up just now, and has
 * put the mark of pages that were mapped back into the core's list, which cannot be told
 * from that of pages that are. To give those back again would be to mark somebody else's
 * page dirty.
 */
static u64 forget(struct pinion_stretch *stretch, u64 first, u64 end)
{
	u64 hidden = hide(stretch, first, end), left = hidden, block, *slot;

	for (block = first; left; block++) {
		slot = pinion_mtt_slot(stretch->mtt, block);
		if (*slot != LEAVING)
			continue;
		WRITE_ONCE(*slot, 0);
		unmap(stretch, block, block + 1);
		left--;
	}
	return hidden * pages_per_block(stretch);
}

static void invalidate_range(struct pinion_stretch *stretch, u64 start, u64 end)
{
	struct ib_umem_odp *umem = stretch->umem;
	u64 pages, begun = trace_odp_invalidate_enabled() ? ktime_get_ns() : 0;

	start = max_t(u64, ib_umem_start(umem), start) - ib_umem_start(umem);
	end = min_t(u64, ib_umem_end(umem), end) - ib_umem_start(umem);
	pages = forget(stretch, start >> stretch->mtt->shift,
		       ((end - 1) >> stretch->mtt->shift) + 1);
	if (pages)
		pinion_pager_count(&stretch->odp->pager, PINION_PAGER_INVALIDATIONS,
				   PINION_PAGER_INVALIDATIONS_HANDLED, pages);
	trace_odp_invalidate(stretch->odp->pager.key, ib_umem_start(umem) + start, end - start,
			     pages, pinion_since(begun));
}

static bool invalidate(struct mmu_interval_notifier *notifier,
		       const struct mmu_notifier_range *range, unsigned long seq)
{
	struct ib_umem_odp *umem = container_of(notifier, struct ib_umem_odp, notifier);
	struct pinion_stretch *stretch;

	if (!mmu_notifier_range_blockable(range))
		return false;
	mutex_lock(&umem->umem_mutex);
	mmu_interval_set_seq(notifier, seq);
	stretch = umem->private;
	/* Not armed yet, or not any more; and where nothing is, nothing goes. */
	if (stretch && stretch->present) {
		invalidate_range(stretch, range->start, range->end);
		if (!stretch->present && stretch->odp->children)
			pinion_child_emptied(stretch);
	}
	mutex_unlock(&umem->umem_mutex);
	return true;
}

const struct mmu_interval_notifier_ops pinion_odp_notifier_ops = {
	.invalidate = invalidate,
};

/* ------------------------------------------------------------------- faults */

static bool is_there(struct pinion_stretch *stretch, u64 block, bool write)
{
	u64 flags = PINION_MTT_PRESENT | (write ? PINION_MTT_WRITABLE : 0);

	return (READ_ONCE(*pinion_mtt_slot(stretch->mtt, block)) & flags) == flags;
}

/*
 * Memory of memfd_secret() is not in the kernel's own mapping. The core finds it like any
 * other, though who would pin it is refused. umem_mutex is held, after the core's check, so
 * the page stays in its file.
 */
static bool is_secret(u64 addr)
{
	struct address_space *mapping;
	struct folio *folio;

	if (!IS_ENABLED(CONFIG_SECRETMEM))
		return false;
	folio = page_folio(pfn_to_page(PHYS_PFN(addr)));
	/* Most pages are, and this is all it takes. */
	if (folio_test_anon(folio))
		return false;
	mapping = folio_mapping(folio);
	return mapping && mapping->host && mapping->host->i_sb->s_magic == SECRETMEM_MAGIC;
}

/* What the core has found there as a table entry, or 0: nothing, or not as promised. */
static u64 look(struct pinion_stretch *stretch, u64 block)
{
	u64 pages = pages_per_block(stretch), index = block * pages, addr, i;
	bool writable, all_writable = true;

	if (pages > 1 &&
	    pinion_odp_order(stretch->umem, index) < stretch->mtt->shift - PAGE_SHIFT)
		return 0;
	addr = pinion_odp_page(stretch->umem, index, &all_writable);
	for (i = 1; addr && i < pages; i++) {
		if (pinion_odp_page(stretch->umem, index + i, &writable) !=
		    addr + (i << PAGE_SHIFT))
			return 0;
		all_writable &= writable;
	}
	if (!addr || is_secret(addr))
		return 0;
	return addr | PINION_MTT_PRESENT | (all_writable ? PINION_MTT_WRITABLE : 0);
}

/* After a look-up, of a block there is no entry of: nothing of it is mapped. */
static void unmark(struct pinion_stretch *stretch, u64 block)
{
	u64 pages = pages_per_block(stretch);

	lockdep_assert_held(&stretch->walk);
	if (!*pinion_mtt_slot(stretch->mtt, block))
		pinion_odp_unmark(stretch->umem, block * pages, pages);
}

/* Whatever of blocks [first, end) is mapped, and marked so rightly, must not stay so. */
static void drop(struct pinion_stretch *stretch, u64 first, u64 end)
{
	forget(stretch, first, end);
	unmap(stretch, first, end);
}

/* umem_mutex is held. Returns how many blocks are there now. */
static u64 fill(struct pinion_stretch *stretch, u64 first, u64 end)
{
	u64 block, value, filled = 0, *slot;

	for (block = first; block < end; block++) {
		slot = pinion_mtt_slot(stretch->mtt, block);
		unmark(stretch, block);
		value = look(stretch, block);
		if (!value) {
			drop(stretch, block, block + 1);
			continue;
		}
		stretch->present += !*slot;
		filled++;
		WRITE_ONCE(*slot, value);
	}
	return filled;
}

/* stretch->walk is held. Returns pages, or a negative errno. */
static s64 map(struct pinion_stretch *stretch, u64 first, u64 end, bool write, bool fault)
{
	struct ib_umem_odp *umem = stretch->umem;
	u64 address = address_of(stretch, first), block;
	s64 ret;

	lockdep_assert_held(&stretch->walk);
	ret = pinion_odp_map(umem, address, address_of(stretch, end) - address, write, fault);
	if (ret < 0) {
		/* The core may have given up in the middle. */
		mutex_lock(&umem->umem_mutex);
		for (block = first; block < end; block++)
			unmark(stretch, block);
		drop(stretch, first, end);
	} else {
		ret = fill(stretch, first, end) * pages_per_block(stretch);
		/* What cannot be had for the device must not be tried for ever. */
		if (fault && !is_there(stretch, first, write))
			ret = pages_per_block(stretch) > 1 ? -EINVAL : -EIO;
	}
	mutex_unlock(&umem->umem_mutex);
	return ret;
}

/* Of blocks [first, last], those that one look-up brings: missing ones in a row. */
static u64 missing_end(struct pinion_stretch *stretch, u64 first, u64 last, bool write)
{
	u64 most = max(FAULT_BYTES >> stretch->mtt->shift, 1);
	u64 end = first + 1;

	while (end <= last && end - first < most && !is_there(stretch, end, write))
		end++;
	return end;
}

s64 pinion_stretch_fault(struct pinion_stretch *stretch, u64 offset, u64 length, bool write)
{
	u64 first = (stretch->mtt->first + offset) >> stretch->mtt->shift;
	u64 last = (stretch->mtt->first + offset + length - 1) >> stretch->mtt->shift;
	s64 pages = 0;
	u64 end;

	mutex_lock(&stretch->walk);
	while (first <= last && is_there(stretch, first, write))
		first++;
	if (first <= last) {
		end = missing_end(stretch, first, last, write);
		pages = map(stretch, first, end, write, true);
		/* One bad page must not hide the good ones before it. */
		if (pages < 0 && end - first > 1)
			pages = map(stretch, first, first + 1, write, true);
	}
	mutex_unlock(&stretch->walk);
	return pages;
}

int pinion_stretch_prefetch(struct pinion_stretch *stretch, u64 offset, u64 length, bool write,
			    bool fault)
{
	u64 first = (stretch->mtt->first + offset) >> stretch->mtt->shift;
	u64 last = (stretch->mtt->first + offset + length - 1) >> stretch->mtt->shift;
	struct pinion_pager *pager = &stretch->odp->pager;
	s64 pages;
	u64 end;

	for (; first <= last; first = end) {
		/* Gigabytes may be there already, and many times over. */
		cond_resched();
		/* Nobody will use it, or be told. */
		if (READ_ONCE(pager->ending) || fatal_signal_pending(current))
			return -EINTR;
		end = first + 1;
		if (is_there(stretch, first, write))
			continue;
		pages = 0;
		mutex_lock(&stretch->walk);
		/* Somebody else may have been faster. */
		if (!is_there(stretch, first, write)) {
			end = missing_end(stretch, first, last, write);
			pages = map(stretch, first, end, write, fault);
		}
		mutex_unlock(&stretch->walk);
		if (pages < 0)
			return pages;
		atomic64_add(pages, &pager->counts[PINION_PAGER_PREFETCHES]);
	}
	return 0;
}

/* ---------------------------------------------------------------- stretches */

struct pinion_stretch *pinion_stretch_make(struct pinion_odp *odp, struct ib_umem_odp *umem,
					   u8 shift, u64 first)
{
	u64 blocks = (ib_umem_end(umem) - ib_umem_start(umem)) >> shift;
	struct pinion_stretch *stretch;

	stretch = kzalloc(sizeof(*stretch), GFP_KERNEL_ACCOUNT);
	if (!stretch)
		return ERR_PTR(-ENOMEM);
	/* Children are made for whoever faults, who may be another's killed process. */
	stretch->mtt = odp->children ? pinion_mtt_alloc(blocks, shift, first) :
				       pinion_mtt_alloc_killable(blocks, shift, first);
	if (!stretch->mtt) {
		kfree(stretch);
		return ERR_PTR(-ENOMEM);
	}
	stretch->mtt->sparse = true;
	stretch->odp = odp;
	stretch->umem = umem;
	mutex_init(&stretch->walk);
	return stretch;
}

void pinion_stretch_arm(struct pinion_stretch *stretch)
{
	mutex_lock(&stretch->umem->umem_mutex);
	stretch->umem->private = stretch;
	mutex_unlock(&stretch->umem->umem_mutex);
}

void pinion_stretch_free(struct pinion_stretch *stretch)
{
	/*
	 * The core gives everything back. What is invalidated before it takes the notifier
	 * away goes out of the table as ever, which nobody reads any more.
	 */
	ib_umem_odp_release(stretch->umem);
	pinion_mtt_free(stretch->mtt);
	kfree(stretch);
}
