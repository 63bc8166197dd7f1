// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Puts the verbs layer's tables of ops together, and counts objects against the
 * limits. Never looks into an object.
 */
#include "device.h"
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

/**
 * pinion_verbs_set_ops - tell the core what this device can do
 * @ibdev: not registered yet
 */
void pinion_verbs_set_ops(struct ib_device *ibdev)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		ib_set_device_ops(ibdev, tables[i]);
	ibdev->driver_def = pinion_uapi_defs;
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
