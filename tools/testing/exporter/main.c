// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An exporter of dma-bufs for tests: moves and revokes them on request, fails where told to, and
 * watches pages that buffers have left. Also memory whose pages are held back. For root, in a
 * disposable kernel.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "buffer.h"
#include "slow.h"

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
		arg->touched += exporter_differ(buffer->graves[i], buffer->num);
	dma_resv_unlock(buffer->dmabuf->resv);
	return 0;
}

static int fail(struct buffer *buffer, const struct exporter_fail *arg)
{
	if (arg->step >= EXPORTER_STEPS || arg->error < 0 || arg->error > MAX_ERRNO)
		return -EINVAL;
	dma_resv_lock(buffer->dmabuf->resv, NULL);
	WRITE_ONCE(buffer->error[arg->step], arg->error);
	if (arg->step == EXPORTER_MAP)
		buffer->map_fails = arg->times;
	dma_resv_unlock(buffer->dmabuf->resv);
	return 0;
}

union argument {
	s32 fd;				/* all calls for buffers but CREATE begin with it */
	struct exporter_create create;
	struct exporter_move move;
	struct exporter_fail fail;
	struct exporter_stat stat;
	u64 live;
	u32 hold, waiting;
};

static int with_buffer(unsigned int cmd, union argument *arg)
{
	struct dma_buf *dmabuf = dma_buf_get(arg->fd);
	int err;

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	if (!exporter_is_ours(dmabuf))
		err = -EINVAL;
	else if (cmd == EXPORTER_MOVE)
		err = exporter_move(dmabuf->priv, arg->move.delay_ms);
	else if (cmd == EXPORTER_REVOKE)
		err = exporter_revoke(dmabuf->priv);
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
		err = exporter_create_buffer(&arg.create);
	} else if (cmd == EXPORTER_LIVE) {
		arg.live = atomic64_read(&exporter_live);
		err = 0;
	} else if (cmd == EXPORTER_HOLD) {
		exporter_hold(file, arg.hold);
		err = 0;
	} else if (cmd == EXPORTER_WAITING) {
		arg.waiting = exporter_waiting(file);
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
	.open = exporter_open,
	.release = exporter_close,
	.mmap = exporter_mmap_slow,
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

	exporter_wq = alloc_workqueue("pinion_exporter", WQ_UNBOUND, 0);
	if (!exporter_wq)
		return -ENOMEM;
	err = misc_register(&exporter);
	if (err)
		destroy_workqueue(exporter_wq);
	return err;
}

static void __exit exporter_exit(void)
{
	misc_deregister(&exporter);
	/* Each buffer holds the module, but its last work item may still be running. */
	destroy_workqueue(exporter_wq);
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
