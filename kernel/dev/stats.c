// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The node's counters as the port's statistics. Counts nothing itself.
 */
#include "dev.h"

static const struct rdma_stat_desc descs[] = {
#define X(stat) { .name = #stat },
	PINION_STATS(X)
#undef X
};

static struct rdma_hw_stats *stats_alloc_port(struct ib_device *ibdev, u32 port_num)
{
	return rdma_alloc_hw_stats_struct(descs, ARRAY_SIZE(descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int stats_get(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index)
{
	struct pinion_node *node = &to_pinion_dev(ibdev)->node;
	int i;

	/* No device-wide ones. */
	if (!port)
		return -EINVAL;
	for (i = 0; i < PINION_NUM_STATS; i++)
		stats->value[i] = pinion_stat_read(node->stats, i);
	return PINION_NUM_STATS;
}

const struct ib_device_ops pinion_stats_ops = {
	.alloc_hw_port_stats = stats_alloc_port,
	.get_hw_stats = stats_get,
};
