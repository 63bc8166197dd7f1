/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Arithmetic of free-running 32-bit ring indices. Indices written by user space are checked here
 * before they are used.
 */
#ifndef PINION_LOGIC_RING_H
#define PINION_LOGIC_RING_H

#include <linux/types.h>

/* Slots published by the producer and not yet taken. */
static inline u32 pinion_ring_used(u32 producer, u32 consumer)
{
	return producer - consumer;
}

/* False if more slots are used than the ring has: then the other side's index is wrong. */
static inline bool pinion_ring_sane(u32 producer, u32 consumer, u32 entries)
{
	return pinion_ring_used(producer, consumer) <= entries;
}

static inline u32 pinion_ring_slot(u32 index, u32 entries)
{
	return index & (entries - 1);
}

#endif
