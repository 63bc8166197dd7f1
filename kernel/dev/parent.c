// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The parent of a device: a platform device, for which memory is DMA-mapped as for a card. It is
 * created only if pages can be found from its DMA addresses.
 */
#include <linux/dma-mapping.h>
#include <linux/platform_device.h>

#include "../compat/compat.h"
#include "../mem/mtt.h"
#include "dev.h"

static int parent_prepare(struct device *parent)
{
	int err;

	/* The CPU moves the bytes, so DMA is coherent. Must be set before the DMA mask is. */
	pinion_dev_set_coherent(parent);
	err = dma_coerce_mask_and_coherent(parent, DMA_BIT_MASK(64));
	if (err) {
		pr_err("pinion: no 64-bit DMA on this machine (%d)\n", err);
		return err;
	}
	dma_set_max_seg_size(parent, UINT_MAX);
	err = pinion_dma_provable(parent);
	if (err)
		pr_err("pinion: DMA addresses do not lead back to pages here (an IOMMU, bounce buffers or encrypted memory is in between), so this device cannot work (%d)\n",
		       err);
	return err;
}

/**
 * pinion_parent_create - make a platform device: a device's parent, or its data direct device
 * @name: its name, without the number
 *
 * Return: the parent or an ERR_PTR, with the reason in the log.
 */
struct device *pinion_parent_create(const char *name)
{
	struct platform_device *pdev;
	int err;

	pdev = platform_device_register_simple(name, PLATFORM_DEVID_AUTO, NULL, 0);
	if (IS_ERR(pdev))
		return ERR_CAST(pdev);
	err = parent_prepare(&pdev->dev);
	if (err) {
		platform_device_unregister(pdev);
		return ERR_PTR(err);
	}
	return &pdev->dev;
}

/**
 * pinion_parent_destroy - undo pinion_parent_create()
 * @parent: nothing may be DMA-mapped for it any more
 */
void pinion_parent_destroy(struct device *parent)
{
	platform_device_unregister(to_platform_device(parent));
}
