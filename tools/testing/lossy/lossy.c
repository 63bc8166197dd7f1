// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keeps what a power failure would leave of persistent memory if the CPU's caches wrote nothing
 * back by themselves. A virtual machine has no caches to lose: all stores are in its memory at
 * once. So this module has a second range of memory, a copy of the first as it was when the module
 * was loaded. Afterwards only those bytes are copied that the kernel writes back from the caches
 * (arch_wb_cache_pmem()), or stores past them (memcpy_flushcache(), by which the driver of
 * persistent memory writes and zeroes blocks).
 *
 * Not modelled: write(2) to a file on a DAX file system (copy_user_flushcache()), whose bytes are
 * lost; a write-back that is not followed by a barrier, whose bytes are kept.
 */
#include <linux/cache.h>
#include <linux/io.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>

static unsigned long long from, to, length;

module_param(from, ullong, 0444);
MODULE_PARM_DESC(from, "physical address of the persistent memory");
module_param(to, ullong, 0444);
MODULE_PARM_DESC(to, "physical address of the copy");
module_param(length, ullong, 0444);
MODULE_PARM_DESC(length, "bytes of each");

static char *memory, *copy;

/*
 * @size bytes from @src become persistent at @dst. Called by kprobes, so it does not sleep. Two
 * processors may copy the same line, each of them what is in the memory by now.
 */
static void lossy_keep(const char *dst, const char *src, size_t size)
{
	if (dst < memory || dst >= memory + length || size > memory + length - dst)
		return;
	memcpy(copy + (dst - memory), src, size);
}

/* Whole cache lines are written back. */
static int lossy_write_back(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned long first = regs_get_kernel_argument(regs, 0);
	unsigned long end = first + regs_get_kernel_argument(regs, 1);

	first = ALIGN_DOWN(first, cache_line_size());
	end = ALIGN(end, cache_line_size());
	lossy_keep((char *)first, (char *)first, end - first);
	return 0;
}

static int lossy_store_past(struct kprobe *probe, struct pt_regs *regs)
{
	lossy_keep((char *)regs_get_kernel_argument(regs, 0),
		   (char *)regs_get_kernel_argument(regs, 1),
		   regs_get_kernel_argument(regs, 2));
	return 0;
}

static struct kprobe write_back = {
	.symbol_name = "arch_wb_cache_pmem",
	.pre_handler = lossy_write_back,
};

static struct kprobe store_past = {
	.symbol_name = "__memcpy_flushcache",
	.pre_handler = lossy_store_past,
};

static struct kprobe *probes[] = { &write_back, &store_past };

static int __init lossy_init(void)
{
	int err;

	/* The driver of persistent memory uses it by these addresses. */
	memory = __va(from);
	copy = memremap(to, length, MEMREMAP_WB);
	if (!length || !copy)
		return -EINVAL;
	memcpy(copy, memory, length);
	err = register_kprobes(probes, ARRAY_SIZE(probes));
	if (err)
		memunmap(copy);
	return err;
}

static void __exit lossy_exit(void)
{
	unregister_kprobes(probes, ARRAY_SIZE(probes));
	memunmap(copy);
}

module_init(lossy_init);
module_exit(lossy_exit);
MODULE_DESCRIPTION("Persistent memory behind caches that are lost");
MODULE_LICENSE("Dual BSD/GPL");
