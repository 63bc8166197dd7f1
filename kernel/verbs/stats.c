// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reports the counters to the core: the port's, and those of queue pairs that `rdma statistic qp'
 * has bound to a counter. Such a counter is a tally here (path/stats.h): the queue pair counts in
 * the tally and no longer in the port's counters; the core adds them up when `rdma statistic' asks
 * for the port.
 */
#include "../path/qp.h"
#include "device.h"
#include "ops.h"

static const struct rdma_stat_desc descs[] = {
#define X(stat) { .name = #stat },
	PINION_STATS(X)
#undef X
};

static void stats_fill(struct rdma_hw_stats *to, struct pinion_stats __percpu *from)
{
	int i;

	for (i = 0; i < PINION_NUM_STATS; i++)
		to->value[i] = pinion_stat_read(from, i);
}

static struct rdma_hw_stats *stats_alloc_port(struct ib_device *ibdev, u32 port_num)
{
	return rdma_alloc_hw_stats_struct(descs, ARRAY_SIZE(descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int stats_get(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index)
{
	/* Port 0 asks for counters of the whole device: there are none. */
	if (!port)
		return -EINVAL;
	stats_fill(stats, to_pinion_dev(ibdev)->node.stats);
	return PINION_NUM_STATS;
}

/* ---------------------------------------------------------------- queue pairs */

static struct pinion_tallies *counter_tallies(const struct rdma_counter *counter)
{
	return &to_pinion_dev(counter->device)->node.tallies;
}

static struct rdma_hw_stats *counter_alloc_stats(struct rdma_counter *counter)
{
	return stats_alloc_port(counter->device, counter->port);
}

/*
 * Linux 6.12 has counter_dealloc() called while others may still read the counter. They get what
 * was read last.
 */
static int counter_update_stats(struct rdma_counter *counter)
{
	pinion_tally_read(counter_tallies(counter), counter->id, counter->stats->value);
	return 0;
}

int pinion_counter_bind(struct rdma_counter *counter, struct ib_qp *ibqp)
{
	struct pinion_tallies *tallies = counter_tallies(counter);
	bool first = !counter->id;
	int err;

	if (first) {
		err = pinion_tally_begin(tallies, &counter->id);
		if (err)
			return err;
	}
	/*
	 * The core has checked that no counter is bound, but under @counter's lock only: @ibqp may
	 * be bound to another counter at the same time. One of the two wins.
	 */
	if (cmpxchg(&ibqp->counter, NULL, counter)) {
		if (first)
			pinion_tally_end(tallies, counter->id);
		return -EINVAL;
	}
	WRITE_ONCE(to_pinion_qp(ibqp)->stats, pinion_tally_find(tallies, counter->id)->stats);
	return 0;
}

int pinion_counter_unbind(struct ib_qp *ibqp)
{
	struct pinion_qp *qp = to_pinion_qp(ibqp);

	WRITE_ONCE(qp->stats, qp->node->stats);
	WRITE_ONCE(ibqp->counter, NULL);
	return 0;
}

/* The core has unbound all queue pairs. */
static int counter_dealloc(struct rdma_counter *counter)
{
	pinion_tally_end(counter_tallies(counter), counter->id);
	return 0;
}

const struct ib_device_ops pinion_stats_ops = {
	.alloc_hw_port_stats = stats_alloc_port,
	.counter_alloc_stats = counter_alloc_stats,
	.counter_dealloc = counter_dealloc,
	.counter_update_stats = counter_update_stats,
	.get_hw_stats = stats_get,
};
