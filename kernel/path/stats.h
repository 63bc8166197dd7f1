/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the data path counts, per device. One list names them all; the order is
 * the order in `rdma statistic` and in hw_counters.
 */
#ifndef PINION_PATH_STATS_H
#define PINION_PATH_STATS_H

#include <linux/percpu.h>

#define PINION_STATS(X)			\
	X(doorbells)			\
	X(streams)			\
	X(tx_messages)			\
	X(tx_bytes)			\
	X(rx_messages)			\
	X(rx_bytes)			\
	X(port_xmit_packets)		\
	X(port_xmit_bytes)		\
	X(port_rcv_packets)		\
	X(port_rcv_bytes)		\
	X(rnr_waits)			\
	X(retries)			\
	X(no_peer)			\
	X(ud_drops)			\
	X(gate_waits)			\
	X(local_key_errors)		\
	X(remote_key_unknown)		\
	X(remote_key_rights)		\
	X(remote_key_range)		\
	X(remote_key_state)		\
	X(invalid_requests)		\
	X(flushed)			\
	X(cq_overflows)

enum pinion_stat {
#define X(name) PINION_STAT_##name,
	PINION_STATS(X)
#undef X
	PINION_NUM_STATS
};

struct pinion_stats {
	u64 count[PINION_NUM_STATS];
};

/* Process context only, so no interrupt can come between: this is far cheaper. */
#define pinion_stat_add(node, name, n)						\
	do {									\
		preempt_disable();						\
		__this_cpu_add((node)->stats->count[PINION_STAT_##name], n);	\
		preempt_enable();						\
	} while (0)
#define pinion_stat_inc(node, name) pinion_stat_add(node, name, 1)

/* Summed over all CPUs. */
u64 pinion_stat_read(struct pinion_stats __percpu *stats, enum pinion_stat stat);

#endif
