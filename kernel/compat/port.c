// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events of the port. Newer cores follow netdevs themselves, but know only one RDMA device of each,
 * so we ask the core to check ours. With older cores we raise the event here.
 */
#include "../verbs/device.h"
#include "compat.h"

#ifdef PINION_HAVE_PORT_STATE_EVENT

void pinion_port_notify(struct pinion_dev *dev, struct net_device *ndev)
{
	/* The core asks the netdev only. */
	if (READ_ONCE(dev->port_down))
		return;
	ib_dispatch_port_state_event(&dev->ibdev, ndev);
}

#else

void pinion_port_notify(struct pinion_dev *dev, struct net_device *ndev)
{
	enum ib_port_state state = pinion_port_state(dev, ndev);
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = state == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
	};

	if (dev->state == state)
		return;
	dev->state = state;
	ib_dispatch_event(&event);
}

#endif
