// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Gives the verbs layer's tables of ops to the core, and checks at the end that no object is
 * counted any more.
 */
#include "device.h"
#include "mlx5.h"
#include "ops.h"

static const struct ib_device_ops *const tables[] = {
	&pinion_device_ops,
	&pinion_ucontext_ops,
	&pinion_mmap_ops,
	&pinion_pd_ops,
	&pinion_ah_ops,
	&pinion_cq_ops,
	&pinion_srq_ops,
	&pinion_qp_ops,
	&pinion_mcast_ops,
	&pinion_mr_ops,
	&pinion_dm_ops,
	&pinion_mad_ops,
	&pinion_stats_ops,
	&pinion_compat_ops,
};

/* By these the provider in user space recognizes the device. */
static const struct ib_device_ops identity = {
	.driver_id = (enum rdma_driver_id)PINION_DRIVER_ID,
	.uverbs_abi_ver = PINION_ABI_VERSION,
};

/**
 * pinion_verbs_set_ops - set the ops of a device
 * @dev: not registered yet
 */
void pinion_verbs_set_ops(struct pinion_dev *dev)
{
	struct ib_device *ibdev = &dev->ibdev;
	int i;

	/* ib_set_device_ops() keeps an op that is set already: mlx5's come first. */
	if (dev->is_mlx5)
		pinion_mlx5_set_ops(ibdev);
	else
		ib_set_device_ops(ibdev, &identity);
	for (i = 0; i < ARRAY_SIZE(tables); i++)
		ib_set_device_ops(ibdev, tables[i]);
	ibdev->driver_def = dev->is_mlx5 ? pinion_mlx5_defs : pinion_uapi_defs;
}

/**
 * pinion_counts_end - warn about objects that were not counted out
 * @dev: the device; all its objects have been destroyed
 *
 * Called when the core deallocates the device, so no count can change meanwhile. A count that is
 * too high would otherwise be noticed only when the limit is reached.
 */
void pinion_counts_end(struct pinion_dev *dev)
{
	int i, count;

	for (i = 0; i < ARRAY_SIZE(dev->counts); i++) {
		count = atomic_read(&dev->counts[i]);
		WARN(count, "%d objects of kind %d are still counted\n", count, i);
	}
	WARN_ON(atomic64_read(&dev->dm_used));
	WARN_ON(!list_empty(&dev->users));
}
