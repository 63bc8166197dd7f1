/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declarations shared by the files of this layer.
 */
#ifndef PINION_DEV_DEV_H
#define PINION_DEV_DEV_H

#include "../verbs/device.h"

/* parent.c */
struct device *pinion_parent_create(const char *name, bool has_ids);
void pinion_parent_destroy(struct device *parent);

/* link.c */
int pinion_link_register(void);
void pinion_link_unregister(void);

/* netdev.c */
int pinion_netdev_init(void);
void pinion_netdev_exit(void);
/* Update MTU, MAC, and links to other netdevs from @ndev. RTNL is held. */
void pinion_netdev_refresh(struct pinion_dev *dev, struct net_device *ndev);
/*
 * Called after a device was created for @ndev, which was in @net then. The notifier could not find
 * the device until now, so handle events that were missed: changes of @ndev, its removal, or its
 * move to another network namespace. Takes RTNL.
 */
void pinion_netdev_catch_up(struct net_device *ndev, const struct net *net);

/* kin.c: our device on @ndev, of any driver id, or NULL; to be dropped by ib_device_put() */
struct ib_device *pinion_kin_find(struct net_device *ndev);
/* Add and remove devices with mlx5's driver id, which the core cannot tell from a card's. */
void pinion_kin_join(struct pinion_dev *dev, const struct net_device *ndev);
void pinion_kin_leave(struct pinion_dev *dev);
/* On module unload: unregister all our devices. No device can be added any more. */
void pinion_kin_end(void);

/* debugfs.c */
void pinion_debugfs_init(void);
void pinion_debugfs_exit(void);
void pinion_debugfs_add(struct pinion_dev *dev);
void pinion_debugfs_del(struct pinion_dev *dev);
/* @dev has another name, and its directory gets that, too. */
void pinion_debugfs_renamed(struct pinion_dev *dev);
/* queues.c: a file in the device's debugfs directory */
void pinion_queues_add_file(struct pinion_dev *dev);
/* objects.c: likewise */
void pinion_objects_add_file(struct pinion_dev *dev);

/* map.c, invalidate.c: files in the device's debugfs directory */
extern const struct file_operations pinion_map_fops;
extern const struct file_operations pinion_invalidate_fops;

/* force.c: likewise; and the end of what they have forced */
void pinion_force_add_files(struct pinion_dev *dev);
void pinion_force_end(struct pinion_dev *dev);

/* Which peers are reached by packets; larger values count as the last. */
enum pinion_wire_peers {
	PINION_WIRE_NONE,
	PINION_WIRE_OTHERS,		/* those on other hosts, or in other network namespaces */
	PINION_WIRE_ALL,		/* those in its own namespace, too */
};

struct pinion_wire_choice {
	u32 peers;			/* enum pinion_wire_peers */
	bool must;			/* no device if that is not possible */
};

/* wire.c: the engine to other hosts. Return: 0, or a negative errno only if choice.must. */
int pinion_dev_open_wire(struct pinion_dev *dev, const char *name, struct net *net,
			 struct pinion_wire_choice choice);

extern const struct ib_device_ops pinion_gid_ops;
extern const struct ib_device_ops pinion_restrack_ops;
extern const struct ib_device_ops pinion_sysfs_ops;

/* main.c: module parameters, for devices that are created later */
extern u32 pinion_wire_wanted;		/* enum pinion_wire_peers */
extern u32 pinion_vendor_id;
extern u32 pinion_vendor_part_id;

#endif
