// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The module of the unit tests. Each *_test.c includes the one source file it tests,
 * so nothing here needs pinion.ko, a device, or memory that anyone owns.
 */
#include <linux/module.h>

MODULE_DESCRIPTION("Unit tests of the pinion RDMA device");
MODULE_LICENSE("Dual BSD/GPL");
