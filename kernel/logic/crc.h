/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * CRC-32, with the same result as the kernel's crc32_le(), but with special instructions also on
 * kernels whose library uses only tables.
 */
#ifndef PINION_LOGIC_CRC_H
#define PINION_LOGIC_CRC_H

#include <linux/crc32.h>
#include <linux/types.h>

/* Bytes that are folded at once. */
#define PINION_CRC_LANE	16

/*
 * The CRC of the head, and of the data behind it. @head_bytes: a multiple of PINION_CRC_LANE, and
 * not 0. @crc: of what is before them.
 */
#if defined(CONFIG_X86_64) && !IS_ENABLED(CONFIG_CRC32_ARCH)
/* Falls back to crc32_le() in interrupts, and where the FPU cannot be used. */
u32 pinion_crc(u32 crc, const u8 *head, size_t head_bytes, const u8 *data, size_t bytes);
#else
static inline u32 pinion_crc(u32 crc, const u8 *head, size_t head_bytes, const u8 *data,
			     size_t bytes)
{
	return crc32_le(crc32_le(crc, head, head_bytes), data, bytes);
}
#endif

#endif
