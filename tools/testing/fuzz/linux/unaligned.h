/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The kernel's accessors of unaligned big-endian numbers. */
#ifndef PINION_FUZZ_UNALIGNED_H
#define PINION_FUZZ_UNALIGNED_H

#include <endian.h>
#include <string.h>

#include <linux/types.h>

/* A packed type, so that the access may be unaligned. */
#define get_unaligned(p)                                          \
	({                                                        \
		__typeof__(*(p) + 0) _value;                      \
		memcpy(&_value, (const void *)(p), sizeof(*(p))); \
		_value;                                           \
	})
#define put_unaligned(value, p)                             \
	do {                                                \
		__typeof__(*(p)) _value = value;            \
		memcpy((void *)(p), &_value, sizeof(*(p))); \
	} while (0)

static inline u16 get_unaligned_be16(const void *p)
{
	return be16toh(get_unaligned((const u16 *)p));
}

static inline u32 get_unaligned_be32(const void *p)
{
	return be32toh(get_unaligned((const u32 *)p));
}

static inline u64 get_unaligned_be64(const void *p)
{
	return be64toh(get_unaligned((const u64 *)p));
}

static inline void put_unaligned_be16(u16 value, void *p)
{
	put_unaligned(htobe16(value), (u16 *)p);
}

static inline void put_unaligned_be32(u32 value, void *p)
{
	put_unaligned(htobe32(value), (u32 *)p);
}

static inline void put_unaligned_be64(u64 value, void *p)
{
	put_unaligned(htobe64(value), (u64 *)p);
}

#endif
