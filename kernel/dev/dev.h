/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of this layer know of each other.
 */
#ifndef PINION_DEV_DEV_H
#define PINION_DEV_DEV_H

#include "../verbs/device.h"

/* parent.c */
struct device *pinion_parent_create(const char *name);
void pinion_parent_destroy(struct device *parent);

/* link.c */
void pinion_link_register(void);
void pinion_link_unregister(void);

/* netdev.c */
int pinion_netdev_init(void);
void pinion_netdev_exit(void);
/* Take over what the netdev says of address and size. RTNL is held. */
void pinion_netdev_refresh(struct pinion_dev *dev, struct net_device *ndev);
/*
 * Its device, made while it was in @net, was not to be found before: what the netdev has
 * become meanwhile, and that it is gone, nobody was told.
 */
void pinion_netdev_catch_up(struct net_device *ndev, const struct net *net);

/* kin.c: the device of a netdev, whatever its driver id, with a registration; or NULL */
struct ib_device *pinion_kin_find(struct net_device *ndev);
/* Those that have the driver id of others are found, and ended, by their own list. */
void pinion_kin_join(struct pinion_dev *dev, const struct net_device *ndev);
void pinion_kin_leave(struct pinion_dev *dev);
/* The module goes, and no device comes any more. */
void pinion_kin_end(void);

/* debugfs.c */
void pinion_debugfs_init(void);
void pinion_debugfs_exit(void);
void pinion_debugfs_add(struct pinion_dev *dev);
void pinion_debugfs_del(struct pinion_dev *dev);
/* queues.c; in the device's folder */
void pinion_queues_add_file(struct pinion_dev *dev);

/* map.c: a file of the device's folder */
extern const struct file_operations pinion_map_fops;

extern const struct ib_device_ops pinion_gid_ops;
extern const struct ib_device_ops pinion_restrack_ops;

/* main.c: of devices made from now on */

/* Who is sent packets; what more than that means, is more. */
enum pinion_wire_wants {
	PINION_WIRE_NONE,
	PINION_WIRE_OTHERS,		/* hosts */
	PINION_WIRE_ALL,		/* this one, too */
};

extern u32 pinion_wire_wanted;		/* enum pinion_wire_wants */
extern u32 pinion_vendor_id;
extern u32 pinion_vendor_part_id;

#endif
