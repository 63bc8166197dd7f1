// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Exports pages as dma-bufs. The pages never move, so there are no ops to pin them and no
 * notification of importers. The dma-buf holds a reference to each page, so it does not depend on
 * the exported object or on the device.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/iosys-map.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "../compat/compat.h"
#include "export.h"

PINION_IMPORT_NS(DMA_BUF);

struct export {
	unsigned int num;
	struct page *pages[] __counted_by(num);
};

static struct sg_table *export_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct export *export = attach->dmabuf->priv;
	struct sg_table *sgt;
	int err;

	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL_ACCOUNT);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	err = sg_alloc_table_from_pages(sgt, export->pages, export->num, 0,
					(size_t)export->num << PAGE_SHIFT, GFP_KERNEL_ACCOUNT);
	if (err)
		goto err_free;
	err = dma_map_sgtable(attach->dev, sgt, dir, 0);
	if (err)
		goto err_free_table;
	return sgt;

err_free_table:
	sg_free_table(sgt);
err_free:
	kfree(sgt);
	return ERR_PTR(err);
}

static void export_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			 enum dma_data_direction dir)
{
	dma_unmap_sgtable(attach->dev, sgt, dir, 0);
	sg_free_table(sgt);
	kfree(sgt);
}

/* The area that was exported may be freed by now, so map the pages anew. */
static int export_map_for_cpu(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct export *export = dmabuf->priv;
	void *view = vmap(export->pages, export->num, VM_MAP, PAGE_KERNEL);

	if (!view)
		return -ENOMEM;
	iosys_map_set_vaddr(map, view);
	return 0;
}

static void export_unmap_for_cpu(struct dma_buf *dmabuf, struct iosys_map *map)
{
	vunmap(map->vaddr);
}

static void export_let_go(struct export *export)
{
	unsigned int i;

	for (i = 0; i < export->num; i++)
		put_page(export->pages[i]);
	kvfree(export);
}

static void export_release(struct dma_buf *dmabuf)
{
	export_let_go(dmabuf->priv);
}

static const struct dma_buf_ops ops = {
	.map_dma_buf = export_map,
	.unmap_dma_buf = export_unmap,
	.vmap = export_map_for_cpu,
	.vunmap = export_unmap_for_cpu,
	.release = export_release,
};

static struct export *export_hold(void *area, size_t size)
{
	unsigned int i, num = size >> PAGE_SHIFT;
	struct export *export;

	export = kvzalloc(struct_size(export, pages, num), GFP_KERNEL_ACCOUNT);
	if (!export)
		return NULL;
	export->num = num;
	for (i = 0; i < num; i++) {
		export->pages[i] = vmalloc_to_page(area + ((size_t)i << PAGE_SHIFT));
		get_page(export->pages[i]);
	}
	return export;
}

struct file *pinion_export(void *area, size_t size)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *dmabuf;
	struct export *export;

	export = export_hold(area, size);
	if (!export)
		return ERR_PTR(-ENOMEM);
	info.ops = &ops;
	info.size = size;
	info.flags = O_RDWR;
	info.priv = export;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		export_let_go(export);
		return ERR_CAST(dmabuf);
	}
	return dmabuf->file;
}
