/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters of the data path, per device, or per tally for queue pairs that are bound to one
 * (`rdma statistic qp'). One list names all counters; its order is that in `rdma statistic' and
 * hw_counters.
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
	X(rx_read_requests)		\
	X(rx_write_requests)		\
	X(rx_atomic_requests)		\
	X(rnr_nak_retry_err)		\
	X(retries)			\
	X(no_peer)			\
	X(busy_peers)			\
	X(ud_drops)			\
	X(tx_drops)			\
	X(rx_icrc_encapsulated)		\
	X(rx_no_queue)			\
	X(rx_malformed)			\
	X(rx_strangers)			\
	X(rx_overruns)			\
	X(rx_gap_drops)			\
	X(rx_page_drops)		\
	X(rx_stale)			\
	X(rx_unanswered)		\
	X(out_of_buffer)		\
	X(rx_burst_packets)		\
	X(duplicate_request)		\
	X(out_of_sequence)		\
	X(packet_seq_err)		\
	X(implied_nak_seq_err)		\
	X(local_ack_timeout_err)	\
	X(np_ecn_marked_roce_packets)	\
	X(np_cnp_sent)			\
	X(rp_cnp_handled)		\
	X(rp_cnp_ignored)		\
	X(gate_waits)			\
	X(local_key_errors)		\
	X(remote_key_unknown)		\
	X(remote_key_rights)		\
	X(remote_key_range)		\
	X(remote_key_state)		\
	X(invalid_requests)		\
	X(req_cqe_flush_error)		\
	X(resp_cqe_flush_error)		\
	X(req_remote_access_errors)	\
	X(req_remote_invalid_request)	\
	X(req_transport_retries_exceeded) \
	X(req_rnr_retries_exceeded)	\
	X(resp_remote_access_errors)	\
	X(resp_local_length_error)	\
	X(cq_overflows)			\
	X(rx_early_packets)		\
	X(rx_early_drops)		\
	X(resent_packets)

enum pinion_stat {
#define X(name) PINION_STAT_##name,
	PINION_STATS(X)
#undef X
	PINION_NUM_STATS
};

struct pinion_stats {
	u64 count[PINION_NUM_STATS];
};

/* Counters of the queue pairs that are bound to it. */
struct pinion_tally {
	struct pinion_stats __percpu *stats;
};

/* All tallies of a node. */
struct pinion_tallies {
	struct xarray live;		/* by number; its lock also protects @ended */
	u64 ended[PINION_NUM_STATS];	/* sum of the tallies that were freed */
};

/*
 * @owner is a node, or a queue pair, whose stats pointer may be switched to a tally and back at any
 * time. The pointer is read and used with preemption disabled, and pinion_tally_end() waits for
 * such sections (synchronize_rcu()). Process context only: no interrupt counts, so the non-atomic
 * __this_cpu_add() suffices, which is much cheaper.
 */
#define pinion_stat_add_to(owner, stat, n)					\
	do {									\
		u64 more = (n);		/* which may take locks */		\
										\
		preempt_disable();						\
		__this_cpu_add(READ_ONCE((owner)->stats)->count[stat], more);	\
		preempt_enable();						\
	} while (0)
#define pinion_stat_add(owner, name, n) pinion_stat_add_to(owner, PINION_STAT_##name, n)
#define pinion_stat_inc(owner, name) pinion_stat_add(owner, name, 1)

/* Summed over all CPUs. */
u64 pinion_stat_read(struct pinion_stats __percpu *stats, enum pinion_stat stat);

void pinion_tallies_init(struct pinion_tallies *tallies);
void pinion_tallies_destroy(struct pinion_tallies *tallies);

/* Make a tally of zeros. Its number is not 0. Return: 0 or a negative errno. */
int pinion_tally_begin(struct pinion_tallies *tallies, u32 *number);
/* Free a tally. No stats pointer points to it any more; waits for those who have read one. */
void pinion_tally_end(struct pinion_tallies *tallies, u32 number);
/* NULL if there is none. The caller must keep it from being freed meanwhile. */
struct pinion_tally *pinion_tally_find(struct pinion_tallies *tallies, u32 number);
/*
 * Copy a tally's counts to @counts[PINION_NUM_STATS]. May run at the same time as
 * pinion_tally_end(). Return: false, and nothing is written, if it was freed.
 */
bool pinion_tally_read(struct pinion_tallies *tallies, u32 number, u64 *counts);
/* The sum of all tallies, with those that were freed. */
u64 pinion_tallies_read(struct pinion_tallies *tallies, enum pinion_stat stat);

#endif
