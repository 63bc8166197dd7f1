/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Where in a umem a key made by a command begins, and whether it has room there. All of the
 * numbers in the command are the user's.
 */
#ifndef PINION_LOGIC_MKEY_PLACE_H
#define PINION_LOGIC_MKEY_PLACE_H

#include <linux/types.h>

struct pinion_devx_mkey;

/* Blocks of 2^shift bytes, @length bytes from @first bytes into the first of them. */
struct pinion_umem_shape {
	u64 first;
	u64 length;
	u8 shift;
};

/* False if it is in no such place; else *@offset is that of its first byte in the umem. */
bool pinion_mkey_place(const struct pinion_umem_shape *umem,
		       const struct pinion_devx_mkey *asked, u64 *offset);

#endif
