// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Moves buffers, at once or with contents that arrive later, and revokes them.
 */
#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "buffer.h"

#ifdef EXPORTER_HAVE_INVALIDATE_MAPPINGS
#define tell_importers dma_buf_invalidate_mappings
#else
#define tell_importers dma_buf_move_notify
#endif

#define JUNK	0x9c	/* fills pages whose contents have not arrived */

struct workqueue_struct *exporter_wq;

/* A move whose contents arrive later. */
struct arrival {
	struct dma_fence fence;
	spinlock_t lock;		/* of the fence */
	struct delayed_work work;
	struct buffer *buffer;		/* holds a reference to its dma-buf */
	struct page **content, **to;
};

static const char *fence_name(struct dma_fence *fence)
{
	return "pinion_exporter";
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_name,
	.get_timeline_name = fence_name,
};

static void copy(struct page **to, struct page **from, unsigned long num)
{
	unsigned long i;

	for (i = 0; i < num; i++)
		memcpy(page_address(to[i]), page_address(from[i]), PAGE_SIZE);
}

static u64 *last_word(struct page *page)
{
	return page_address(page) + PAGE_SIZE - sizeof(u64);
}

/* Remembers one word of each page; copying whole pages would take longer than a late write. */
static void remember(u64 *words, struct page **pages, unsigned long num)
{
	while (num--)
		words[num] = READ_ONCE(*last_word(pages[num]));
}

/* Number of bytes that were written since. */
static u64 changed(const u64 *words, struct page **pages, unsigned long num)
{
	u64 bytes = 0;

	while (num--)
		bytes += words[num] != *last_word(pages[num]) ? sizeof(u64) : 0;
	return bytes;
}

static void arrive(struct work_struct *work)
{
	struct arrival *arrival = container_of(to_delayed_work(work), struct arrival, work);
	struct dma_buf *dmabuf = arrival->buffer->dmabuf;

	copy(arrival->to, arrival->content, arrival->buffer->num);
	exporter_free_pages(arrival->content, arrival->buffer->num, arrival->buffer->flags);
	dma_fence_signal(&arrival->fence);
	dma_fence_put(&arrival->fence);
	dma_buf_put(dmabuf);
}

static struct arrival *new_arrival(struct buffer *buffer)
{
	struct arrival *arrival = kzalloc(sizeof(*arrival), GFP_KERNEL);

	if (!arrival)
		return NULL;
	arrival->content = exporter_get_pages(buffer->num, buffer->flags);
	if (!arrival->content) {
		kfree(arrival);
		return NULL;
	}
	spin_lock_init(&arrival->lock);
	dma_fence_init(&arrival->fence, &fence_ops, &arrival->lock, dma_fence_context_alloc(1), 1);
	INIT_DELAYED_WORK(&arrival->work, arrive);
	arrival->buffer = buffer;
	return arrival;
}

static void forget_arrival(struct arrival *arrival)
{
	if (!arrival)
		return;
	exporter_free_pages(arrival->content, arrival->buffer->num, arrival->buffer->flags);
	dma_fence_signal(&arrival->fence);
	dma_fence_put(&arrival->fence);
}

/* The caller holds the reservation lock. When this returns, importers must not use the pages. */
static void evict(struct buffer *buffer, u64 *words)
{
	tell_importers(buffer->dmabuf);
	if (words)
		remember(words, buffer->pages, buffer->num);
	buffer->late += buffer->maps - buffer->unmaps;
	unmap_mapping_range(buffer->dmabuf->file->f_mapping, 0, buffer->dmabuf->size, 1);
	buffer->moves++;
}

int exporter_move(struct buffer *buffer, u32 delay_ms)
{
	struct page **from, **to = exporter_get_pages(buffer->num, buffer->flags);
	u64 *words = kvmalloc_array(buffer->num, sizeof(*words), GFP_KERNEL);
	struct dma_resv *resv = buffer->dmabuf->resv;
	struct arrival *arrival = NULL;
	int err = -ENOMEM;

	if (!to || !words)
		goto err_free;
	if (delay_ms) {
		arrival = new_arrival(buffer);
		if (!arrival)
			goto err_free;
	}
	dma_resv_lock(resv, NULL);
	dma_resv_wait_timeout(resv, DMA_RESV_USAGE_KERNEL, false, MAX_SCHEDULE_TIMEOUT);
	err = buffer->revoked ? -ENODEV : dma_resv_reserve_fences(resv, 1);
	if (err)
		goto err_unlock;
	evict(buffer, words);
	from = buffer->pages;
	buffer->pages = to;
	copy(arrival ? arrival->content : to, from, buffer->num);
	buffer->touched += changed(words, from, buffer->num);
	exporter_bury(buffer, from);
	if (arrival) {
		exporter_fill(to, buffer->num, JUNK);
		arrival->to = to;
		get_dma_buf(buffer->dmabuf);
		dma_resv_add_fence(resv, &arrival->fence, DMA_RESV_USAGE_KERNEL);
		queue_delayed_work(exporter_wq, &arrival->work, msecs_to_jiffies(delay_ms));
	}
	dma_resv_unlock(resv);
	kvfree(words);
	return 0;

err_unlock:
	dma_resv_unlock(resv);
	forget_arrival(arrival);
err_free:
	exporter_free_pages(to, buffer->num, buffer->flags);
	kvfree(words);
	return err;
}

int exporter_revoke(struct buffer *buffer)
{
	struct dma_resv *resv = buffer->dmabuf->resv;

	dma_resv_lock(resv, NULL);
	dma_resv_wait_timeout(resv, DMA_RESV_USAGE_KERNEL, false, MAX_SCHEDULE_TIMEOUT);
	if (!buffer->revoked) {
		buffer->revoked = true;
		evict(buffer, NULL);
		exporter_bury(buffer, buffer->pages);
		buffer->pages = NULL;
	}
	dma_resv_unlock(resv);
	return 0;
}
