/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The offset in a umem at which a key of a DEVX command begins. Users choose all numbers in the
 * command.
 */
#ifndef PINION_LOGIC_MKEY_PLACE_H
#define PINION_LOGIC_MKEY_PLACE_H

#include <linux/types.h>

struct pinion_devx_mkey;

/* A umem: blocks of 2^shift bytes; its @length bytes begin @first bytes into the first block. */
struct pinion_umem_shape {
	u64 first;
	u64 length;
	u8 shift;
};

/* Set *@offset to the place of the key's first byte in the umem. False: it does not fit there. */
bool pinion_mkey_place(const struct pinion_umem_shape *umem,
		       const struct pinion_devx_mkey *asked, u64 *offset);

#endif
