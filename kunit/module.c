// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The module of the unit tests. Each *_test.c includes the source it tests, so it needs neither
 * pinion.ko nor a device.
 */
#include <linux/module.h>

#include "../kernel/mem/sleepers.c"
#include "random.h"

unsigned int random_offset;
module_param_named(seed, random_offset, uint, 0444);
MODULE_PARM_DESC(seed, "Other random numbers than those of every run (default 0)");

/* pinion_sleepers_exit() waits for the work that tests have left. */
static int __init kunit_begin(void)
{
	return pinion_sleepers_init();
}

static void __exit kunit_end(void)
{
	pinion_sleepers_exit();
}

module_init(kunit_begin);
module_exit(kunit_end);

MODULE_DESCRIPTION("Unit tests of the pinion RDMA device");
MODULE_LICENSE("Dual BSD/GPL");
