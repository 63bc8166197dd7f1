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

/*
 * What programs for mlx5 read of the parent, where a card has its PCI numbers. The vendor is one
 * that no PCI device has: nobody shall take this for a card who was not told to.
 */
static ssize_t vendor_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0xffff\n");
}
static DEVICE_ATTR_RO(vendor);

static ssize_t device_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0x0001\n");
}
static DEVICE_ATTR_RO(device);

static struct attribute *parent_ids_attrs[] = {
	&dev_attr_vendor.attr,
	&dev_attr_device.attr,
	NULL
};

static const struct attribute_group parent_ids_group = { .attrs = parent_ids_attrs };

static const struct attribute_group *parent_ids_groups[] = { &parent_ids_group, NULL };

/**
 * pinion_parent_create - make a platform device: a device's parent, or its data direct device
 * @name: its name, without the number
 * @has_ids: with files that have PCI numbers
 *
 * Return: the parent or an ERR_PTR, with the reason in the log.
 */
struct device *pinion_parent_create(const char *name, bool has_ids)
{
	struct platform_device *pdev;
	int err;

	pdev = platform_device_alloc(name, PLATFORM_DEVID_AUTO);
	if (!pdev)
		return ERR_PTR(-ENOMEM);
	if (has_ids)
		pdev->dev.groups = parent_ids_groups;
	err = platform_device_add(pdev);
	if (err) {
		platform_device_put(pdev);
		return ERR_PTR(err);
	}
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
