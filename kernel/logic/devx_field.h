/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reads and writes fields of DEVX commands: big-endian, of any width, at any bit.
 */
#ifndef PINION_LOGIC_DEVX_FIELD_H
#define PINION_LOGIC_DEVX_FIELD_H

#include <linux/kernel.h>
#include <linux/types.h>

/* The place of a field in bits. Bit 0 of the buffer is the highest bit of its first byte. */
struct pinion_devx_field {
	u16 at;
	u8 width;		/* together with the bits before it in its first byte: at most 64 */
};

static inline u64 pinion_devx_get(const u8 *in, u32 base, struct pinion_devx_field field)
{
	u32 at = base + field.at;
	u32 end = at + field.width;
	u64 value = 0;
	u32 i;

	for (i = at / 8; i < DIV_ROUND_UP(end, 8); i++)
		value = value << 8 | in[i];
	value >>= -end & 7;
	return field.width == 64 ? value : value & ((1ULL << field.width) - 1);
}

static inline void pinion_devx_put(u8 *out, u32 base, struct pinion_devx_field field, u64 value)
{
	u32 last = base + field.at + field.width - 1;
	u32 i;

	for (i = 0; i < field.width; i++) {
		u32 at = last - i;
		u8 bit = 0x80 >> (at & 7);

		if (value >> i & 1)
			out[at / 8] |= bit;
		else
			out[at / 8] &= ~bit;
	}
}

#endif
