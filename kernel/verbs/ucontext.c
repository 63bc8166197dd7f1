// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Contexts: a process opens the device file. Checks the ABI version, and makes the work queues
 * that execute for the context's queue pairs outside of its system calls.
 */
#include <linux/workqueue.h>
#include <rdma/uverbs_ioctl.h>

#include "device.h"
#include "ops.h"
#include "ucontext.h"
#include "udata.h"
#include "user.h"

static struct pinion_alloc_ucontext_resp ucontext_answer(struct ib_ucontext *context)
{
	return (struct pinion_alloc_ucontext_resp){
		.abi_version = PINION_ABI_VERSION,
		.max_inline = PINION_MAX_INLINE,
		.max_sge = PINION_MAX_SGE,
		.null_lkey = to_pinion_dev(context->device)->node.keys.null->value,
	};
}

int pinion_ucontext_open(struct pinion_ucontext *ucontext)
{
	/* As mlx5 answers after a fatal error. */
	if (READ_ONCE(to_pinion_dev(ucontext->ibucontext.device)->broken))
		return -EAGAIN;
	ucontext->user = pinion_user_get(to_pinion_dev(ucontext->ibucontext.device));
	if (IS_ERR(ucontext->user))
		return PTR_ERR(ucontext->user);
	mutex_init(&ucontext->workers_lock);
	mutex_init(&ucontext->events_lock);
	pinion_hints_init(&ucontext->hints, ucontext->user->uid);
	return 0;
}

static int ucontext_alloc(struct ib_ucontext *context, struct ib_udata *udata)
{
	struct pinion_ucontext *ucontext = to_pinion_ucontext(context);
	struct pinion_alloc_ucontext_resp resp = ucontext_answer(context);
	struct pinion_alloc_ucontext_req req;
	int err;

	err = pinion_udata_in(udata, &req, sizeof(req), sizeof(req));
	if (err)
		return err;
	if (req.abi_version != PINION_ABI_VERSION || req.reserved)
		return -EOPNOTSUPP;
	err = pinion_ucontext_open(ucontext);
	if (err)
		return err;
	err = pinion_udata_out(udata, &resp, sizeof(resp));
	if (err)
		pinion_user_put(ucontext->user);
	return err;
}

void pinion_ucontext_close(struct ib_ucontext *context)
{
	struct pinion_ucontext *ucontext = to_pinion_ucontext(context);

	pinion_hints_destroy(&ucontext->hints);
	pinion_sleepers_abandon(ucontext->faulter);
	if (ucontext->wq)
		destroy_workqueue(ucontext->wq);
	pinion_user_put(ucontext->user);
}

/*
 * A workqueue allocates memory for each possible CPU, which the kernel charges to nobody. So a
 * context gets its two when its first queue is created, not when the file is opened.
 *
 * @wq runs at most one work item for each CPU that is online: more would only compete for the
 * CPUs. Faults may never end, so they have a workqueue of their own (struct pinion_sleepers) and
 * do not occupy those work items.
 */
int pinion_ucontext_make_workers(struct pinion_ucontext *ucontext)
{
	struct pinion_sleepers *faulter;

	guard(mutex)(&ucontext->workers_lock);
	if (!ucontext->wq)
		ucontext->wq = alloc_workqueue("pinion_user", WQ_UNBOUND, num_online_cpus());
	if (!ucontext->wq)
		return -ENOMEM;
	if (ucontext->faulter)
		return 0;
	faulter = pinion_faulter_create(ucontext->user->uid);
	if (IS_ERR(faulter))
		return PTR_ERR(faulter);
	ucontext->faulter = faulter;
	return 0;
}

/* Called when a process imports a context that another process has opened. */
static int ucontext_query(struct ib_ucontext *context, struct uverbs_attr_bundle *attrs)
{
	struct pinion_alloc_ucontext_resp resp = ucontext_answer(context);

	return uverbs_copy_to_struct_or_zero(attrs, PINION_ATTR_QUERY_CONTEXT_RESP, &resp,
					     sizeof(resp));
}

/*
 * The core removes a device while files are open only if this op exists. Rings stay mapped: each
 * mapped page has a reference of its own (mmap.c). After this the kernel no longer uses them.
 */
static void ucontext_disassociate(struct ib_ucontext *context)
{
}

const struct ib_device_ops pinion_ucontext_ops = {
	.alloc_ucontext = ucontext_alloc,
	.dealloc_ucontext = pinion_ucontext_close,
	.disassociate_ucontext = ucontext_disassociate,
	.query_ucontext = ucontext_query,

	INIT_RDMA_OBJ_SIZE(ib_ucontext, pinion_ucontext, ibucontext),
};
