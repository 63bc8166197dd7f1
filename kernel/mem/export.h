/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Exports kernel memory as a dma-buf, for other devices and for this one.
 */
#ifndef PINION_MEM_EXPORT_H
#define PINION_MEM_EXPORT_H

#include <linux/types.h>

struct file;

/*
 * Make a dma-buf of @area, which is from vmalloc; @size is in bytes, whole pages. The dma-buf has
 * references to the pages, so @area may be freed before. Return: its file or an ERR_PTR.
 */
struct file *pinion_export(void *area, size_t size);

#endif
