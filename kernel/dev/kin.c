// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Finds our devices. Usually the core finds them by driver id. But devices that speak mlx5's ABI
 * have mlx5's driver id, as cards have, so those are in a list here.
 */
#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "dev.h"

/* Protects the list. Only ib_device_try_get() is called inside, which does not sleep. */
static DEFINE_SPINLOCK(kin_lock);
static LIST_HEAD(kin);

static struct ib_device *kin_find(const struct net_device *ndev)
{
	struct pinion_dev *dev;

	guard(spinlock)(&kin_lock);
	list_for_each_entry(dev, &kin, list)
		if (dev->ndev == ndev && ib_device_try_get(&dev->ibdev))
			return &dev->ibdev;
	return NULL;
}

struct ib_device *pinion_kin_find(struct net_device *ndev)
{
	struct ib_device *ibdev;

	ibdev = ib_device_get_by_netdev(ndev, (enum rdma_driver_id)PINION_DRIVER_ID);
	return ibdev ?: kin_find(ndev);
}

void pinion_kin_join(struct pinion_dev *dev, const struct net_device *ndev)
{
	if (!dev->is_mlx5)
		return;
	dev->ndev = ndev;
	guard(spinlock)(&kin_lock);
	list_add(&dev->list, &kin);
}

/* Give @dev our own driver id, so that ib_unregister_driver() waits for its end, too. */
static void kin_become_ours(struct pinion_dev *dev)
{
	WRITE_ONCE(dev->ibdev.ops.driver_id, (enum rdma_driver_id)PINION_DRIVER_ID);
}

void pinion_kin_leave(struct pinion_dev *dev)
{
	guard(spinlock)(&kin_lock);
	list_del_init(&dev->list);
	kin_become_ours(dev);
}

/*
 * ib_unregister_driver() unregisters all devices of a driver id, and waits for those that are being
 * unregistered. It must not be called with mlx5's id, so our devices get our own id first. Programs
 * that have one open have read the id before and do not notice.
 */
void pinion_kin_end(void)
{
	struct pinion_dev *dev;

	spin_lock(&kin_lock);
	list_for_each_entry(dev, &kin, list)
		kin_become_ours(dev);
	spin_unlock(&kin_lock);
	ib_unregister_driver((enum rdma_driver_id)PINION_DRIVER_ID);
}
