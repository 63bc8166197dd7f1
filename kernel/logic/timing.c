// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Decodes the timer fields of a reliable connection.
 */
#include <linux/kernel.h>

#include "timing.h"

/* In units of 10 us. */
static const u32 rnr_timer_10us[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256,
	384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
	24576, 32768, 49152,
};

u64 pinion_rnr_timer_ns(u8 field)
{
	return 10000ULL * rnr_timer_10us[field & 31];
}

u64 pinion_ack_timeout_ns(u8 field)
{
	field &= 31;
	return field ? 4096ULL << field : 0;
}
