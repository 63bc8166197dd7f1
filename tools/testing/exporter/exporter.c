// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An exporter of dma-bufs for tests: moves them on request, takes them away, fails
 * where it is told to, and watches the pages that a buffer has left. For root, in a
 * kernel that can be thrown away.
 *
 * Pages, failures and counts of a buffer are under its reservation lock, but for what
 * is counted while it is not held.
 */
#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "exporter.h"

#ifdef EXPORTER_HAVE_INVALIDATE_MAPPINGS
#define tell_importers dma_buf_invalidate_mappings
#else
#define tell_importers dma_buf_move_notify
#endif

#define MAX_SIZE	(256UL << 20)
/* Left pages of so many moves are watched; older ones are looked at and freed. */
#define MAX_GRAVES	4
#define LEFT		0xdb	/* fills pages that were left */
#define JUNK		0x9c	/* fills pages whose content has not arrived */
/* Of a device, if anybody's. */
#define NOWHERE		BIT_ULL(45)
#define FLAGS		(EXPORTER_CONTIGUOUS | EXPORTER_NO_PIN | EXPORTER_NO_PAGES | \
			 EXPORTER_SHORT | EXPORTER_ODD)

struct buffer {
	struct dma_buf *dmabuf;
	struct page **pages;
	unsigned long num;
	u32 flags;
	bool revoked;
	int error[EXPORTER_STEPS];
	struct page **graves[MAX_GRAVES];
	unsigned int next_grave;
	u64 maps, unmaps, pins, unpins, moves, late, touched;
	atomic64_t attaches, detaches;
};

static atomic64_t live;
static struct workqueue_struct *wq;

/* -------------------------------------------------------------------- pages */

static void free_pages_of(struct page **pages, unsigned long num, u32 flags)
{
	unsigned long i;

	if (!pages)
		return;
	if (flags & EXPORTER_CONTIGUOUS)
		free_pages_exact(page_address(pages[0]), num << PAGE_SHIFT);
	else
		for (i = 0; i < num; i++)
			__free_page(pages[i]);
	kvfree(pages);
}

static int get_contiguous(struct page **pages, unsigned long num)
{
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | __GFP_RETRY_MAYFAIL;
	void *memory = alloc_pages_exact(num << PAGE_SHIFT, gfp);
	unsigned long i;

	if (!memory)
		return -ENOMEM;
	for (i = 0; i < num; i++)
		pages[i] = virt_to_page(memory + (i << PAGE_SHIFT));
	return 0;
}

static int get_scattered(struct page **pages, unsigned long num)
{
	unsigned long i, j;

	for (i = 0; i < num; i++) {
		pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!pages[i]) {
			while (i--)
				__free_page(pages[i]);
			return -ENOMEM;
		}
		cond_resched();
	}
	/* The allocator likes to give neighbours. */
	for (i = num - 1; i > 0; i--) {
		j = get_random_u32_below(i + 1);
		swap(pages[i], pages[j]);
	}
	return 0;
}

static struct page **get_pages_for(unsigned long num, u32 flags)
{
	struct page **pages = kvmalloc_array(num, sizeof(*pages), GFP_KERNEL);
	int err;

	if (!pages)
		return NULL;
	if (flags & EXPORTER_CONTIGUOUS)
		err = get_contiguous(pages, num);
	else
		err = get_scattered(pages, num);
	if (!err)
		return pages;
	kvfree(pages);
	return NULL;
}

static void fill(struct page **pages, unsigned long num, int byte)
{
	unsigned long i;

	for (i = 0; i < num; i++)
		memset(page_address(pages[i]), byte, PAGE_SIZE);
}

static u64 differ(struct page **pages, unsigned long num)
{
	unsigned long i, at;
	u64 wrong = 0;

	for (i = 0; pages && i < num; i++) {
		const u8 *bytes = page_address(pages[i]);

		if (!memchr_inv(bytes, LEFT, PAGE_SIZE))
			continue;
		for (at = 0; at < PAGE_SIZE; at++)
			wrong += bytes[at] != LEFT;
	}
	return wrong;
}

/* Watch pages that were left, in the place of the oldest ones. */
static void bury(struct buffer *buffer, struct page **pages)
{
	struct page ***grave = &buffer->graves[buffer->next_grave++ % MAX_GRAVES];

	buffer->touched += differ(*grave, buffer->num);
	free_pages_of(*grave, buffer->num, buffer->flags);
	fill(pages, buffer->num, LEFT);
	*grave = pages;
}

/* ------------------------------------------------------------------- dma-buf */

static int exporter_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct buffer *buffer = dmabuf->priv;
	int error = READ_ONCE(buffer->error[EXPORTER_ATTACH]);

	if (error)
		return -error;
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

/* As an exporter would that has its memory on a card. */
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
	if (buffer->error[EXPORTER_MAP])
		return ERR_PTR(-buffer->error[EXPORTER_MAP]);
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
		free_pages_of(buffer->graves[i], buffer->num, buffer->flags);
	free_pages_of(buffer->pages, buffer->num, buffer->flags);
	kfree(buffer);
	atomic64_dec(&live);
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

static const struct dma_buf_ops exporter_ops = {
	.attach = exporter_attach,
	.detach = exporter_detach,
	.pin = exporter_pin,
	.unpin = exporter_unpin,
	.map_dma_buf = exporter_map,
	.unmap_dma_buf = exporter_unmap,
	.release = exporter_release,
	.mmap = exporter_mmap,
};

static int create(struct exporter_create *arg)
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
	buffer->pages = get_pages_for(buffer->num, buffer->flags);
	if (!buffer->pages)
		goto err_free;
	info.ops = &exporter_ops;
	info.size = arg->size;
	info.flags = O_RDWR;
	info.priv = buffer;
	buffer->dmabuf = dma_buf_export(&info);
	if (IS_ERR(buffer->dmabuf)) {
		err = PTR_ERR(buffer->dmabuf);
		goto err_free_pages;
	}
	atomic64_inc(&live);
	arg->fd = dma_buf_fd(buffer->dmabuf, O_CLOEXEC);
	if (arg->fd < 0) {
		dma_buf_put(buffer->dmabuf);
		return arg->fd;
	}
	return 0;

err_free_pages:
	free_pages_of(buffer->pages, buffer->num, buffer->flags);
err_free:
	kfree(buffer);
	return err;
}

/* -------------------------------------------------------------------- moving */

/* A move whose content takes a while to arrive. */
struct arrival {
	struct dma_fence fence;
	spinlock_t lock;		/* the fence's */
	struct delayed_work work;
	struct buffer *buffer;		/* a reference to its dma-buf */
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

/* A word of each page; copying all of them would take longer than who comes late does. */
static void remember(u64 *words, struct page **pages, unsigned long num)
{
	while (num--)
		words[num] = READ_ONCE(*last_word(pages[num]));
}

/* Bytes that somebody has written since. */
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
	free_pages_of(arrival->content, arrival->buffer->num, arrival->buffer->flags);
	dma_fence_signal(&arrival->fence);
	dma_fence_put(&arrival->fence);
	dma_buf_put(dmabuf);
}

static struct arrival *new_arrival(struct buffer *buffer)
{
	struct arrival *arrival = kzalloc(sizeof(*arrival), GFP_KERNEL);

	if (!arrival)
		return NULL;
	arrival->content = get_pages_for(buffer->num, buffer->flags);
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
	free_pages_of(arrival->content, arrival->buffer->num, arrival->buffer->flags);
	dma_fence_signal(&arrival->fence);
	dma_fence_put(&arrival->fence);
}

/* The reservation lock is held. When this returns, nobody may use the pages. */
static void evict(struct buffer *buffer, u64 *words)
{
	tell_importers(buffer->dmabuf);
	if (words)
		remember(words, buffer->pages, buffer->num);
	buffer->late += buffer->maps - buffer->unmaps;
	unmap_mapping_range(buffer->dmabuf->file->f_mapping, 0, buffer->dmabuf->size, 1);
	buffer->moves++;
}

static int move(struct buffer *buffer, u32 delay_ms)
{
	struct page **from, **to = get_pages_for(buffer->num, buffer->flags);
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
	bury(buffer, from);
	if (arrival) {
		fill(to, buffer->num, JUNK);
		arrival->to = to;
		get_dma_buf(buffer->dmabuf);
		dma_resv_add_fence(resv, &arrival->fence, DMA_RESV_USAGE_KERNEL);
		queue_delayed_work(wq, &arrival->work, msecs_to_jiffies(delay_ms));
	}
	dma_resv_unlock(resv);
	kvfree(words);
	return 0;

err_unlock:
	dma_resv_unlock(resv);
	forget_arrival(arrival);
err_free:
	free_pages_of(to, buffer->num, buffer->flags);
	kvfree(words);
	return err;
}

static int revoke(struct buffer *buffer)
{
	struct dma_resv *resv = buffer->dmabuf->resv;

	dma_resv_lock(resv, NULL);
	dma_resv_wait_timeout(resv, DMA_RESV_USAGE_KERNEL, false, MAX_SCHEDULE_TIMEOUT);
	if (!buffer->revoked) {
		buffer->revoked = true;
		evict(buffer, NULL);
		bury(buffer, buffer->pages);
		buffer->pages = NULL;
	}
	dma_resv_unlock(resv);
	return 0;
}

static int stat(struct buffer *buffer, struct exporter_stat *arg)
{
	unsigned int i;

	dma_resv_lock(buffer->dmabuf->resv, NULL);
	arg->attaches = atomic64_read(&buffer->attaches);
	arg->detaches = atomic64_read(&buffer->detaches);
	arg->maps = buffer->maps;
	arg->unmaps = buffer->unmaps;
	arg->pins = buffer->pins;
	arg->unpins = buffer->unpins;
	arg->moves = buffer->moves;
	arg->late = buffer->late;
	arg->touched = buffer->touched;
	for (i = 0; i < MAX_GRAVES; i++)
		arg->touched += differ(buffer->graves[i], buffer->num);
	dma_resv_unlock(buffer->dmabuf->resv);
	return 0;
}

static int fail(struct buffer *buffer, const struct exporter_fail *arg)
{
	if (arg->step >= EXPORTER_STEPS || arg->error < 0 || arg->error > MAX_ERRNO)
		return -EINVAL;
	dma_resv_lock(buffer->dmabuf->resv, NULL);
	WRITE_ONCE(buffer->error[arg->step], arg->error);
	dma_resv_unlock(buffer->dmabuf->resv);
	return 0;
}

/* -------------------------------------------------------------------- device */

union argument {
	s32 fd;				/* what all but CREATE and LIVE begin with */
	struct exporter_create create;
	struct exporter_move move;
	struct exporter_fail fail;
	struct exporter_stat stat;
	u64 live;
};

static int with_buffer(unsigned int cmd, union argument *arg)
{
	struct dma_buf *dmabuf = dma_buf_get(arg->fd);
	int err;

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	if (dmabuf->ops != &exporter_ops)
		err = -EINVAL;
	else if (cmd == EXPORTER_MOVE)
		err = move(dmabuf->priv, arg->move.delay_ms);
	else if (cmd == EXPORTER_REVOKE)
		err = revoke(dmabuf->priv);
	else if (cmd == EXPORTER_FAIL)
		err = fail(dmabuf->priv, &arg->fail);
	else if (cmd == EXPORTER_STAT)
		err = stat(dmabuf->priv, &arg->stat);
	else
		err = -ENOTTY;
	dma_buf_put(dmabuf);
	return err;
}

static long exporter_ioctl(struct file *file, unsigned int cmd, unsigned long user)
{
	union argument arg = {};
	int err;

	if (_IOC_SIZE(cmd) > sizeof(arg))
		return -ENOTTY;
	if (_IOC_DIR(cmd) & _IOC_WRITE && copy_from_user(&arg, (void __user *)user, _IOC_SIZE(cmd)))
		return -EFAULT;
	if (cmd == EXPORTER_CREATE) {
		err = create(&arg.create);
	} else if (cmd == EXPORTER_LIVE) {
		arg.live = atomic64_read(&live);
		err = 0;
	} else {
		err = with_buffer(cmd, &arg);
	}
	if (!err && _IOC_DIR(cmd) & _IOC_READ &&
	    copy_to_user((void __user *)user, &arg, _IOC_SIZE(cmd)))
		err = -EFAULT;
	return err;
}

static const struct file_operations exporter_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = exporter_ioctl,
};

static struct miscdevice exporter = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "pinion_exporter",
	.mode = 0600,
	.fops = &exporter_fops,
};

static int __init exporter_init(void)
{
	int err;

	wq = alloc_workqueue("pinion_exporter", WQ_UNBOUND, 0);
	if (!wq)
		return -ENOMEM;
	err = misc_register(&exporter);
	if (err)
		destroy_workqueue(wq);
	return err;
}

static void __exit exporter_exit(void)
{
	misc_deregister(&exporter);
	/* A buffer keeps the module; its last work item may still be on the way out. */
	destroy_workqueue(wq);
}

module_init(exporter_init);
module_exit(exporter_exit);

#ifdef EXPORTER_HAVE_IMPORT_NS_STRING
MODULE_IMPORT_NS("DMA_BUF");
#else
MODULE_IMPORT_NS(DMA_BUF);
#endif
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Exports dma-bufs that move, fail and watch, for tests");
