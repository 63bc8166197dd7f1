/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Decodes the two timers of a reliable connection.
 */
#ifndef PINION_LOGIC_TIMING_H
#define PINION_LOGIC_TIMING_H

#include <linux/types.h>

/* RNR NAK timer field (IBTA table 45) to nanoseconds: 0 is the longest, 655.36 ms. */
u64 pinion_rnr_timer_ns(u8 field);

/* Local ACK timeout field: 4.096 us * 2^field; 0 means "wait for ever" and gives 0. */
u64 pinion_ack_timeout_ns(u8 field);

#endif
