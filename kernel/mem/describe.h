/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Makes the translation table of a umem.
 */
#ifndef PINION_MEM_DESCRIBE_H
#define PINION_MEM_DESCRIBE_H

#include <linux/types.h>

/* log2 of the largest block size. */
#define PINION_MAX_BLOCK_SHIFT	30

struct ib_umem;
struct pinion_mtt;

/* Use the largest block size that the memory's layout allows. Return: the table or an ERR_PTR. */
struct pinion_mtt *pinion_describe(struct ib_umem *umem);

/*
 * Use a block size of @sizes (a mask); sizes above PINION_MAX_BLOCK_SHIFT are ignored. -EINVAL if
 * the layout allows none of them.
 */
struct pinion_mtt *pinion_describe_in(struct ib_umem *umem, u64 sizes);

#endif
