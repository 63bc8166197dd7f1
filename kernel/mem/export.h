/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory of ours as a dma-buf, for other devices, and this one, to reach.
 */
#ifndef PINION_MEM_EXPORT_H
#define PINION_MEM_EXPORT_H

#include <linux/types.h>

struct file;

/*
 * The dma-buf as a file, or an ERR_PTR. @area is of vmalloc, @size whole pages. They live
 * as long as the file does, whatever becomes of @area.
 */
struct file *pinion_export(void *area, size_t size);

#endif
