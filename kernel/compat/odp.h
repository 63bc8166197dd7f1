/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Pages of an on-demand umem. Newer kernels mark in their list of pfns what is DMA-mapped; older
 * ones keep a list of DMA addresses beside it.
 */
#ifndef PINION_COMPAT_ODP_H
#define PINION_COMPAT_ODP_H

#include <linux/hmm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_umem_odp.h>

/*
 * Replace the core's @list, which is still empty, by one that is charged to the user's memory
 * cgroup. Return: the new list; NULL if there is no memory, and @list stays.
 */
static inline void *pinion_odp_charged(void *list, size_t entries, size_t size)
{
	void *charged = kvcalloc(entries, size, GFP_KERNEL_ACCOUNT);

	if (charged)
		kvfree(list);
	return charged;
}

#ifdef PINION_HAVE_HMM_DMA_MAP

#include <linux/pgtable.h>
#include <linux/pci-p2pdma.h>

/*
 * The core does not charge its lists of pages to anybody, so replace them. Called before the first
 * lookup. The core frees our lists with the umem, as it would its own.
 */
static inline int pinion_odp_charge_lists(struct ib_umem_odp *umem)
{
	size_t pages = ib_umem_odp_num_pages(umem);
	unsigned long *pfns;
	dma_addr_t *dmas;

	pfns = pinion_odp_charged(umem->map.pfn_list, pages, sizeof(*pfns));
	if (!pfns)
		return -ENOMEM;
	umem->map.pfn_list = pfns;
	/* There is no list of DMA addresses where they are physical addresses. */
	if (!umem->map.dma_list)
		return 0;
	dmas = pinion_odp_charged(umem->map.dma_list, pages, sizeof(*dmas));
	if (!dmas)
		return -ENOMEM;
	umem->map.dma_list = dmas;
	return 0;
}

/* The core's list of what the last look-ups have found: pfns with flags. */
static inline unsigned long *pinion_odp_pfns(struct ib_umem_odp *umem)
{
	return umem->map.pfn_list;
}

/*
 * Clear the flags of pages that are not mapped. A lookup may have restored the "mapped" flag that
 * an invalidation had cleared meanwhile. umem_mutex is held, and no lookup runs.
 */
static inline void pinion_odp_unmark(struct ib_umem_odp *umem, size_t index, size_t pages)
{
	for (; pages; pages--, index++)
		umem->map.pfn_list[index] &= ~(HMM_PFN_DMA_MAPPED | HMM_PFN_P2PDMA |
					       HMM_PFN_P2PDMA_BUS);
}

/* Map a page that was looked up. Return: its DMA address, or 0. umem_mutex is held. */
static inline dma_addr_t pinion_odp_map_page(struct ib_umem_odp *umem, size_t index)
{
	unsigned long pfn = umem->map.pfn_list[index];
	struct pci_p2pdma_map_state p2p = {};
	dma_addr_t addr;

	addr = hmm_dma_map_pfn(umem->umem.ibdev->dma_device, &umem->map, index, &p2p);
	if (dma_mapping_error(umem->umem.ibdev->dma_device, addr))
		return 0;
	/* The core decrements npages for each page that it unmaps. */
	if (!(pfn & HMM_PFN_DMA_MAPPED))
		umem->npages++;
	return addr;
}

#else

static inline int pinion_odp_charge_lists(struct ib_umem_odp *umem)
{
	size_t pages = ib_umem_odp_num_pages(umem);
	unsigned long *pfns;
	dma_addr_t *dmas;

	pfns = pinion_odp_charged(umem->pfn_list, pages, sizeof(*pfns));
	if (!pfns)
		return -ENOMEM;
	umem->pfn_list = pfns;
	dmas = pinion_odp_charged(umem->dma_list, pages, sizeof(*dmas));
	if (!dmas)
		return -ENOMEM;
	umem->dma_list = dmas;
	return 0;
}

static inline unsigned long *pinion_odp_pfns(struct ib_umem_odp *umem)
{
	return umem->pfn_list;
}

/* Nothing to do: what is mapped is in a list of its own. */
static inline void pinion_odp_unmark(struct ib_umem_odp *umem, size_t index, size_t pages)
{
}

static inline dma_addr_t pinion_odp_map_page(struct ib_umem_odp *umem, size_t index)
{
	unsigned long pfn = umem->pfn_list[index];
	struct ib_device *ibdev = umem->umem.ibdev;
	dma_addr_t addr = umem->dma_list[index] & ODP_DMA_ADDR_MASK;

	if (!addr) {
		addr = ib_dma_map_page(ibdev, hmm_pfn_to_page(pfn), 0, PAGE_SIZE,
				       DMA_BIDIRECTIONAL);
		if (ib_dma_mapping_error(ibdev, addr))
			return 0;
		umem->npages++;
	}
	/* The core marks pages as dirty that it unmaps with the second flag. */
	umem->dma_list[index] = addr | ODP_READ_ALLOWED_BIT |
				(pfn & HMM_PFN_WRITE ? ODP_WRITE_ALLOWED_BIT : 0);
	return addr;
}

#endif

#endif
