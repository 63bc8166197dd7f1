// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand regions of memory of the test itself: faults, invalidations, what is left of
 * children, and changes of the memory during a look-up.
 */
/* The module pinion has the trace points. */
#define NOTRACE
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include "../kernel/mem/odp_pages.c"

/* Called once before the next look-up; and the result that the look-up is to return. */
static void (*before_map)(void *arg);
static void *before_map_arg;
static int map_fails;

/* Addresses of the last look-ups. */
static u64 maps[4];
static unsigned int num_maps;

static int hooked_look_up(struct ib_umem_odp *umem, u64 va, u64 length, bool write,
			  enum pinion_bring bring)
{
	void (*hook)(void *arg) = before_map;
	int fails = map_fails, err;

	before_map = NULL;
	map_fails = 0;
	maps[num_maps++ % ARRAY_SIZE(maps)] = va;
	if (hook)
		hook(before_map_arg);
	err = pinion_odp_look_up(umem, va, length, write, bring);
	if (err || !fails)
		return err;
	mutex_unlock(&umem->umem_mutex);
	return fails;
}

/* Called once before the lists of a child are charged; and the result of charging. */
static void (*before_charge)(void *arg);
static int charge_fails;

static int hooked_charge(struct ib_umem_odp *umem)
{
	void (*hook)(void *arg) = before_charge;
	int fails = charge_fails;

	before_charge = NULL;
	charge_fails = 0;
	if (hook)
		hook(before_map_arg);
	return fails ?: pinion_odp_charge_lists(umem);
}

#define pinion_odp_look_up hooked_look_up
#define pinion_odp_charge_lists hooked_charge

#include "../kernel/mem/key.h"

/* How often an invalidation waited for readers of the gate. */
static atomic_t waits;

static void counted_sync(struct pinion_gate *gate)
{
	atomic_inc(&waits);
	pinion_gate_sync(gate);
}

#define pinion_gate_sync counted_sync

#include "../kernel/dev/parent.c"
#include "../kernel/mem/dwell.c"
#include "../kernel/mem/odp.c"
#include "../kernel/mem/odp_advise.c"
#include "../kernel/mem/odp_children.c"
#include "../kernel/mem/odp_region.c"
#include "../kernel/mem/odp_watch.c"
#include "../kernel/mem/pager.c"
#include "keys.h"
#include "random.h"

#define PAGES	8
#define OFFSET	100
#define CHILD	((unsigned long)BIT_ULL(PINION_CHILD_SHIFT))

/* A mapping with an on-demand region in its middle. */
struct odp_test {
	struct ib_device ibdev;
	struct pinion_odp *odp;
	struct pinion_key *key;
	unsigned long map, length;
};

/* The test that is running. */
static struct odp_test *running;

static void odp_test_exit(struct kunit *test)
{
	struct odp_test *t = running;

	before_map = NULL;
	map_fails = 0;
	before_charge = NULL;
	charge_fails = 0;
	running = NULL;
	if (t && t->key) {
		pinion_key_kill(t->key);
		pinion_pager_destroy(&t->odp->pager);
	}
	if (t && !IS_ERR_OR_NULL(t->ibdev.dma_device))
		pinion_parent_destroy(t->ibdev.dma_device);
	keys_test_exit(test);
}

/* MAP_STACK keeps khugepaged from invalidating the pages. */
static unsigned long map_anew(unsigned long at, unsigned long length)
{
	return vm_mmap(NULL, at, length, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | (at ? MAP_FIXED : 0), 0);
}

static struct odp_test *start(struct kunit *test, unsigned long length)
{
	struct odp_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	running = t;
	KUNIT_ASSERT_EQ(test, kunit_attach_mm(), 0);
	t->ibdev.dma_device = pinion_parent_create("pinion-kunit", false);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->ibdev.dma_device));
	t->length = length;
	t->map = map_anew(0, length);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(t->map));
	return t;
}

static void put_under_key(struct kunit *test, struct odp_test *t, u64 base, u64 length)
{
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->odp));
	t->key = new_region(test, base, length, ALL_RIGHTS);
	t->key->pager = &t->odp->pager;
	pinion_pager_attach(&t->odp->pager, t->key);
}

/* All in one span. */
static struct odp_test *start_explicit(struct kunit *test)
{
	struct odp_test *t = start(test, CHILD + PAGES * PAGE_SIZE);
	u64 length = PAGES * PAGE_SIZE - OFFSET - 1;

	t->map = ALIGN(t->map, CHILD);
	t->length = PAGES * PAGE_SIZE;
	t->odp = pinion_odp_create(&t->ibdev, t->map + OFFSET, length, IB_ACCESS_ON_DEMAND);
	put_under_key(test, t, t->map + OFFSET, length);
	return t;
}

static struct odp_test *start_implicit(struct kunit *test, unsigned long length)
{
	struct odp_test *t = start(test, length);

	t->odp = pinion_odp_create(&t->ibdev, 0, U64_MAX, IB_ACCESS_ON_DEMAND);
	put_under_key(test, t, 0, U64_MAX);
	return t;
}

/* Offset in the region of offset @at in the mapping. */
static u64 offset_of(const struct odp_test *t, u64 at)
{
	return t->map + at - t->key->base;
}

static int bring_in(struct odp_test *t, u64 at, u64 length, bool write)
{
	return pinion_pager_fault(&t->odp->pager, offset_of(t, at), length, write);
}

/* Looks up @at as a mover does, to write or only to read. */
static u64 run_at(struct kunit *test, struct odp_test *t, u64 at, u64 want, bool write,
		  void **kva)
{
	struct pinion_pass pass;
	u64 run;

	KUNIT_ASSERT_EQ(test, try_enter(test, t->key->value, write ? IB_ACCESS_LOCAL_WRITE : 0,
					t->map + at, want, &pass), 0);
	run = pinion_pass_run(&pass, 0, want, kva);
	pinion_key_leave(&pass);
	return run;
}

static bool there(struct kunit *test, struct odp_test *t, u64 at, bool write)
{
	void *kva;

	return run_at(test, t, at, 1, write, &kva);
}

/* Writes a number through the process and expects it where a mover reads. */
static void expect_same(struct kunit *test, struct odp_test *t, u64 at)
{
	u64 value = get_random_u64();
	void *kva;

	KUNIT_ASSERT_EQ(test, run_at(test, t, at, sizeof(value), true, &kva), sizeof(value));
	KUNIT_ASSERT_EQ(test, put_user(value, (u64 __user *)(t->map + at)), 0);
	KUNIT_EXPECT_EQ(test, *(u64 *)kva, value);
}

static u64 counted(const struct odp_test *t, enum pinion_pager_count which)
{
	return atomic64_read(&t->odp->pager.counts[which]);
}

static u64 children(struct odp_test *t)
{
	flush_work(&t->odp->reap);
	return atomic_long_read(&t->odp->num_children);
}

/* The child of span @index, which must exist. */
static struct pinion_child *child_of(struct kunit *test, struct odp_test *t, unsigned long index)
{
	struct pinion_child *child = xa_load(&t->odp->children, index);

	KUNIT_ASSERT_NOT_NULL(test, child);
	return child;
}

/* ----------------------------------------------------------------- explicit */

static void a_fault_brings_what_is_missing(struct kunit *test)
{
	struct odp_test *t = start_explicit(test);

	KUNIT_EXPECT_FALSE(test, there(test, t, OFFSET, false));
	KUNIT_EXPECT_EQ(test, bring_in(t, OFFSET, 3 * PAGE_SIZE, true), 0);
	/* The range ends in the fourth page. */
	expect_same(test, t, OFFSET + 4);
	expect_same(test, t, 3 * PAGE_SIZE + 8);
	KUNIT_EXPECT_FALSE(test, there(test, t, 4 * PAGE_SIZE, false));
	KUNIT_EXPECT_EQ(test, counted(t, PINION_PAGER_FAULTS), 4);
	KUNIT_EXPECT_EQ(test, counted(t, PINION_PAGER_FAULTS_HANDLED), 1);
	/* All pages are present now. */
	KUNIT_EXPECT_EQ(test, bring_in(t, OFFSET, 3 * PAGE_SIZE, true), 0);
	KUNIT_EXPECT_EQ(test, counted(t, PINION_PAGER_FAULTS), 4);
}

static void reading_gives_no_right_to_write(struct kunit *test)
{
	struct odp_test *t = start_explicit(test);

	KUNIT_EXPECT_EQ(test, bring_in(t, PAGE_SIZE, 1, false), 0);
	KUNIT_EXPECT_TRUE(test, there(test, t, PAGE_SIZE, false));
	KUNIT_EXPECT_FALSE(test, there(test, t, PAGE_SIZE, true));
	KUNIT_EXPECT_EQ(test, bring_in(t, PAGE_SIZE, 1, true), 0);
	expect_same(test, t, PAGE_SIZE);
}

static void a_page_that_becomes_writable_counts_once(struct kunit *test)
{
	struct odp_test *t = start_explicit(test);
	struct pinion_child *child;

	KUNIT_ASSERT_EQ(test, bring_in(t, PAGE_SIZE, 1, true), 0);
	child = child_of(test, t, 0);
	/* As if the page had been read-only for the process until now. */
	child->table[1] &= ~PINION_ODP_WRITABLE;
	KUNIT_EXPECT_FALSE(test, there(test, t, PAGE_SIZE, true));
	KUNIT_EXPECT_EQ(test, bring_in(t, PAGE_SIZE, 1, true), 0);
	expect_same(test, t, PAGE_SIZE);
	vm_munmap(t->map, t->length);
	KUNIT_EXPECT_EQ(test, children(t), 0);
}

static void what_the_process_gives_up_goes(struct kunit *test)
{
	struct odp_test *t = start_explicit(test);

	KUNIT_ASSERT_EQ(test, bring_in(t, OFFSET, PAGES * PAGE_SIZE - OFFSET - 1, true), 0);
	vm_munmap(t->map + 2 * PAGE_SIZE, 3 * PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, there(test, t, 2 * PAGE_SIZE - 1, true));
	KUNIT_EXPECT_FALSE(test, there(test, t, 2 * PAGE_SIZE, false));
	KUNIT_EXPECT_FALSE(test, there(test, t, 5 * PAGE_SIZE - 1, false));
	KUNIT_EXPECT_TRUE(test, there(test, t, 5 * PAGE_SIZE, true));
	KUNIT_EXPECT_EQ(test, child_of(test, t, 0)->present, PAGES - 3);
	KUNIT_EXPECT_EQ(test, counted(t, PINION_PAGER_INVALIDATIONS), 3);
	KUNIT_EXPECT_EQ(test, counted(t, PINION_PAGER_INVALIDATIONS_HANDLED), 1);
	KUNIT_ASSERT_EQ(test, map_anew(t->map + 2 * PAGE_SIZE, 3 * PAGE_SIZE),
			t->map + 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, bring_in(t, 3 * PAGE_SIZE, 1, true), 0);
	expect_same(test, t, 3 * PAGE_SIZE);
}

static void a_hole_is_an_error_and_hides_nothing(struct kunit *test)
{
	struct odp_test *t = start_explicit(test);

	vm_munmap(t->map + 2 * PAGE_SIZE, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, bring_in(t, 2 * PAGE_SIZE, 1, false), -EFAULT);
	/* The page before the hole is fetched all the same. */
	KUNIT_EXPECT_EQ(test, bring_in(t, PAGE_SIZE, 3 * PAGE_SIZE, true), 0);
	KUNIT_EXPECT_TRUE(test, there(test, t, PAGE_SIZE, true));
	KUNIT_EXPECT_EQ(test, child_of(test, t, 0)->present, 1);
}

static void a_look_up_that_fails_leaves_nothing(struct kunit *test)
{
	struct odp_test *t = start_explicit(test);

	map_fails = -EAGAIN;
	KUNIT_EXPECT_EQ(test, bring_in(t, 2 * PAGE_SIZE, 1, true), -EAGAIN);
	KUNIT_EXPECT_FALSE(test, there(test, t, 2 * PAGE_SIZE, false));
	KUNIT_EXPECT_EQ(test, children(t), 0);
	/* The next look-up succeeds. */
	vm_munmap(t->map + 2 * PAGE_SIZE, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, map_anew(t->map + 2 * PAGE_SIZE, PAGE_SIZE),
			t->map + 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, bring_in(t, 2 * PAGE_SIZE, 1, true), 0);
	expect_same(test, t, 2 * PAGE_SIZE);
}

#ifdef PINION_HAVE_HMM_DMA_MAP
/* Leaves the entry as a look-up does that races with an invalidation. */
static void put_mark_back(struct kunit *test, struct odp_test *t, size_t index)
{
	child_of(test, t, 0)->umem->map.pfn_list[index] |= HMM_PFN_VALID | HMM_PFN_DMA_MAPPED;
}

/*
 * The core's count of mapped pages equals the present ones. The lock keeps others from changing
 * them.
 */
static void expect_mapped_is_present(struct kunit *test, struct odp_test *t)
{
	struct pinion_child *child = child_of(test, t, 0);
	u64 present;
	int mapped;

	mutex_lock(&child->umem->umem_mutex);
	mapped = child->umem->npages;
	present = child->present;
	mutex_unlock(&child->umem->umem_mutex);
	KUNIT_EXPECT_EQ(test, mapped, present);
}

static void a_mark_put_back_is_no_mapping(struct kunit *test)
{
	struct odp_test *t = start_explicit(test);

	KUNIT_ASSERT_EQ(test, bring_in(t, PAGE_SIZE, 3 * PAGE_SIZE, true), 0);
	vm_munmap(t->map + PAGE_SIZE, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, map_anew(t->map + PAGE_SIZE, PAGE_SIZE), t->map + PAGE_SIZE);
	expect_mapped_is_present(test, t);

	/* An invalidation comes before that look-up has ended. */
	put_mark_back(test, t, 1);
	vm_munmap(t->map + PAGE_SIZE, 2 * PAGE_SIZE);
	expect_mapped_is_present(test, t);

	/* The look-up fails. */
	KUNIT_ASSERT_EQ(test, map_anew(t->map + PAGE_SIZE, 2 * PAGE_SIZE), t->map + PAGE_SIZE);
	put_mark_back(test, t, 1);
	map_fails = -EAGAIN;
	KUNIT_EXPECT_EQ(test, bring_in(t, PAGE_SIZE, 1, true), -EAGAIN);
	expect_mapped_is_present(test, t);

	/* The look-up succeeds. */
	put_mark_back(test, t, 1);
	KUNIT_EXPECT_EQ(test, bring_in(t, PAGE_SIZE, 1, true), 0);
	expect_mapped_is_present(test, t);
}
#endif

static void exchange_pages(void *arg)
{
	struct odp_test *t = arg;

	vm_munmap(t->map + PAGE_SIZE, 2 * PAGE_SIZE);
	/* If mapping fails, the look-up must fail, and so the test. */
	if (IS_ERR_VALUE(map_anew(t->map + PAGE_SIZE, 2 * PAGE_SIZE)))
		map_fails = -ENOMEM;
}

static void pages_exchanged_meanwhile_are_the_new_ones(struct kunit *test)
{
	struct odp_test *t = start_explicit(test);

	KUNIT_ASSERT_EQ(test, bring_in(t, PAGE_SIZE, 1, true), 0);
	before_map = exchange_pages;
	before_map_arg = t;
	KUNIT_ASSERT_EQ(test, bring_in(t, 2 * PAGE_SIZE, 1, true), 0);
	KUNIT_EXPECT_FALSE(test, there(test, t, PAGE_SIZE, false));
	expect_same(test, t, 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, child_of(test, t, 0)->present, 1);
}

/* The page that a writing mover uses; it must not be dirty yet. Takes a reference. */
static struct page *clean_page(struct kunit *test, struct odp_test *t, u64 at)
{
	struct page *page;
	void *kva;

	KUNIT_ASSERT_NE(test, run_at(test, t, at, 1, true, &kva), 0);
	page = virt_to_page(kva);
	KUNIT_ASSERT_FALSE(test, PageDirty(page));
	get_page(page);
	return page;
}

static void what_may_be_written_is_given_back_dirty(struct kunit *test)
{
	struct odp_test *t = start_explicit(test);
	struct page *lost, *kept;

	/* At first only for reading: the zero page. */
	KUNIT_ASSERT_EQ(test, bring_in(t, PAGE_SIZE, 1, false), 0);
	KUNIT_ASSERT_EQ(test, bring_in(t, PAGE_SIZE, 2 * PAGE_SIZE, true), 0);
	lost = clean_page(test, t, PAGE_SIZE);
	kept = clean_page(test, t, 2 * PAGE_SIZE);
	vm_munmap(t->map + PAGE_SIZE, PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, PageDirty(lost));
	KUNIT_EXPECT_FALSE(test, PageDirty(kept));
	pinion_key_kill(t->key);
	t->key = NULL;
	pinion_pager_destroy(&t->odp->pager);
	KUNIT_EXPECT_TRUE(test, PageDirty(kept));
	put_page(lost);
	put_page(kept);
}

/* ----------------------------------------------------------------- implicit */

/* Offset in the mapping of the first child that is completely inside. */
static u64 border(const struct odp_test *t)
{
	return ALIGN(t->map, CHILD) - t->map;
}

static void children_come_where_it_is_touched(struct kunit *test)
{
	struct odp_test *t = start_implicit(test, 4 * CHILD);
	u64 at = border(t);
	void *kva;

	KUNIT_EXPECT_EQ(test, children(t), 0);
	KUNIT_EXPECT_FALSE(test, there(test, t, at, false));
	KUNIT_ASSERT_EQ(test, bring_in(t, at + CHILD - PAGE_SIZE, 2 * PAGE_SIZE, true), 0);
	KUNIT_EXPECT_EQ(test, children(t), 1);
	KUNIT_ASSERT_EQ(test, bring_in(t, at + CHILD, PAGE_SIZE, true), 0);
	KUNIT_EXPECT_EQ(test, children(t), 2);
	/* A run ends at the border of a child. */
	KUNIT_EXPECT_EQ(test, run_at(test, t, at + CHILD - 5, 100, true, &kva), 5);
	expect_same(test, t, at + CHILD - 8);
	expect_same(test, t, at + CHILD);
	/* Faults in children count for the region. */
	KUNIT_EXPECT_EQ(test, counted(t, PINION_PAGER_FAULTS), 2);
}

static void children_go_when_they_are_empty(struct kunit *test)
{
	struct odp_test *t = start_implicit(test, 4 * CHILD);
	u64 at = border(t), left[3], pages = 0, events = 0;
	int tries;

	/* Compaction may invalidate pages meanwhile: then try again. */
	for (tries = 0; tries < 5 && events != 3; tries++) {
		pages = counted(t, PINION_PAGER_INVALIDATIONS);
		events = counted(t, PINION_PAGER_INVALIDATIONS_HANDLED);
		KUNIT_ASSERT_EQ(test, map_anew(t->map, t->length), t->map);
		KUNIT_ASSERT_EQ(test, bring_in(t, at, PAGE_SIZE, true), 0);
		KUNIT_ASSERT_EQ(test, bring_in(t, at + PAGE_SIZE, PAGE_SIZE, true), 0);
		KUNIT_ASSERT_EQ(test, bring_in(t, at + CHILD, PAGE_SIZE, true), 0);
		vm_munmap(t->map + at, PAGE_SIZE);
		left[0] = children(t);
		vm_munmap(t->map + at + PAGE_SIZE, PAGE_SIZE);
		left[1] = children(t);
		vm_munmap(t->map, t->length);
		left[2] = children(t);
		pages = counted(t, PINION_PAGER_INVALIDATIONS) - pages;
		events = counted(t, PINION_PAGER_INVALIDATIONS_HANDLED) - events;
	}
	KUNIT_EXPECT_EQ(test, events, 3);
	KUNIT_EXPECT_EQ(test, pages, 3);
	KUNIT_EXPECT_EQ(test, left[0], 2);
	KUNIT_EXPECT_EQ(test, left[1], 1);
	KUNIT_EXPECT_EQ(test, left[2], 0);
}

static void a_hole_has_no_child(struct kunit *test)
{
	struct odp_test *t = start_implicit(test, 4 * CHILD);
	u64 at = border(t);

	vm_munmap(t->map, t->length);
	KUNIT_EXPECT_EQ(test, bring_in(t, at, PAGE_SIZE, true), -EFAULT);
	KUNIT_EXPECT_EQ(test, children(t), 0);
	KUNIT_EXPECT_EQ(test, pinion_odp_prefetch(t->odp, t->map + at, 2 * CHILD, false,
						  PINION_BRING_PRESENT), 0);
	KUNIT_EXPECT_EQ(test, children(t), 0);
	/* Addresses that cannot be mapped create no child, either. */
	KUNIT_EXPECT_EQ(test, pinion_pager_fault(&t->odp->pager, U64_MAX - 1, 1, false), -EFAULT);
	KUNIT_EXPECT_EQ(test, pinion_pager_fault(&t->odp->pager, TASK_SIZE, 1, false), -EFAULT);
	KUNIT_EXPECT_EQ(test, children(t), 0);
}

static void empty_it(void *arg)
{
	struct odp_test *t = arg;

	vm_munmap(t->map + border(t), PAGE_SIZE);
	/* Wait until the work item that reaps empty children has run. */
	flush_work(&t->odp->reap);
}

static void a_child_that_is_being_filled_stays(struct kunit *test)
{
	struct odp_test *t = start_implicit(test, 4 * CHILD);
	u64 at = border(t);

	KUNIT_ASSERT_EQ(test, bring_in(t, at, PAGE_SIZE, true), 0);
	before_map = empty_it;
	before_map_arg = t;
	KUNIT_ASSERT_EQ(test, bring_in(t, at + PAGE_SIZE, PAGE_SIZE, true), 0);
	KUNIT_EXPECT_EQ(test, children(t), 1);
	KUNIT_EXPECT_FALSE(test, there(test, t, at, false));
	expect_same(test, t, at + PAGE_SIZE);
}

static void a_child_emptied_while_in_use_goes_afterwards(struct kunit *test)
{
	struct odp_test *t = start_implicit(test, 4 * CHILD);
	u64 at = border(t);

	KUNIT_ASSERT_EQ(test, bring_in(t, at, PAGE_SIZE, true), 0);
	before_map = empty_it;
	before_map_arg = t;
	map_fails = -EAGAIN;
	KUNIT_EXPECT_EQ(test, bring_in(t, at + PAGE_SIZE, PAGE_SIZE, true), -EAGAIN);
	KUNIT_EXPECT_EQ(test, children(t), 0);
}

static void prefetch_goes_through_children(struct kunit *test)
{
	struct odp_test *t = start_implicit(test, 4 * CHILD);
	u64 at = border(t) + CHILD - 2 * PAGE_SIZE;

	KUNIT_EXPECT_EQ(test, pinion_odp_prefetch(t->odp, t->map + at, 4 * PAGE_SIZE, true,
						  PINION_BRING_OWN), 0);
	KUNIT_EXPECT_EQ(test, children(t), 2);
	KUNIT_EXPECT_EQ(test, counted(t, PINION_PAGER_PREFETCHES), 4);
	expect_same(test, t, at);
	expect_same(test, t, at + 3 * PAGE_SIZE);
	/* The region is being destroyed: prefetch stops, also for pages that are present. */
	WRITE_ONCE(t->odp->pager.ending, true);
	KUNIT_EXPECT_EQ(test, pinion_odp_prefetch(t->odp, t->map + at, 4 * PAGE_SIZE, true,
						  PINION_BRING_ALL), -EINTR);
	KUNIT_EXPECT_EQ(test, pinion_odp_prefetch(t->odp, t->map + at, 5 * PAGE_SIZE, true,
						  PINION_BRING_ALL), -EINTR);
}

/* ------------------------------------------------------- regions of any size */

static u32 runs_wrongly(struct pinion_child *child, u64 at, u64 want, bool write)
{
	u64 flags = PINION_ODP_PRESENT | (write ? PINION_ODP_WRITABLE : 0);
	u64 size = BIT_ULL(child->odp->shift), run, is, where = 0;
	u64 entry, byte;
	void *kva = NULL;

	for (run = 0; run < want && at + run < child->num_blocks * size; run++) {
		entry = child->table[(at + run) / size];
		byte = (entry & ~3) + (at + run) % size;
		if ((entry & flags) != flags || (run && byte != where + run))
			break;
		where = run ? where : byte;
	}
	is = pinion_child_run(child, child->start + at, want, write, &kva);
	return is != run || (is && kva != pinion_dma_to_kva(where));
}

static void runs_are_of_bytes_that_are_there(struct kunit *test)
{
	static const u64 flags[] = { 0, 0, PINION_ODP_PRESENT,
				     PINION_ODP_PRESENT | PINION_ODP_WRITABLE };
	enum { BLOCKS = 40, SHIFT = 4, BYTES = BLOCKS << SHIFT };
	u64 table[BLOCKS], address = 0x1000, at;
	struct pinion_odp odp = { .shift = SHIFT };
	struct pinion_child child = { .odp = &odp, .start = 0x770, .num_blocks = BLOCKS,
				      .table = table };
	struct rnd_state rnd;
	u32 wrong = 0, i, w;

	random_begin(&rnd, 1);
	for (i = 0; i < BLOCKS; i++) {
		address += random_below(&rnd, 4) ? BIT(SHIFT) : 0x200;
		table[i] = flags[random_below(&rnd, 8) ? 3 : random_below(&rnd, 4)];
		table[i] |= table[i] ? address : 0;
	}
	for (at = 0; at < BYTES; at++) {
		for (w = 0; w < 2; w++) {
			wrong += runs_wrongly(&child, at, 1, w);
			wrong += runs_wrongly(&child, at, BYTES, w);
			wrong += runs_wrongly(&child, at, 1 + random_below(&rnd, BYTES), w);
		}
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* A region of @length bytes from @from in the mapping. */
static struct odp_test *start_at(struct kunit *test, unsigned long map_length, u64 from,
				 u64 length)
{
	struct odp_test *t = start(test, map_length + CHILD);

	t->map = ALIGN(t->map, CHILD);
	t->length = map_length;
	t->odp = pinion_odp_create(&t->ibdev, t->map + from, length, IB_ACCESS_ON_DEMAND);
	put_under_key(test, t, t->map + from, length);
	return t;
}

static void children_end_where_their_region_does(struct kunit *test)
{
	const u64 from = CHILD - PAGE_SIZE - 1, length = CHILD + PAGE_SIZE + 2;
	struct odp_test *t = start_at(test, 3 * CHILD, from, length);
	struct pinion_child *child;
	void *kva;

	KUNIT_ASSERT_EQ(test, bring_in(t, from, 1, true), 0);
	KUNIT_ASSERT_EQ(test, bring_in(t, CHILD, 1, true), 0);
	KUNIT_ASSERT_EQ(test, bring_in(t, 2 * CHILD, 1, true), 0);
	KUNIT_EXPECT_EQ(test, children(t), 3);
	child = child_of(test, t, 0);
	KUNIT_EXPECT_EQ(test, child->start, t->map + CHILD - 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, child->num_blocks, 2);
	child = child_of(test, t, 1);
	KUNIT_EXPECT_EQ(test, child->start, t->map + CHILD);
	KUNIT_EXPECT_EQ(test, child->num_blocks, CHILD / PAGE_SIZE);
	child = child_of(test, t, 2);
	KUNIT_EXPECT_EQ(test, child->start, t->map + 2 * CHILD);
	KUNIT_EXPECT_EQ(test, child->num_blocks, 1);
	expect_same(test, t, CHILD);
	KUNIT_EXPECT_EQ(test, run_at(test, t, from, 100, true, &kva), 1);
	KUNIT_EXPECT_EQ(test, run_at(test, t, 2 * CHILD, 1, true, &kva), 1);
	/* A range across two spans takes two faults. */
	KUNIT_ASSERT_EQ(test, bring_in(t, CHILD - 1, 2, true), 0);
	KUNIT_EXPECT_TRUE(test, there(test, t, CHILD - 1, true));
}

static void a_long_region_costs_what_is_in_it(struct kunit *test)
{
	const u64 length = BIT_ULL(62);
	struct odp_test *t = start_at(test, 3 * CHILD, OFFSET, length);
	u64 events;

	KUNIT_EXPECT_EQ(test, children(t), 0);
	KUNIT_ASSERT_EQ(test, bring_in(t, OFFSET, 1, true), 0);
	KUNIT_ASSERT_EQ(test, bring_in(t, 2 * CHILD, 1, true), 0);
	KUNIT_EXPECT_EQ(test, bring_in(t, length, 1, true), -EFAULT);
	KUNIT_EXPECT_EQ(test, children(t), 2);
	events = counted(t, PINION_PAGER_INVALIDATIONS_HANDLED);
	vm_munmap(t->map, t->length);
	KUNIT_EXPECT_EQ(test, counted(t, PINION_PAGER_INVALIDATIONS_HANDLED) - events, 2);
	KUNIT_EXPECT_EQ(test, children(t), 0);
	/* The end of the last block must not wrap. */
	KUNIT_EXPECT_EQ(test, PTR_ERR(pinion_odp_create(&t->ibdev, -PAGE_SIZE, PAGE_SIZE - 1,
							IB_ACCESS_ON_DEMAND)), -EOVERFLOW);
	KUNIT_EXPECT_EQ(test, PTR_ERR(pinion_odp_create(&t->ibdev, 2, U64_MAX,
							IB_ACCESS_ON_DEMAND)), -EOVERFLOW);
}

static void those_inside_are_waited_for_when_pages_go(struct kunit *test)
{
	struct odp_test *t = start_explicit(test);
	int before, pages;

	KUNIT_ASSERT_EQ(test, bring_in(t, PAGE_SIZE, 1, true), 0);
	KUNIT_ASSERT_EQ(test, bring_in(t, 6 * PAGE_SIZE, 1, true), 0);
	before = atomic_read(&waits);
	pages = counted(t, PINION_PAGER_INVALIDATIONS);
	/* No page of this range is present. */
	vm_munmap(t->map + 2 * PAGE_SIZE, 3 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, atomic_read(&waits) - before, 0);
	/* One wait for both pages. */
	vm_munmap(t->map, t->length);
	KUNIT_EXPECT_EQ(test, atomic_read(&waits) - before, 1);
	KUNIT_EXPECT_EQ(test, counted(t, PINION_PAGER_INVALIDATIONS) - pages, 2);
	/* Invalidating an empty region waits for nothing, and a hole makes no child. */
	KUNIT_EXPECT_EQ(test, children(t), 0);
	KUNIT_EXPECT_EQ(test, bring_in(t, PAGE_SIZE, 1, true), -EFAULT);
	KUNIT_EXPECT_EQ(test, children(t), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&waits) - before, 1);
}

static void touch_the_same_child(void *arg)
{
	struct odp_test *t = arg;

	/* A failure shows below, by the number of children. */
	bring_in(t, PAGE_SIZE, 1, true);
}

static void two_first_faults_share_a_child(struct kunit *test)
{
	struct odp_test *t = start_explicit(test);

	before_charge = touch_the_same_child;
	before_map_arg = t;
	KUNIT_ASSERT_EQ(test, bring_in(t, 3 * PAGE_SIZE, 1, true), 0);
	KUNIT_EXPECT_EQ(test, children(t), 1);
	KUNIT_EXPECT_EQ(test, child_of(test, t, 0)->users, 0);
	KUNIT_EXPECT_EQ(test, child_of(test, t, 0)->present, 2);
	expect_same(test, t, PAGE_SIZE);
	expect_same(test, t, 3 * PAGE_SIZE);
}

static void a_child_that_cannot_be_charged_is_none(struct kunit *test)
{
	struct odp_test *t = start_explicit(test);

	charge_fails = -ENOMEM;
	KUNIT_EXPECT_EQ(test, bring_in(t, PAGE_SIZE, 1, true), -ENOMEM);
	KUNIT_EXPECT_EQ(test, children(t), 0);
	KUNIT_EXPECT_EQ(test, bring_in(t, PAGE_SIZE, 1, true), 0);
	expect_same(test, t, PAGE_SIZE);
}

/* ------------------------------------------------------------------- advice */

/* A look-up that blocks, as in a file system that does not respond. */
static struct slow {
	struct completion begun, over;
} slow;

static void be_slow(void *arg)
{
	complete(&slow.begun);
	wait_for_completion(&slow.over);
}

/*
 * Hints for a page each, in the regions of @t, of @other, and of @t again; just one if they are
 * the same.
 */
static int hint(struct kunit *test, struct odp_test *t, struct odp_test *other, u64 first,
		u64 last)
{
	struct keys_test *keys = test->priv;
	struct ib_sge sges[] = {
		{ .addr = t->map + first, .length = 1, .lkey = t->key->value },
		{ .addr = t->map + first, .length = 1, .lkey = other->key->value },
		{ .addr = t->map + last, .length = 1, .lkey = t->key->value },
	};

	return pinion_advise_mr(&keys->keys, &keys->keys.hints, &keys->pd,
				IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, sges,
				t == other ? 1 : ARRAY_SIZE(sges));
}

static void slow_hints_keep_no_other_region(struct kunit *test)
{
	struct odp_test *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	struct odp_test *t = start_explicit(test);
	struct keys_test *keys = test->priv;
	bool kept;

	KUNIT_ASSERT_NOT_NULL(test, other);
	other->map = t->map;
	other->odp = pinion_odp_create(&t->ibdev, t->map, t->length, IB_ACCESS_ON_DEMAND);
	put_under_key(test, other, t->map, t->length);
	init_completion(&slow.begun);
	init_completion(&slow.over);
	before_map = be_slow;
	KUNIT_EXPECT_EQ(test, hint(test, t, t, PAGE_SIZE, 0), 0);
	wait_for_completion(&slow.begun);
	KUNIT_EXPECT_EQ(test, hint(test, t, other, 2 * PAGE_SIZE, 4 * PAGE_SIZE), 0);
	kept = refcount_read(&other->odp->pager.users) > 1;
	KUNIT_EXPECT_FALSE(test, kept);
	/* Otherwise destroying the region would wait for ever. */
	if (kept)
		complete(&slow.over);
	pinion_key_kill(other->key);
	pinion_pager_destroy(&other->odp->pager);
	if (!kept)
		complete(&slow.over);
	flush_workqueue(keys->keys.hints.sleepers->wq);
	/* The hint for the destroyed region was skipped. */
	KUNIT_EXPECT_TRUE(test, there(test, t, PAGE_SIZE, true));
	KUNIT_EXPECT_TRUE(test, there(test, t, 2 * PAGE_SIZE, true));
	KUNIT_EXPECT_TRUE(test, there(test, t, 4 * PAGE_SIZE, true));
	KUNIT_EXPECT_EQ(test, counted(t, PINION_PAGER_PREFETCHES), 3);
}

/*
 * A hint may be executed after its region and domain were destroyed. A new region with the same
 * key number and address must not be used.
 */
static void a_number_that_comes_again_is_of_another(struct kunit *test)
{
	struct odp_test *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	struct odp_test *t = start_explicit(test);
	struct keys_test *keys = test->priv;
	struct prefetches *p = kvzalloc(struct_size(p, each, 1), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_ASSERT_NOT_NULL(test, p);
	refcount_set(&p->ref, 1);
	pinion_keys_get(&keys->keys);
	p->keys = &keys->keys;
	p->pd = &keys->pd;
	p->write = true;
	p->num = 1;
	p->each[0].range = (struct ib_sge){ t->map + PAGE_SIZE, 1, t->key->value };
	KUNIT_EXPECT_EQ(test, advise_check_all(p), 0);
	other->map = t->map;
	other->odp = pinion_odp_create(&t->ibdev, t->map, t->length, IB_ACCESS_ON_DEMAND);
	put_under_key(test, other, t->map, t->length);
	/* As if the new region had the number in the hint. */
	p->each[0].range.lkey = other->key->value;
	KUNIT_EXPECT_EQ(test, advise_bring(p, &p->each[0], PINION_BRING_ALL), -ENOENT);
	KUNIT_EXPECT_EQ(test, counted(other, PINION_PAGER_PREFETCHES), 0);
	p->each[0].range.lkey = t->key->value;
	KUNIT_EXPECT_EQ(test, advise_bring(p, &p->each[0], PINION_BRING_ALL), 0);
	KUNIT_EXPECT_EQ(test, counted(t, PINION_PAGER_PREFETCHES), 1);
	prefetches_put(p);
	pinion_key_kill(other->key);
	pinion_pager_destroy(&other->odp->pager);
}

static void a_slow_page_holds_up_its_span_only(struct kunit *test)
{
	struct odp_test *t = start_at(test, 2 * CHILD, 0, 2 * CHILD);
	struct keys_test *keys = test->priv;

	init_completion(&slow.begun);
	init_completion(&slow.over);
	before_map = be_slow;
	KUNIT_EXPECT_EQ(test, hint(test, t, t, PAGE_SIZE, 0), 0);
	wait_for_completion(&slow.begun);
	KUNIT_EXPECT_EQ(test, bring_in(t, CHILD, 1, true), 0);
	expect_same(test, t, CHILD);
	/* Its pages can be invalidated. */
	vm_munmap(t->map + CHILD, PAGE_SIZE);
	KUNIT_EXPECT_FALSE(test, there(test, t, CHILD, false));
	complete(&slow.over);
	flush_workqueue(keys->keys.hints.sleepers->wq);
	KUNIT_EXPECT_TRUE(test, there(test, t, PAGE_SIZE, true));
}

/* A hint of another user, which is executed although the first user's are blocked. */
static void ask_as_another_user(struct kunit *test, struct pinion_hints *hints,
				struct odp_test *t)
{
	struct ib_sge sge = { .addr = t->key->base, .length = 1, .lkey = t->key->value };
	struct keys_test *keys = test->priv;

	KUNIT_EXPECT_EQ(test, pinion_advise_mr(&keys->keys, hints, &keys->pd,
					       IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0,
					       &sge, 1), 0);
	flush_workqueue(hints->sleepers->wq);
	KUNIT_EXPECT_TRUE(test, there(test, t, t->key->base - t->map, true));
}

static void dead_memory_stops_its_users_hints_alone(struct kunit *test)
{
	struct odp_test *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	struct odp_test *t = start_explicit(test);
	struct keys_test *keys = test->priv;
	struct pinion_hints hints;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, other);
	pinion_hints_init(&hints, INVALID_UID);
	other->map = t->map;
	other->odp = pinion_odp_create(&t->ibdev, t->map, t->length, IB_ACCESS_ON_DEMAND);
	put_under_key(test, other, t->map, t->length);
	init_completion(&slow.begun);
	init_completion(&slow.over);
	before_map = be_slow;
	for (i = 0; i < PINION_HINTS_WAITING + 500; i++)
		KUNIT_EXPECT_EQ(test, hint(test, t, t, PAGE_SIZE, 0), 0);
	wait_for_completion(&slow.begun);
	ask_as_another_user(test, &hints, other);
	/* Each hint in execution has a worker and a reference. */
	KUNIT_EXPECT_LE(test, refcount_read(&t->odp->pager.users),
			1 + PINION_HINTS_ACTIVE);
	KUNIT_EXPECT_EQ(test, atomic_read(&keys->keys.hints.sleepers->count), PINION_HINTS_WAITING);
	complete(&slow.over);
	flush_workqueue(keys->keys.hints.sleepers->wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&keys->keys.hints.sleepers->count), 0);
	pinion_hints_destroy(&hints);
	pinion_key_kill(other->key);
	pinion_pager_destroy(&other->odp->pager);
}

static void children_go_while_hints_are_slow(struct kunit *test)
{
	struct odp_test *t = start_implicit(test, 4 * CHILD);
	struct keys_test *keys = test->priv;
	u64 at = border(t);
	int i;

	KUNIT_ASSERT_EQ(test, bring_in(t, at + CHILD, PAGE_SIZE, true), 0);
	init_completion(&slow.begun);
	init_completion(&slow.over);
	workqueue_set_max_active(pinion_hints_sleepers(&keys->keys.hints)->wq, 2);
	before_map = be_slow;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, hint(test, t, t, at, 0), 0);
	wait_for_completion(&slow.begun);
	vm_munmap(t->map + at + CHILD, PAGE_SIZE);
	/* The blocked hint has a child, too. */
	KUNIT_EXPECT_EQ(test, children(t), 1);
	complete(&slow.over);
	flush_workqueue(keys->keys.hints.sleepers->wq);
	KUNIT_EXPECT_TRUE(test, there(test, t, at, true));
}

static void long_hints_let_others_have_their_turn(struct kunit *test)
{
	struct odp_test *same = kunit_kzalloc(test, sizeof(*same), GFP_KERNEL);
	struct odp_test *t = start_explicit(test);
	struct keys_test *keys = test->priv;
	unsigned int begin = num_maps;

	KUNIT_ASSERT_NOT_NULL(test, same);
	same->key = t->key;
	init_completion(&slow.begun);
	init_completion(&slow.over);
	workqueue_set_max_active(pinion_hints_sleepers(&keys->keys.hints)->wq, 1);
	before_map = be_slow;
	/* The first hint also fetches the page of the second one. */
	KUNIT_EXPECT_EQ(test, hint(test, t, same, PAGE_SIZE, 2 * PAGE_SIZE), 0);
	wait_for_completion(&slow.begun);
	KUNIT_EXPECT_EQ(test, hint(test, t, t, 4 * PAGE_SIZE, 0), 0);
	msleep(3 * TURN_MS);
	complete(&slow.over);
	/* Includes the deferred rest of the long hint. */
	drain_workqueue(keys->keys.hints.sleepers->wq);
	KUNIT_EXPECT_EQ(test, num_maps - begin, 3);
	KUNIT_EXPECT_EQ(test, maps[(begin + 1) % ARRAY_SIZE(maps)], t->map + 4 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, maps[(begin + 2) % ARRAY_SIZE(maps)], t->map + 2 * PAGE_SIZE);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_fault_brings_what_is_missing),
	KUNIT_CASE(reading_gives_no_right_to_write),
	KUNIT_CASE(a_page_that_becomes_writable_counts_once),
	KUNIT_CASE(what_the_process_gives_up_goes),
	KUNIT_CASE(a_hole_is_an_error_and_hides_nothing),
	KUNIT_CASE(a_look_up_that_fails_leaves_nothing),
#ifdef PINION_HAVE_HMM_DMA_MAP
	KUNIT_CASE(a_mark_put_back_is_no_mapping),
#endif
	KUNIT_CASE(pages_exchanged_meanwhile_are_the_new_ones),
	KUNIT_CASE(what_may_be_written_is_given_back_dirty),
	KUNIT_CASE(children_come_where_it_is_touched),
	KUNIT_CASE(children_go_when_they_are_empty),
	KUNIT_CASE(a_hole_has_no_child),
	KUNIT_CASE(a_child_that_is_being_filled_stays),
	KUNIT_CASE(a_child_emptied_while_in_use_goes_afterwards),
	KUNIT_CASE(prefetch_goes_through_children),
	KUNIT_CASE(runs_are_of_bytes_that_are_there),
	KUNIT_CASE(children_end_where_their_region_does),
	KUNIT_CASE(a_long_region_costs_what_is_in_it),
	KUNIT_CASE(those_inside_are_waited_for_when_pages_go),
	KUNIT_CASE(two_first_faults_share_a_child),
	KUNIT_CASE(a_child_that_cannot_be_charged_is_none),
	KUNIT_CASE(slow_hints_keep_no_other_region),
	KUNIT_CASE(a_number_that_comes_again_is_of_another),
	KUNIT_CASE(a_slow_page_holds_up_its_span_only),
	KUNIT_CASE(dead_memory_stops_its_users_hints_alone),
	KUNIT_CASE(children_go_while_hints_are_slow),
	KUNIT_CASE(long_hints_let_others_have_their_turn),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_odp",
	.init = keys_test_init,
	.exit = odp_test_exit,
	.test_cases = cases,
};

kunit_test_suites(&suite);
