// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging: what happens in one child, its notifier, its faults. Fills and clears
 * tables, and reads them for movers; who copies meanwhile is the gate's business.
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
 * other, whose look-up is fresh, reads it: hence child->walk.
 *
 * An entry says something if and only if the core holds its pages mapped. Only what an
 * entry does not allow yet is looked up, so that the core knows every page to be writable
 * that an entry lets be written: it marks them dirty when it gives them back.
 */
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>

#include "../compat/odp.h"
#include "mr.h"
#include "mtt.h"
#include "odp.h"
#include "trace.h"

/* An entry whose pages are about to be given back, which for everybody is not there. */
#define LEAVING		PINION_ODP_WRITABLE

static u32 odp_pages_per_block(const struct pinion_child *child)
{
	return 1U << (child->odp->shift - PAGE_SHIFT);
}

static u64 child_address_of(const struct pinion_child *child, u32 block)
{
	return child->start + ((u64)block << child->odp->shift);
}

static u32 child_block_of(const struct pinion_child *child, u64 address)
{
	return (address - child->start) >> child->odp->shift;
}

/* --------------------------------------------------------- what is there */

static u64 odp_flags_for(bool write)
{
	return PINION_ODP_PRESENT | (write ? PINION_ODP_WRITABLE : 0);
}

u64 pinion_child_run(const struct pinion_child *child, u64 address, u64 want, bool writable,
		     void **kva)
{
	u64 bits = PINION_ODP_PRESENT | PINION_ODP_WRITABLE, flags = odp_flags_for(writable);
	u64 size = BIT_ULL(child->odp->shift);
	u64 within = address & (size - 1);
	/* Users choose the address: its bound holds for guesses, too. */
	u32 block = array_index_nospec(child_block_of(child, address), child->num_blocks);
	/* Entries come and go while we look; what we read is not given back before we leave. */
	u64 entry = READ_ONCE(child->table[block]);
	u64 run = size - within, start;

	if ((entry & flags) != flags)
		return 0;
	start = (entry & ~bits) + within;
	while (run < want && ++block < child->num_blocks) {
		entry = READ_ONCE(child->table[block]);
		if ((entry & flags) != flags || (entry & ~bits) != start + run)
			break;
		run += size;
	}
	*kva = pinion_dma_to_kva(start);
	return min(run, want);
}

static bool child_is_there(const struct pinion_child *child, u32 block, bool write)
{
	u64 flags = odp_flags_for(write);

	return (READ_ONCE(child->table[block]) & flags) == flags;
}

/* ------------------------------------------------------------- invalidation */

static void child_unmap(struct pinion_child *child, u32 first, u32 end)
{
	ib_umem_odp_unmap_dma_pages(child->umem, child_address_of(child, first),
				    child_address_of(child, end));
}

/*
 * Marks what is there of blocks [first, end) as LEAVING, and returns how many that are.
 * umem_mutex is held, so nobody else writes the table.
 */
static u32 child_hide(struct pinion_child *child, u32 first, u32 end)
{
	u32 hidden = 0, block;

	for (block = first; block < end && hidden < child->present; block++) {
		if (!child->table[block])
			continue;
		WRITE_ONCE(child->table[block], LEAVING);
		hidden++;
	}
	WRITE_ONCE(child->present, child->present - hidden);
	/* Movers that read an entry before are out when this returns; no others have to wait. */
	if (hidden)
		pinion_gate_sync(&child->odp->pager.key->gate);
	return hidden;
}

/*
 * Takes blocks [first, end) out of the table and gives their pages back, those that follow
 * on each other at a time; returns how many pages there were. umem_mutex is held.
 *
 * What is not in the table is left alone: somebody may be looking it up just now, and has
 * put the mark of pages that were mapped back into the core's list, which cannot be told
 * from that of pages that are. To give those back again would be to mark somebody else's
 * page dirty.
 */
static u32 child_forget(struct pinion_child *child, u32 first, u32 end)
{
	u32 hidden = child_hide(child, first, end), left, block;

	for (left = hidden; left; first = block + 1) {
		for (block = first; block < end && child->table[block] == LEAVING; block++)
			WRITE_ONCE(child->table[block], 0);
		if (block > first)
			child_unmap(child, first, block);
		left -= block - first;
	}
	return hidden * odp_pages_per_block(child);
}

static void child_invalidate(struct pinion_child *child, u64 start, u64 end)
{
	u64 pages, begun = trace_odp_invalidate_enabled() ? ktime_get_ns() : 0;

	start = max(start, child->start);
	end = min(end, child_address_of(child, child->num_blocks));
	pages = child_forget(child, child_block_of(child, start),
			     child_block_of(child, end - 1) + 1);
	if (pages)
		pinion_pager_count(&child->odp->pager, PINION_PAGER_INVALIDATIONS,
				   PINION_PAGER_INVALIDATIONS_HANDLED, pages);
	trace_odp_invalidate(child->odp->pager.key, start, end - start, pages,
			     pinion_since(begun));
}

static bool odp_invalidate(struct mmu_interval_notifier *notifier,
			   const struct mmu_notifier_range *range, unsigned long seq)
{
	struct ib_umem_odp *umem = container_of(notifier, struct ib_umem_odp, notifier);
	struct pinion_child *child;

	if (!mmu_notifier_range_blockable(range))
		return false;
	/* The core asks very many children one after the other, and does not yield. */
	cond_resched();
	mutex_lock(&umem->umem_mutex);
	mmu_interval_set_seq(notifier, seq);
	child = umem->private;
	/* Not armed yet; and where nothing is, nothing goes. */
	if (child && child->present) {
		child_invalidate(child, range->start, range->end);
		if (!child->present)
			pinion_child_emptied(child);
	}
	mutex_unlock(&umem->umem_mutex);
	return true;
}

const struct mmu_interval_notifier_ops pinion_odp_notifier_ops = {
	.invalidate = odp_invalidate,
};

/* ------------------------------------------------------------------- faults */

/*
 * Memory of memfd_secret() is not in the kernel's own mapping. The core finds it like any
 * other, though who would pin it is refused. umem_mutex is held, after the core's check, so
 * the page stays in its file.
 */
static bool odp_is_secret(u64 addr)
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
static u64 child_look(struct pinion_child *child, u32 block)
{
	u64 pages = odp_pages_per_block(child), index = block * pages, addr, i;
	bool writable, all_writable = true;

	if (pages > 1 &&
	    pinion_odp_order(child->umem, index) < child->odp->shift - PAGE_SHIFT)
		return 0;
	addr = pinion_odp_page(child->umem, index, &all_writable);
	for (i = 1; addr && i < pages; i++) {
		if (pinion_odp_page(child->umem, index + i, &writable) !=
		    addr + (i << PAGE_SHIFT))
			return 0;
		all_writable &= writable;
	}
	if (!addr || odp_is_secret(addr))
		return 0;
	return addr | PINION_ODP_PRESENT | (all_writable ? PINION_ODP_WRITABLE : 0);
}

/* After a look-up, of a block there is no entry of: nothing of it is mapped. */
static void child_unmark(struct pinion_child *child, u32 block)
{
	u64 pages = odp_pages_per_block(child);

	lockdep_assert_held(&child->walk);
	if (!child->table[block])
		pinion_odp_unmark(child->umem, block * pages, pages);
}

/* Whatever of blocks [first, end) is mapped, and marked so rightly, must not stay so. */
static void child_drop(struct pinion_child *child, u32 first, u32 end)
{
	child_forget(child, first, end);
	child_unmap(child, first, end);
}

/* umem_mutex is held. Returns how many blocks are there now. */
static u32 child_fill(struct pinion_child *child, u32 first, u32 end)
{
	u32 block, filled = 0;
	u64 value;

	for (block = first; block < end; block++) {
		child_unmark(child, block);
		value = child_look(child, block);
		if (!value) {
			child_drop(child, block, block + 1);
			continue;
		}
		if (!child->table[block])
			WRITE_ONCE(child->present, child->present + 1);
		filled++;
		WRITE_ONCE(child->table[block], value);
	}
	return filled;
}

/* child->walk is held. Returns pages, or a negative errno. */
static s64 child_map(struct pinion_child *child, u32 first, u32 end, bool write, bool fault)
{
	u64 address = child_address_of(child, first);
	struct ib_umem_odp *umem = child->umem;
	u32 block;
	s64 ret;

	lockdep_assert_held(&child->walk);
	ret = pinion_odp_map(umem, address, child_address_of(child, end) - address, write, fault);
	if (ret < 0) {
		/* The core may have given up in the middle. */
		mutex_lock(&umem->umem_mutex);
		for (block = first; block < end; block++)
			child_unmark(child, block);
		child_drop(child, first, end);
	} else {
		ret = (s64)child_fill(child, first, end) * odp_pages_per_block(child);
		/* What cannot be had for the device must not be tried for ever. */
		if (fault && !child_is_there(child, first, write))
			ret = odp_pages_per_block(child) > 1 ? -EINVAL : -EIO;
	}
	mutex_unlock(&umem->umem_mutex);
	return ret;
}

/* Of blocks [first, last], those that one look-up brings: missing ones in a row. */
static u32 odp_missing_end(struct pinion_child *child, u32 first, u32 last, bool write)
{
	u32 end = first + 1;

	while (end <= last && !child_is_there(child, end, write))
		end++;
	return end;
}

s64 pinion_child_fault(struct pinion_child *child, u64 address, u64 length, bool write)
{
	u32 first = child_block_of(child, address);
	u32 last = child_block_of(child, address + length - 1);
	s64 pages = 0;
	u32 end;

	mutex_lock(&child->walk);
	while (first <= last && child_is_there(child, first, write))
		first++;
	if (first <= last) {
		end = odp_missing_end(child, first, last, write);
		pages = child_map(child, first, end, write, true);
		/* One bad page must not hide the good ones before it. */
		if (pages < 0 && end - first > 1)
			pages = child_map(child, first, first + 1, write, true);
	}
	mutex_unlock(&child->walk);
	return pages;
}

int pinion_child_prefetch(struct pinion_child *child, u64 address, u64 length, bool write,
			  bool fault)
{
	u32 first = child_block_of(child, address);
	u32 last = child_block_of(child, address + length - 1);
	struct pinion_pager *pager = &child->odp->pager;
	s64 pages;
	u32 end;

	for (; first <= last; first = end) {
		/* Gigabytes may be there already, and many times over. */
		cond_resched();
		/* Nobody will use it, or be told. */
		if (READ_ONCE(pager->ending) || fatal_signal_pending(current))
			return -EINTR;
		end = first + 1;
		if (child_is_there(child, first, write))
			continue;
		pages = 0;
		mutex_lock(&child->walk);
		/* Somebody else may have been faster. */
		if (!child_is_there(child, first, write)) {
			end = odp_missing_end(child, first, last, write);
			pages = child_map(child, first, end, write, fault);
		}
		mutex_unlock(&child->walk);
		if (pages < 0)
			return pages;
		atomic64_add(pages, &pager->counts[PINION_PAGER_PREFETCHES]);
	}
	return 0;
}

void pinion_child_arm(struct pinion_child *child)
{
	mutex_lock(&child->umem->umem_mutex);
	child->umem->private = child;
	mutex_unlock(&child->umem->umem_mutex);
}
