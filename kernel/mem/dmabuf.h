/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Regions of a dma-buf. The exporter may move its memory, or take it away, at any time.
 */
#ifndef PINION_MEM_DMABUF_H
#define PINION_MEM_DMABUF_H

#include <rdma/ib_verbs.h>

/* Rights that a region of a dma-buf may have, apart from IB_ACCESS_OPTIONAL. */
#define PINION_DMABUF_RIGHTS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | \
			      IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

struct device;
struct pinion_keys;

struct ib_mr *pinion_reg_dmabuf_mr(struct pinion_keys *keys, struct ib_pd *pd,
				   struct device *dma_device, u64 offset, u64 length, u64 iova,
				   int fd, int access);

#endif
