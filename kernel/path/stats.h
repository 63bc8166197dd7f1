/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the data path counts, per device, or for queue pairs that have a tally of their own
 * (`rdma statistic qp'). One list names all counts; the order is the order in `rdma statistic'
 * and in hw_counters.
 */
#ifndef PINION_PATH_STATS_H
#define PINION_PATH_STATS_H

#include <linux/percpu.h>
#include <linux/xarray.h>

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
	X(rx_icrc_encapsulated)		\
	X(rx_no_queue)			\
	X(rx_malformed)			\
	X(rx_strangers)			\
	X(rx_overruns)			\
	X(duplicate_request)		\
	X(out_of_sequence)		\
	X(packet_seq_err)		\
	X(local_ack_timeout_err)	\
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

/* The counts of some queue pairs. */
struct pinion_tally {
	struct pinion_stats __percpu *stats;
};

/* All tallies of a node. */
struct pinion_tallies {
	struct xarray live;		/* by number; its lock also protects @ended */
	u64 ended[PINION_NUM_STATS];	/* counts of tallies that are no more */
};

/*
 * @owner is a node, or anything whose counts may move to a tally and back: its stats pointer is
 * read where nobody is preempted, and pinion_tally_end() waits for such places. Process
 * context only, so no interrupt can come between: this is far cheaper.
 */
#define pinion_stat_add(owner, name, n)						\
	do {									\
		preempt_disable();						\
		__this_cpu_add(READ_ONCE((owner)->stats)->count[PINION_STAT_##name], n); \
		preempt_enable();						\
	} while (0)
#define pinion_stat_inc(owner, name) pinion_stat_add(owner, name, 1)

/* Summed over all CPUs. */
u64 pinion_stat_read(struct pinion_stats __percpu *stats, enum pinion_stat stat);

void pinion_tallies_init(struct pinion_tallies *tallies);
void pinion_tallies_destroy(struct pinion_tallies *tallies);

/* A tally of zeros, and its number, which is not 0. */
int pinion_tally_begin(struct pinion_tallies *tallies, u32 *number);
/* Nobody's stats pointer is the tally's any more. Sleeps until nobody counts in it. */
void pinion_tally_end(struct pinion_tallies *tallies, u32 number);
/* NULL: there is none. The caller keeps it from its end. */
struct pinion_tally *pinion_tally_find(struct pinion_tallies *tallies, u32 number);
/* What all tallies counted that there are and were. */
u64 pinion_tallies_read(struct pinion_tallies *tallies, enum pinion_stat stat);

#endif
