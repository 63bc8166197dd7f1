/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Pins user memory, by the name that this kernel has for that function; and what a region of it may
 * have on some kernels only.
 */
#ifndef PINION_COMPAT_UMEM_H
#define PINION_COMPAT_UMEM_H

#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#ifdef PINION_HAVE_RDMA_ITER
#include <rdma/iter.h>
#endif

static inline struct ib_umem *pinion_ib_umem_get(struct ib_device *ibdev, unsigned long addr,
						 size_t size, int access)
{
#ifdef PINION_HAVE_UMEM_GET_VA
	return ib_umem_get_va(ibdev, addr, size, access);
#else
	return ib_umem_get(ibdev, addr, size, access);
#endif
}

/* Was the region registered with a DMA handle? */
static inline bool pinion_has_dma_handle(const struct ib_mr *ibmr)
{
#ifdef PINION_HAVE_DMAH
	return ibmr->dmah;
#else
	return false;
#endif
}

#endif
