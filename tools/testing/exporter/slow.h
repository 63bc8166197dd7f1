/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory whose page faults can be made to wait, for each open file of the device.
 */
#ifndef PINION_EXPORTER_SLOW_H
#define PINION_EXPORTER_SLOW_H

#include <linux/types.h>

#include "exporter.h"

struct file;
struct inode;
struct vm_area_struct;

int exporter_open(struct inode *inode, struct file *file);
int exporter_close(struct inode *inode, struct file *file);
int exporter_mmap_slow(struct file *file, struct vm_area_struct *vma);
void exporter_hold(struct file *file, bool hold);
u32 exporter_waiting(struct file *file);

#endif /* PINION_EXPORTER_SLOW_H */
