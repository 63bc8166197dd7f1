// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Pins dma-bufs. What is pinned does not move, so a region of it is like one of user
 * memory: a table, and no pager.
 */
#include <linux/dma-buf.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <rdma/ib_umem.h>

#include "describe.h"
#include "dmabuf_pinned.h"
#include "mr.h"
#include "mtt.h"

u64 pinion_dmabuf_pages(const struct ib_umem *umem)
{
	return (ALIGN(umem->address + umem->length, PAGE_SIZE) -
		ALIGN_DOWN(umem->address, PAGE_SIZE)) >> PAGE_SHIFT;
}

int pinion_dmabuf_examine(struct ib_umem *umem, const char **why)
{
	const struct sg_table *sgt = &umem->sgt_append.sgt;
	u64 pages = 0, pfn, end;
	struct scatterlist *sg;
	struct page *page;
	int i;

	/*
	 * We copy by the processor, though we attach as a device. Who has vmap says that it
	 * may; protected memory, say, has pages like any other and kills who reads them.
	 */
	if (!to_ib_umem_dmabuf(umem)->attach->dmabuf->ops->vmap) {
		*why = "the dma-buf's exporter does not let the CPU have it";
		return -EOPNOTSUPP;
	}
	for_each_sgtable_dma_sg(sgt, sg, i) {
		pfn = PHYS_PFN(sg_dma_address(sg));
		end = PHYS_PFN(sg_dma_address(sg) + sg_dma_len(sg));
		pages += end - pfn;
		for (; pfn < end; pfn++) {
			page = pfn_to_online_page(pfn);
			if (!page || is_zone_device_page(page)) {
				*why = "the dma-buf is in a device's memory";
				return -EOPNOTSUPP;
			}
		}
		cond_resched();
	}
	if (pages == pinion_dmabuf_pages(umem))
		return 0;
	*why = "the dma-buf's exporter mapped less than it has";
	return -EINVAL;
}

struct ib_umem *pinion_dmabuf_pin(struct ib_device *ibdev, struct device *dma_device, u64 offset,
				  u64 length, int fd, int access, const char **why)
{
	struct ib_umem_dmabuf *dmabuf;
	int err;

	*why = "no dma-buf, beyond its end, or it cannot be pinned";
	dmabuf = ib_umem_dmabuf_get_pinned_with_dma_device(ibdev, dma_device, offset, length, fd,
							   access);
	if (IS_ERR(dmabuf))
		return ERR_CAST(dmabuf);
	err = pinion_dmabuf_examine(&dmabuf->umem, why);
	if (err) {
		ib_umem_release(&dmabuf->umem);
		return ERR_PTR(err);
	}
	return &dmabuf->umem;
}

/**
 * pinion_reg_data_direct_mr - give part of a pinned dma-buf a key
 * @keys: the device's keys
 * @pd: protection domain
 * @dma_device: what the memory is mapped for
 * @offset: of the first byte in the buffer
 * @length: in bytes
 * @iova: the address of the first byte as work requests will name it, of a page
 * @fd: the buffer; it may be closed afterwards
 * @access: IB_ACCESS_*, checked by the core
 *
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *pinion_reg_data_direct_mr(struct pinion_keys *keys, struct ib_pd *pd,
					struct device *dma_device, u64 offset, u64 length,
					u64 iova, int fd, int access)
{
	const char *why = "an address within a page";
	struct pinion_backing backing = {};
	struct ib_mr *ibmr;
	int err = -EOPNOTSUPP;

	if (!PAGE_ALIGNED(iova))
		goto err_refuse;
	why = "no length, or an end beyond 2^64";
	err = pinion_mr_check_span(length, iova, access);
	if (err)
		goto err_refuse;
	backing.umem = pinion_dmabuf_pin(pd->device, dma_device, offset, length, fd, access,
					 &why);
	err = PTR_ERR_OR_ZERO(backing.umem);
	if (err)
		goto err_refuse;
	why = "no table of the dma-buf's layout, or no room for it";
	backing.mtt = pinion_describe(backing.umem);
	err = PTR_ERR_OR_ZERO(backing.mtt);
	if (err)
		goto err_release;
	why = "no key";
	ibmr = pinion_region_make(keys, pd, &backing, iova, length, access);
	err = PTR_ERR_OR_ZERO(ibmr);
	if (err)
		goto err_free_mtt;
	return ibmr;

err_free_mtt:
	pinion_mtt_free(backing.mtt);
err_release:
	ib_umem_release(backing.umem);
err_refuse:
	return ERR_PTR(pinion_mr_refused(pd, offset, length, iova, access, why, err));
}
