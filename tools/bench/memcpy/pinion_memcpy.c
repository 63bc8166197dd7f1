// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * When loaded, measures the kernel's memcpy and writes GB/s to the log. That is the limit of a
 * transfer on the same host: of 1 MiB in one piece, and of several lengths page by page, between
 * pages that are not neighbours, as those of a program's buffer mostly are. Like the figures of
 * perftest, each is over the same bytes again and again, and is the median of several rounds.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sort.h>

#define ROUNDS		21
#define ROUND_BYTES	(64 * (u64)SZ_1M)
#define LONGEST		SZ_16M
#define PAGES		(LONGEST / PAGE_SIZE)

struct memory {
	void *from;	/* 1 MiB in one piece each */
	void *to;
	void **pages;	/* the first PAGES are sources, as many more are sinks */
};

static void memory_copy_whole(const struct memory *memory, size_t length)
{
	memcpy(memory->to, memory->from, length);
}

static void memory_copy_pages(const struct memory *memory, size_t length)
{
	size_t i;

	for (i = 0; i < length / PAGE_SIZE; i++)
		memcpy(memory->pages[PAGES + i], memory->pages[i], PAGE_SIZE);
}

static int rounds_compare(const void *a, const void *b)
{
	return *(const u64 *)a < *(const u64 *)b ? -1 : *(const u64 *)a > *(const u64 *)b;
}

static void memory_measure(const char *name, const struct memory *memory, size_t length,
			   void (*copy)(const struct memory *memory, size_t length))
{
	u64 rounds[ROUNDS], start, rate, rest, copied;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		start = ktime_get_ns();
		for (copied = 0; copied < ROUND_BYTES; copied += length) {
			copy(memory, length);
			barrier();
		}
		rounds[round] = ktime_get_ns() - start;
		cond_resched();
	}
	sort(rounds, ROUNDS, sizeof(*rounds), rounds_compare, NULL);
	/* In hundredths of a GB/s. */
	rate = div64_u64(ROUND_BYTES * 100, max(rounds[ROUNDS / 2], 1ULL));
	rest = do_div(rate, 100);
	pr_info("%s_GBs %llu.%02llu\n", name, rate, rest);
}

static void memory_free(struct memory *memory)
{
	int i;

	for (i = 0; memory->pages && i < 2 * PAGES; i++)
		free_page((unsigned long)memory->pages[i]);
	kvfree(memory->pages);
	free_pages((unsigned long)memory->from, get_order(SZ_1M));
	free_pages((unsigned long)memory->to, get_order(SZ_1M));
}

static int memory_alloc(struct memory *memory)
{
	int i;

	*memory = (struct memory){
		.from = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, get_order(SZ_1M)),
		.to = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, get_order(SZ_1M)),
		.pages = kvcalloc(2 * PAGES, sizeof(*memory->pages), GFP_KERNEL),
	};
	if (!memory->from || !memory->to || !memory->pages)
		return -ENOMEM;
	for (i = 0; i < 2 * PAGES; i++) {
		memory->pages[i] = (void *)get_zeroed_page(GFP_KERNEL);
		if (!memory->pages[i])
			return -ENOMEM;
	}
	/* Pages allocated one after the other are often neighbours. */
	for (i = 2 * PAGES - 1; i > 0; i--)
		swap(memory->pages[i], memory->pages[get_random_u32_below(i + 1)]);
	return 0;
}

static int __init pinion_memcpy_init(void)
{
	struct memory memory;
	int err;

	err = memory_alloc(&memory);
	if (!err) {
		memory_measure("memcpy_kernel", &memory, SZ_1M, memory_copy_whole);
		memory_measure("memcpy_kernel_paged_64_KiB", &memory, SZ_64K, memory_copy_pages);
		memory_measure("memcpy_kernel_paged", &memory, SZ_1M, memory_copy_pages);
		memory_measure("memcpy_kernel_paged_16_MiB", &memory, SZ_16M, memory_copy_pages);
	}
	memory_free(&memory);
	return err;
}

static void __exit pinion_memcpy_exit(void)
{
}

module_init(pinion_memcpy_init);
module_exit(pinion_memcpy_exit);
MODULE_DESCRIPTION("Measures the kernel's memcpy");
MODULE_LICENSE("Dual BSD/GPL");
