/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * From memory that is mapped for the device to a table of it.
 */
#ifndef PINION_MEM_DESCRIBE_H
#define PINION_MEM_DESCRIBE_H

#include <linux/types.h>

/* log2 of the largest block a table has. */
#define PINION_MAX_BLOCK_SHIFT	30

struct ib_umem;
struct pinion_mtt;

/* In the largest blocks its layout allows. An ERR_PTR if there is no such table. */
struct pinion_mtt *pinion_describe(struct ib_umem *umem);

/*
 * The same in blocks of one of @sizes: -EINVAL if none of them will do, which no size
 * beyond the largest does.
 */
struct pinion_mtt *pinion_describe_in(struct ib_umem *umem, u64 sizes);

#endif
