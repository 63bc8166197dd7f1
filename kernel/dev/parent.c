// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A device's parent: the platform device memory is mapped for, as a network card
 * would be. Only ever handed out if its addresses can be turned back into pages.
 */
#include <linux/dma-mapping.h>
#include <linux/platform_device.h>

#include "../compat/compat.h"
#include "../mem/mtt.h"
#include "dev.h"

static int parent_prepare(struct device *parent)
{
	int err;

	/* It is the CPU that moves our bytes: caches need no care. The mask's setting looks. */
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
 * pinion_parent_create - a parent for one device, or a second way into its memory
 * @name: of the kind of platform device
 *
 * Return: the parent or an ERR_PTR; why is in the log.
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
 * @parent: nothing is mapped for it any more
 */
void pinion_parent_destroy(struct device *parent)
{
	platform_device_unregister(to_platform_device(parent));
}
