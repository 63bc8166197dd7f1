// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Puts the verbs layer's tables of ops together, and counts objects against the
 * limits. Never looks into an object.
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

/* Whose provider claims it. */
static const struct ib_device_ops identity = {
	.driver_id = (enum rdma_driver_id)PINION_DRIVER_ID,
	.uverbs_abi_ver = PINION_ABI_VERSION,
};

/**
 * pinion_verbs_set_ops - tell the core what this device can do
 * @dev: not registered yet
 */
void pinion_verbs_set_ops(struct pinion_dev *dev)
{
	struct ib_device *ibdev = &dev->ibdev;
	int i;

	/* Of two tables that have an op the first counts. */
	if (dev->is_mlx5)
		pinion_mlx5_set_ops(ibdev);
	else
		ib_set_device_ops(ibdev, &identity);
	for (i = 0; i < ARRAY_SIZE(tables); i++)
		ib_set_device_ops(ibdev, tables[i]);
	ibdev->driver_def = dev->is_mlx5 ? pinion_mlx5_defs : pinion_uapi_defs;
}

/**
 * pinion_counts_end - all objects are gone, so none is counted any more
 * @dev: device that goes
 *
 * Called when the core deallocates the device, after its last user: nobody counts meanwhile.
 * What is left was not counted out, which else is seen only when the limit is met.
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
