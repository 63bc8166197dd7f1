// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging inside one child: faults, invalidation by the mmu notifier, and the table
 * that movers read. Movers are kept safe by the region's gate (gate.h), not here.
 *
 * Fault: look the pages up (odp_pages.c), take umem_mutex, and check that no invalidation ran since
 * the look-up began. Then write the table entries, still under umem_mutex.
 *
 * Invalidation: under umem_mutex, clear the entries, then wait until every mover that was
 * inside the gate has left it (pinion_gate_sync). On return nobody copies to or from the pages.
 *
 * Neither closes the gate: each entry changes by one store, so a mover sees it either valid
 * or missing.
 *
 * child->walk lets one thread at a time look pages up. A look-up writes the core's list without
 * a lock. With two at a time, the slower one could overwrite a fresh result of the
 * other with one that an invalidation has made stale.
 *
 * Invariant: an entry is present if and only if the core has its pages DMA-mapped, and
 * writable only if the core knows the page as writable. The core marks such pages dirty when
 * they are unmapped. So only entries that do not allow the access yet are looked up.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>

#include "../compat/odp.h"
#include "inject.h"
#include "mr.h"
#include "mtt.h"
#include "odp.h"
#include "trace.h"

/* The time that an invalidation by order waits for a look-up, in ms. */
#define TAKE_TRIES	1000

/* An entry whose pages are about to be unmapped. Not PRESENT, so movers see it as missing. */
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

/* ---------------------------------------------------------- present pages */

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
	/* A user chooses @address: keep speculative reads inside the table, too. */
	u32 block = array_index_nospec(child_block_of(child, address), child->num_blocks);
	/*
	 * Entries change while we read. The pages of an entry that we have read are not
	 * unmapped before we leave the gate: child_hide() waits for us.
	 */
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
 * Marks all entries of blocks [first, end) that are present as LEAVING, and waits for movers
 * that may have read them. Returns their number. umem_mutex is held, so nobody else writes the
 * table.
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
	/* Waits for movers inside the gate now. Those that enter later see LEAVING. */
	if (hidden)
		pinion_gate_sync(&child->odp->pager.key->gate);
	return hidden;
}

/*
 * Clears blocks [first, end) in the table and has the core unmap their pages, one contiguous
 * run of blocks at a time. Returns the number of pages. umem_mutex is held.
 *
 * Blocks without an entry must not be unmapped. A look-up that runs just now may have set the
 * core's flag "mapped" in its list for a page that was mapped before and is not any more.
 * Unmapping by that flag would unmap a page twice and mark a page dirty that may belong to
 * somebody else.
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
	/* The core calls this for each child in turn, thousands perhaps, and never yields. */
	cond_resched();
	mutex_lock(&umem->umem_mutex);
	mmu_interval_set_seq(notifier, seq);
	child = umem->private;
	/* Not armed yet (pinion_child_arm), or empty: nothing to invalidate. */
	if (child && child->present) {
		child_invalidate(child, range->start, range->end);
		if (!child->present)
			pinion_child_emptied(child);
	}
	mutex_unlock(&umem->umem_mutex);
	return true;
}

/*
 * Take child->walk. A look-up that runs would notice an invalidation by a notifier, but not one by
 * order, so there must be none. It may be for a page that never comes, so do not wait for ever.
 */
static bool child_stop_looking(struct pinion_child *child)
{
	int tries;

	for (tries = 0; tries < TAKE_TRIES; tries++) {
		if (mutex_trylock(&child->walk))
			return true;
		fsleep(USEC_PER_MSEC);
	}
	return false;
}

int pinion_child_take_away(struct pinion_child *child, u64 first, u64 last)
{
	if (!child_stop_looking(child))
		return -EBUSY;
	mutex_lock(&child->umem->umem_mutex);
	if (child->present)
		child_invalidate(child, first, last + 1);
	mutex_unlock(&child->umem->umem_mutex);
	mutex_unlock(&child->walk);
	return 0;
}

const struct mmu_interval_notifier_ops pinion_odp_notifier_ops = {
	.invalidate = odp_invalidate,
};

/* ------------------------------------------------------------------- faults */

/*
 * Memory of memfd_secret() is not in the kernel's direct map, so touching it would oops. GUP
 * refuses to pin it, but hmm's look-up returns it like any other page. umem_mutex is held and
 * no invalidation ran, so the page stays in its file while we ask.
 */
static bool odp_is_secret(u64 addr)
{
	struct address_space *mapping;
	struct folio *folio;

	if (!IS_ENABLED(CONFIG_SECRETMEM))
		return false;
	folio = page_folio(pfn_to_page(PHYS_PFN(addr)));
	/* The common case, without looking at the mapping. */
	if (folio_test_anon(folio))
		return false;
	mapping = folio_mapping(folio);
	return mapping && mapping->host && mapping->host->i_sb->s_magic == SECRETMEM_MAGIC;
}

/* The DMA address of a page that was looked up, or 0. umem_mutex is held. */
static u64 child_page(struct pinion_child *child, u64 index, bool *writable)
{
	unsigned long pfn = pinion_odp_pfns(child->umem)[index];

	*writable = false;
	if (!(pfn & HMM_PFN_VALID))
		return 0;
	/*
	 * Do not map the zero page: it is part of the kernel image, and DMA_API_DEBUG would warn.
	 * It is only read, and never freed.
	 */
	if (is_zero_pfn(pfn & ~HMM_PFN_FLAGS))
		return PFN_PHYS(pfn & ~HMM_PFN_FLAGS);
	*writable = pfn & HMM_PFN_WRITE;
	return pinion_odp_map_page(child->umem, index);
}

/* Is @block in a mapping of a page that is at least as large? */
static bool child_is_huge(struct pinion_child *child, u32 block)
{
	u64 index = block * (u64)odp_pages_per_block(child);

	return hmm_pfn_to_map_order(pinion_odp_pfns(child->umem)[index]) >=
	       child->odp->shift - PAGE_SHIFT;
}

/*
 * The table entry for what was found at @block. 0 if nothing is there, if its pages are not one
 * block (the region promised huge pages), or if the kernel cannot reach them.
 */
static u64 child_look(struct pinion_child *child, u32 block)
{
	u64 pages = odp_pages_per_block(child), index = block * pages, addr, i;
	bool writable, all_writable = true;

	if (pages > 1 && !child_is_huge(child, block))
		return 0;
	addr = child_page(child, index, &all_writable);
	for (i = 1; addr && i < pages; i++) {
		if (child_page(child, index + i, &writable) != addr + (i << PAGE_SHIFT))
			return 0;
		all_writable &= writable;
	}
	if (!addr || odp_is_secret(addr))
		return 0;
	return addr | PINION_ODP_PRESENT | (all_writable ? PINION_ODP_WRITABLE : 0);
}

/* Clear the core's flag "mapped" after a look-up where we have no entry: see child_forget(). */
static void child_unmark(struct pinion_child *child, u32 block)
{
	u64 pages = odp_pages_per_block(child);

	lockdep_assert_held(&child->walk);
	if (!child->table[block])
		pinion_odp_unmark(child->umem, block * pages, pages);
}

/*
 * Unmap all of blocks [first, end): what has an entry, and what the core has mapped without
 * one. The flags in the core's list are right: child_unmark() ran before. umem_mutex is held.
 */
static void child_drop(struct pinion_child *child, u32 first, u32 end)
{
	child_forget(child, first, end);
	child_unmap(child, first, end);
}

/*
 * Write the entries of blocks [first, end) from the core's list after a look-up. umem_mutex is
 * held. Returns how many are present now.
 */
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

/*
 * Look up and bring blocks [first, end). child->walk is held. Returns the number of pages that are
 * present, or a negative errno.
 */
static s64 child_map(struct pinion_child *child, u32 first, u32 end, bool write,
		     enum pinion_bring bring)
{
	u64 address = child_address_of(child, first);
	struct ib_umem_odp *umem = child->umem;
	u32 block;
	s64 ret;

	lockdep_assert_held(&child->walk);
	ret = pinion_odp_look_up(umem, address, child_address_of(child, end) - address, write,
				 bring);
	if (ret < 0) {
		/* It may have failed half way, when it had written to the core's list. */
		mutex_lock(&umem->umem_mutex);
		for (block = first; block < end; block++)
			child_unmark(child, block);
		child_drop(child, first, end);
	} else {
		ret = (s64)child_fill(child, first, end) * odp_pages_per_block(child);
		/*
		 * The process has a page there, but we cannot use it. Without an error the
		 * message would come back to fault for it for ever.
		 */
		if (bring != PINION_BRING_PRESENT && !child_is_there(child, first, write))
			ret = odp_pages_per_block(child) > 1 ? -EINVAL : -EIO;
	}
	mutex_unlock(&umem->umem_mutex);
	return ret;
}

/* The end of the run of missing blocks that begins at @first: one look-up brings them. */
static u32 odp_missing_end(struct pinion_child *child, u32 first, u32 last, bool write)
{
	u32 end = first + 1;

	while (end <= last && !child_is_there(child, end, write))
		end++;
	return end;
}

/* The end of the blocks that one fault brings: that run, or less by order (mem/inject.h). */
static u32 odp_fault_end(struct pinion_child *child, u32 first, u32 last, bool write)
{
	const struct pinion_pager *pager = &child->odp->pager;
	u32 blocks = odp_missing_end(child, first, last, write) - first;

	return first + pinion_inject_size(PINION_INJECT_BATCH, pager->pid, pager->key->value,
					  blocks);
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
		end = odp_fault_end(child, first, last, write);
		pages = child_map(child, first, end, write, PINION_BRING_ALL);
		/*
		 * Some page of the run is bad. The message needs the first: try that alone.
		 */
		if (pages < 0 && end - first > 1)
			pages = child_map(child, first, first + 1, write, PINION_BRING_ALL);
	}
	mutex_unlock(&child->walk);
	return pages;
}

int pinion_child_prefetch(struct pinion_child *child, u64 address, u64 length, bool write,
			  enum pinion_bring bring)
{
	u32 first = child_block_of(child, address);
	u32 last = child_block_of(child, address + length - 1);
	struct pinion_pager *pager = &child->odp->pager;
	s64 pages;
	u32 end;

	for (; first <= last; first = end) {
		/* A hint may cover gigabytes that are all present. */
		cond_resched();
		/* The region ends, or the caller is killed: nobody will use the pages. */
		if (READ_ONCE(pager->ending) || fatal_signal_pending(current))
			return -EINTR;
		end = first + 1;
		if (child_is_there(child, first, write))
			continue;
		pages = 0;
		/* It may be held in a fault that never ends, and this may be a system call. */
		if (mutex_lock_killable(&child->walk))
			return -EINTR;
		/* Another thread may have brought it while we waited for the lock. */
		if (!child_is_there(child, first, write)) {
			end = odp_missing_end(child, first, last, write);
			pages = child_map(child, first, end, write, bring);
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
