/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * dma-bufs that their exporter has pinned for umems, and what is asked of any dma-buf.
 */
#ifndef PINION_MEM_DMABUF_PINNED_H
#define PINION_MEM_DMABUF_PINNED_H

#include <linux/types.h>

struct device;
struct ib_device;
struct ib_umem;

/* How many pages the memory is in, parts of pages included. */
u64 pinion_dmabuf_pages(const struct ib_umem *umem);

/*
 * Is what was mapped memory that the kernel can address, and may, and as much as was promised?
 * Return: 0, or a negative errno and *@why.
 */
int pinion_dmabuf_examine(struct ib_umem *umem, const char **why);

/* Pinned, mapped for @dma_device and examined; an ERR_PTR with *@why otherwise. */
struct ib_umem *pinion_dmabuf_pin(struct ib_device *ibdev, struct device *dma_device, u64 offset,
				  u64 length, int fd, int access, const char **why);

#endif
