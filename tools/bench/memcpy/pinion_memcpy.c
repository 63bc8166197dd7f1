// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * When loaded, measures the kernel's memcpy of 1 MiB, as a whole and page by page, and writes
 * GB/s to the log. That is the limit of a transfer on the same host.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>

#define ROUNDS 20
#define COPIES 100

static u64 copies(char *to, const char *from, size_t step)
{
	u64 best = U64_MAX;
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		u64 start = ktime_get_ns();
		size_t at;

		for (i = 0; i < COPIES; i++) {
			for (at = 0; at < SZ_1M; at += step)
				memcpy(to + at, from + at, step);
			barrier();
		}
		best = min(best, ktime_get_ns() - start);
		cond_resched();
	}
	return best;
}

/* Hundredths of a GB/s. */
static u64 rate(u64 ns)
{
	return div64_u64((u64)SZ_1M * COPIES * 100, max(ns, 1ULL));
}

static int __init pinion_memcpy_init(void)
{
	u64 whole, paged, rest;
	char *from, *to;
	int err = -ENOMEM;

	from = (char *)__get_free_pages(GFP_KERNEL | __GFP_ZERO,
					get_order(SZ_1M));
	to = (char *)__get_free_pages(GFP_KERNEL | __GFP_ZERO,
				      get_order(SZ_1M));
	if (from && to) {
		whole = rate(copies(to, from, SZ_1M));
		paged = rate(copies(to, from, PAGE_SIZE));
		rest = do_div(whole, 100);
		pr_info("memcpy_kernel_GBs %llu.%02llu\n", whole, rest);
		rest = do_div(paged, 100);
		pr_info("memcpy_kernel_paged_GBs %llu.%02llu\n", paged, rest);
		err = 0;
	}
	free_pages((unsigned long)from, get_order(SZ_1M));
	free_pages((unsigned long)to, get_order(SZ_1M));
	return err;
}

static void __exit pinion_memcpy_exit(void)
{
}

module_init(pinion_memcpy_init);
module_exit(pinion_memcpy_exit);
MODULE_DESCRIPTION("Measures the kernel's memcpy");
MODULE_LICENSE("Dual BSD/GPL");
