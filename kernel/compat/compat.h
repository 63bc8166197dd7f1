/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Small differences between kernels: newer names are defined where the kernel lacks them.
 * features.sh finds out PINION_HAVE_* by looking at the kernel's headers, not at its version.
 */
#ifndef PINION_COMPAT_COMPAT_H
#define PINION_COMPAT_COMPAT_H

#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#ifndef PINION_HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#ifndef timer_container_of
#define timer_container_of(var, timer, field) from_timer(var, timer, field)
#endif

#ifndef PINION_HAVE_DFL_WQ
#define system_dfl_wq system_unbound_wq
#endif

/* Newer kernels want the namespace as a string. */
#ifdef PINION_HAVE_IMPORT_NS_STRING
#define PINION_IMPORT_NS(ns) MODULE_IMPORT_NS(#ns)
#else
#define PINION_IMPORT_NS(ns) MODULE_IMPORT_NS(ns)
#endif

#ifdef PINION_HAVE_ALLOC_WITH_NET
#define pinion_alloc_device(net) ib_alloc_device_with_net(pinion_dev, ibdev, net)
#else
#define pinion_alloc_device(net) ((void)(net), ib_alloc_device(pinion_dev, ibdev))
#endif

/* Capabilities that older kernels do not know, so that nobody asks for them there. */
#ifdef PINION_HAVE_ODP_SUPPORT_FLUSH
#define PINION_ODP_SUPPORT_LATER (IB_ODP_SUPPORT_FLUSH | IB_ODP_SUPPORT_ATOMIC_WRITE)
#else
#define PINION_ODP_SUPPORT_LATER 0
#endif

/* Mark @dev as DMA-coherent, on architectures that also have devices that are not. */
static inline void pinion_dev_set_coherent(struct device *dev)
{
#if defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_DEVICE) || \
	defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_CPU) || \
	defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_CPU_ALL)
#ifdef PINION_HAVE_DEV_FLAGS
	dev_set_dma_coherent(dev);
#else
	dev->dma_coherent = true;
#endif
#endif
}

struct pinion_dev;
struct net_device;

/* Raise an event if the port went up or down. RTNL is held. */
void pinion_port_notify(struct pinion_dev *dev, struct net_device *ndev);

#endif
