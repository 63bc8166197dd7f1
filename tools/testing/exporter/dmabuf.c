// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The dma-buf operations, for importers and users of a buffer.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/iosys-map.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "buffer.h"

#define MAX_SIZE	(256UL << 20)
/* A made-up bus address without memory. */
#define NOWHERE		BIT_ULL(45)
#define FLAGS		(EXPORTER_CONTIGUOUS | EXPORTER_NO_PIN | EXPORTER_NO_PAGES | \
			 EXPORTER_SHORT | EXPORTER_ODD | EXPORTER_NO_CPU | EXPORTER_REVOCABLE)

atomic64_t exporter_live;

static int exporter_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct buffer *buffer = dmabuf->priv;
	int error = READ_ONCE(buffer->error[EXPORTER_ATTACH]);

	if (error)
		return -error;
#ifdef EXPORTER_HAVE_INVALIDATE_MAPPINGS
	if (buffer->flags & EXPORTER_REVOCABLE && !dma_buf_attach_revocable(attach))
		return -EOPNOTSUPP;
#endif
	atomic64_inc(&buffer->attaches);
	return 0;
}

static void exporter_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct buffer *buffer = dmabuf->priv;

	atomic64_inc(&buffer->detaches);
}

static int exporter_pin(struct dma_buf_attachment *attach)
{
	struct buffer *buffer = attach->dmabuf->priv;

	if (buffer->flags & EXPORTER_NO_PIN)
		return -EOPNOTSUPP;
	if (buffer->error[EXPORTER_PIN])
		return -buffer->error[EXPORTER_PIN];
	buffer->pins++;
	return 0;
}

static void exporter_unpin(struct dma_buf_attachment *attach)
{
	struct buffer *buffer = attach->dmabuf->priv;

	buffer->unpins++;
}

/* Like an exporter whose memory is on a card. */
static int map_nowhere(struct buffer *buffer, struct sg_table *sgt)
{
	int err = sg_alloc_table(sgt, 1, GFP_KERNEL);

	if (err)
		return err;
	sg_set_page(sgt->sgl, NULL, buffer->num << PAGE_SHIFT, 0);
	sg_dma_address(sgt->sgl) = NOWHERE;
	sg_dma_len(sgt->sgl) = buffer->num << PAGE_SHIFT;
	return 0;
}

static int map_pages(struct buffer *buffer, struct sg_table *sgt, struct device *dev,
		     enum dma_data_direction dir)
{
	unsigned long num = buffer->num - !!(buffer->flags & EXPORTER_SHORT);
	unsigned int odd = buffer->flags & EXPORTER_ODD ? 512 : 0;
	struct scatterlist *sg;
	unsigned int i;
	int err;

	if (!num)
		return -EINVAL;
	if (buffer->flags & EXPORTER_CONTIGUOUS) {
		err = sg_alloc_table(sgt, 1, GFP_KERNEL);
		if (err)
			return err;
		sg_set_page(sgt->sgl, buffer->pages[0], (num << PAGE_SHIFT) - odd, odd);
	} else {
		err = sg_alloc_table(sgt, num, GFP_KERNEL);
		if (err)
			return err;
		for_each_sgtable_sg(sgt, sg, i)
			sg_set_page(sg, buffer->pages[i], PAGE_SIZE - odd, odd);
	}
	err = dma_map_sgtable(dev, sgt, dir, 0);
	if (err)
		sg_free_table(sgt);
	return err;
}

static struct sg_table *exporter_map(struct dma_buf_attachment *attach,
				     enum dma_data_direction dir)
{
	struct buffer *buffer = attach->dmabuf->priv;
	struct sg_table *sgt;
	int err;

	dma_resv_assert_held(attach->dmabuf->resv);
	if (buffer->error[EXPORTER_MAP]) {
		int error = buffer->error[EXPORTER_MAP];

		if (buffer->map_fails && !--buffer->map_fails)
			buffer->error[EXPORTER_MAP] = 0;
		return ERR_PTR(-error);
	}
	if (buffer->revoked)
		return ERR_PTR(-ENODEV);
	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	if (buffer->flags & EXPORTER_NO_PAGES)
		err = map_nowhere(buffer, sgt);
	else
		err = map_pages(buffer, sgt, attach->dev, dir);
	if (err) {
		kfree(sgt);
		return ERR_PTR(err);
	}
	buffer->maps++;
	return sgt;
}

static void exporter_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			   enum dma_data_direction dir)
{
	struct buffer *buffer = attach->dmabuf->priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	if (!(buffer->flags & EXPORTER_NO_PAGES))
		dma_unmap_sgtable(attach->dev, sgt, dir, 0);
	sg_free_table(sgt);
	kfree(sgt);
	buffer->unmaps++;
}

static void exporter_release(struct dma_buf *dmabuf)
{
	struct buffer *buffer = dmabuf->priv;
	unsigned int i;

	WARN_ON(buffer->maps != buffer->unmaps || buffer->pins != buffer->unpins);
	for (i = 0; i < MAX_GRAVES; i++)
		exporter_free_pages(buffer->graves[i], buffer->num, buffer->flags);
	exporter_free_pages(buffer->pages, buffer->num, buffer->flags);
	kfree(buffer);
	atomic64_dec(&exporter_live);
}

static vm_fault_t exporter_fault(struct vm_fault *vmf)
{
	struct buffer *buffer = vmf->vma->vm_private_data;
	struct dma_resv *resv = buffer->dmabuf->resv;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	if (dma_resv_wait_timeout(resv, DMA_RESV_USAGE_KERNEL, true, MAX_SCHEDULE_TIMEOUT) < 0)
		return VM_FAULT_NOPAGE;
	dma_resv_lock(resv, NULL);
	if (!dma_resv_test_signaled(resv, DMA_RESV_USAGE_KERNEL))
		ret = VM_FAULT_NOPAGE;
	else if (!buffer->revoked && vmf->pgoff < buffer->num)
		ret = vmf_insert_pfn(vmf->vma, vmf->address,
				     page_to_pfn(buffer->pages[vmf->pgoff]));
	dma_resv_unlock(resv);
	return ret;
}

static const struct vm_operations_struct exporter_vm_ops = {
	.fault = exporter_fault,
};

static int exporter_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vma->vm_ops = &exporter_vm_ops;
	vma->vm_private_data = dmabuf->priv;
	vm_flags_set(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	return 0;
}

/* By having this operation an exporter declares that the CPU may access its memory. */
static int exporter_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct buffer *buffer = dmabuf->priv;
	void *view = vmap(buffer->pages, buffer->num, VM_MAP, PAGE_KERNEL);

	if (!view)
		return -ENOMEM;
	iosys_map_set_vaddr(map, view);
	return 0;
}

static void exporter_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	vunmap(map->vaddr);
}

#define OPS							\
	.attach = exporter_attach,				\
	.detach = exporter_detach,				\
	.pin = exporter_pin,					\
	.unpin = exporter_unpin,				\
	.map_dma_buf = exporter_map,				\
	.unmap_dma_buf = exporter_unmap,			\
	.release = exporter_release,				\
	.mmap = exporter_mmap

static const struct dma_buf_ops exporter_ops = {
	OPS,
	.vmap = exporter_vmap,
	.vunmap = exporter_vunmap,
};

static const struct dma_buf_ops exporter_device_ops = {
	OPS,
};

bool exporter_is_ours(const struct dma_buf *dmabuf)
{
	return dmabuf->ops == &exporter_ops || dmabuf->ops == &exporter_device_ops;
}

int exporter_create_buffer(struct exporter_create *arg)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct buffer *buffer;
	int err = -ENOMEM;

	if (!arg->size || !PAGE_ALIGNED(arg->size) || arg->size > MAX_SIZE || arg->flags & ~FLAGS)
		return -EINVAL;
	buffer = kzalloc(sizeof(*buffer), GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	buffer->num = arg->size >> PAGE_SHIFT;
	buffer->flags = arg->flags;
	buffer->pages = exporter_get_pages(buffer->num, buffer->flags);
	if (!buffer->pages)
		goto err_free;
	info.ops = arg->flags & EXPORTER_NO_CPU ? &exporter_device_ops : &exporter_ops;
	info.size = arg->size;
	info.flags = O_RDWR;
	info.priv = buffer;
	buffer->dmabuf = dma_buf_export(&info);
	if (IS_ERR(buffer->dmabuf)) {
		err = PTR_ERR(buffer->dmabuf);
		goto err_free_pages;
	}
	atomic64_inc(&exporter_live);
	arg->fd = dma_buf_fd(buffer->dmabuf, O_CLOEXEC);
	if (arg->fd < 0) {
		dma_buf_put(buffer->dmabuf);
		return arg->fd;
	}
	return 0;

err_free_pages:
	exporter_free_pages(buffer->pages, buffer->num, buffer->flags);
err_free:
	kfree(buffer);
	return err;
}
