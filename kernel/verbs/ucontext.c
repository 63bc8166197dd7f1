// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process opens the device: which ABI both sides speak, and who performs what its
 * system calls leave behind.
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

static void ucontext_dealloc(struct ib_ucontext *context)
{
	struct pinion_ucontext *ucontext = to_pinion_ucontext(context);

	pinion_hints_destroy(&ucontext->hints);
	pinion_sleepers_abandon(ucontext->faulter);
	if (ucontext->wq)
		destroy_workqueue(ucontext->wq);
	pinion_user_put(ucontext->user);
}

/*
 * A workqueue has memory for each possible CPU, which the kernel charges to nobody: so there
 * is none before it is needed, and no more than two for what a process has paid for anyway.
 * No more requests are performed at a time than there are processors for: the others would
 * only take turns with them, at the cost of everybody else. Pages may take for ever, so
 * they are brought in a queue of their own, see struct pinion_sleepers.
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

/* A process that imports a context asks again. */
static int ucontext_query(struct ib_ucontext *context, struct uverbs_attr_bundle *attrs)
{
	struct pinion_alloc_ucontext_resp resp = ucontext_answer(context);

	return uverbs_copy_to_struct_or_zero(attrs, PINION_ATTR_QUERY_CONTEXT_RESP, &resp,
					     sizeof(resp));
}

/*
 * Its presence lets the module go while files are open. Rings that are mapped
 * stay mapped, with nobody at the other end.
 */
static void ucontext_disassociate(struct ib_ucontext *context)
{
}

const struct ib_device_ops pinion_ucontext_ops = {
	.alloc_ucontext = ucontext_alloc,
	.dealloc_ucontext = ucontext_dealloc,
	.disassociate_ucontext = ucontext_disassociate,
	.query_ucontext = ucontext_query,

	INIT_RDMA_OBJ_SIZE(ib_ucontext, pinion_ucontext, ibucontext),
};
