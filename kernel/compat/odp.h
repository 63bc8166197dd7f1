/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Pages of an on-demand umem. Newer kernels keep pfns, and the driver DMA-maps each page; older
 * kernels map the pages themselves and keep DMA addresses.
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

/*
 * Look up pages; with @fault also fault those that are missing. Return: the number of pages, and
 * umem_mutex is held; or a negative errno.
 */
static inline int pinion_odp_map(struct ib_umem_odp *umem, u64 va, u64 length, bool write,
				 bool fault)
{
	return ib_umem_odp_map_dma_and_lock(umem, va, length, write ? HMM_PFN_WRITE : 0, fault);
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

/* Map a page if it is present. Return: its DMA address, or 0. umem_mutex is held. */
static inline u64 pinion_odp_page(struct ib_umem_odp *umem, size_t index, bool *writable)
{
	unsigned long pfn = umem->map.pfn_list[index];
	struct pci_p2pdma_map_state p2p = {};
	dma_addr_t addr;

	*writable = false;
	if (!(pfn & HMM_PFN_VALID))
		return 0;
	/*
	 * Do not map the zero page: it is part of the kernel image, and DMA_API_DEBUG would warn.
	 * It is only read, and never freed.
	 */
	if (is_zero_pfn(hmm_pfn_to_phys(pfn) >> PAGE_SHIFT))
		return hmm_pfn_to_phys(pfn);
	addr = hmm_dma_map_pfn(umem->umem.ibdev->dma_device, &umem->map, index, &p2p);
	if (dma_mapping_error(umem->umem.ibdev->dma_device, addr))
		return 0;
	/* The core decrements npages for each page that it unmaps. */
	if (!(pfn & HMM_PFN_DMA_MAPPED))
		umem->npages++;
	*writable = pfn & HMM_PFN_WRITE;
	return addr;
}

/* The order of the mapping that the page is in; 0 for small pages. */
static inline unsigned int pinion_odp_order(struct ib_umem_odp *umem, size_t index)
{
	return hmm_pfn_to_map_order(umem->map.pfn_list[index]);
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

static inline int pinion_odp_map(struct ib_umem_odp *umem, u64 va, u64 length, bool write,
				 bool fault)
{
	return ib_umem_odp_map_dma_and_lock(umem, va, length,
					    ODP_READ_ALLOWED_BIT |
					    (write ? ODP_WRITE_ALLOWED_BIT : 0), fault);
}

/* Nothing to do: the core records a page only after it was mapped. */
static inline void pinion_odp_unmark(struct ib_umem_odp *umem, size_t index, size_t pages)
{
}

static inline u64 pinion_odp_page(struct ib_umem_odp *umem, size_t index, bool *writable)
{
	dma_addr_t addr = umem->dma_list[index];

	*writable = false;
	if (!(addr & ODP_READ_ALLOWED_BIT))
		return 0;
	*writable = addr & ODP_WRITE_ALLOWED_BIT;
	return addr & ODP_DMA_ADDR_MASK;
}

static inline unsigned int pinion_odp_order(struct ib_umem_odp *umem, size_t index)
{
	return hmm_pfn_to_map_order(umem->pfn_list[index]);
}

#endif

#endif
