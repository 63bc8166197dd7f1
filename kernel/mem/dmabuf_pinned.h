/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * dma-bufs that their exporter has pinned for umems, and checks that any dma-buf must pass.
 */
#ifndef PINION_MEM_DMABUF_PINNED_H
#define PINION_MEM_DMABUF_PINNED_H

#include <linux/types.h>

struct device;
struct ib_device;
struct ib_umem;

/* Count the pages of the memory, including partly used ones. */
u64 pinion_dmabuf_pages(const struct ib_umem *umem);

/*
 * Check that the mapped memory can be addressed by the kernel, that the kernel is allowed to, and
 * that it has the promised length. Return: 0, or a negative errno and *@why.
 */
int pinion_dmabuf_examine(struct ib_umem *umem, const char **why);

/* Pin, map for @dma_device, and examine a dma-buf. On error return an ERR_PTR and *@why. */
struct ib_umem *pinion_dmabuf_pin(struct ib_device *ibdev, struct device *dma_device, u64 offset,
				  u64 length, int fd, int access, const char **why);

#endif
