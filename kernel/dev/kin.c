// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which devices are ours. The core knows it by driver id; but those that speak mlx5's ABI have
 * mlx5's, and so may a card's. So they are in a list of ours.
 */
#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "dev.h"

/* Of registration references only that there may be one is asked under the lock. */
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

/* Who ends the core's devices of our id has to wait for this one, too, until it is gone. */
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
 * The core ends all devices of a driver id, and waits for those that go already. Not those of
 * mlx5, so ours become ours again; who has one open has been told the other before.
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
