/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * CRC-32 as the kernel's crc32_le() has it, at the speed of the processor: the library of some
 * kernels has tables and nothing else.
 */
#ifndef PINION_LOGIC_CRC_H
#define PINION_LOGIC_CRC_H

#include <linux/crc32.h>
#include <linux/types.h>

#if defined(CONFIG_X86_64) && !IS_ENABLED(CONFIG_CRC32_ARCH)
/* Not in an interrupt, or where the vector registers are another's: then it is crc32_le(). */
u32 pinion_crc(u32 crc, const u8 *data, size_t bytes);
#else
static inline u32 pinion_crc(u32 crc, const u8 *data, size_t bytes)
{
	return crc32_le(crc, data, bytes);
}
#endif

#endif
