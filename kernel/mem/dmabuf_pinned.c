// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Pins dma-bufs for DEVX umems, and checks whether we can use a dma-buf's memory at all. Keys
 * and rings are built on umems, so their memory must not be revoked: an exporter that may
 * revoke refuses this kind of attachment.
 */
#include <linux/dma-buf.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <rdma/ib_umem.h>

#include "dmabuf_pinned.h"

u64 pinion_dmabuf_pages(const struct ib_umem *umem)
{
	return (ALIGN(umem->address + umem->length, PAGE_SIZE) -
		ALIGN_DOWN(umem->address, PAGE_SIZE)) >> PAGE_SHIFT;
}

/*
 * The kernel adds memory in aligned parts of so many pages, so one page tells the kind of all. To
 * look at each would take long: a buffer of 64 GiB has 16 million, and is examined after each move.
 */
#ifdef CONFIG_SPARSEMEM
#define PAGES_OF_ONE_KIND	PAGES_PER_SUBSECTION
#else
#define PAGES_OF_ONE_KIND	1UL
#endif

int pinion_dmabuf_examine(struct ib_umem *umem, const char **why)
{
	const struct sg_table *sgt = &umem->sgt_append.sgt;
	u64 pages = 0, pfn, end;
	struct scatterlist *sg;
	struct page *page;
	int i;

	/*
	 * We attach as a device but copy with the CPU. An exporter that implements vmap allows CPU
	 * access. Protected memory has ordinary struct pages, but a CPU access to it is fatal.
	 */
	if (!to_ib_umem_dmabuf(umem)->attach->dmabuf->ops->vmap) {
		*why = "the dma-buf's exporter does not let the CPU have it";
		return -EOPNOTSUPP;
	}
	for_each_sgtable_dma_sg(sgt, sg, i) {
		pfn = PHYS_PFN(sg_dma_address(sg));
		end = PHYS_PFN(sg_dma_address(sg) + sg_dma_len(sg));
		pages += end - pfn;
		for (; pfn < end; pfn = min(end, ALIGN(pfn + 1, PAGES_OF_ONE_KIND))) {
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
