// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DEVX commands as uverbs methods, with mlx5's own numbers for objects, methods and attributes.
 * logic/devx_cmd.c parses commands, devx_obj.c executes them.
 *
 * A command that is refused fails with EREMOTEIO, and its answer has a status and a syndrome. Any
 * other errno is about the call itself.
 */
#define UVERBS_MODULE_NAME pinion

#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_named_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "../logic/devx_caps.h"
#include "../logic/mlx5_wqe.h"
#include "../logic/wqe.h"
#include "devx_obj.h"
#include "ops.h"
#include "ucontext.h"

/* A parsed command, and the buffer for its answer. */
struct call {
	struct pinion_devx_cmd cmd;
	int refusal;			/* by pinion_devx_parse() */
	u8 *out;
	size_t out_length;
	u16 out_attr;
};

static int devx_call_begin(struct call *call, struct uverbs_attr_bundle *attrs, u16 in_attr,
			   u16 out_attr)
{
	const u8 *in = uverbs_attr_get_alloced_ptr(attrs, in_attr);

	if (IS_ERR(in))
		return PTR_ERR(in);
	call->out_attr = out_attr;
	call->out_length = uverbs_attr_get_len(attrs, out_attr);
	call->out = uverbs_zalloc(attrs, call->out_length);
	if (IS_ERR(call->out))
		return PTR_ERR(call->out);
	call->refusal = pinion_devx_parse(in, uverbs_attr_get_len(attrs, in_attr),
					  call->out_length, &call->cmd);
	return 0;
}

/* Copy the answer. @result: an enum pinion_devx_refusal, or a negative errno. */
static int devx_call_end(struct call *call, struct uverbs_attr_bundle *attrs, int result)
{
	int err;

	if (result < 0)
		return result;
	pinion_devx_put_refusal(call->out, result);
	err = uverbs_copy_to(attrs, call->out_attr, call->out, call->out_length);
	if (err)
		return err;
	return result ? -EREMOTEIO : 0;
}

/* ----------------------------------------------------------------- objects */

static int devx_obj_end(struct ib_uobject *uobject, enum rdma_remove_reason why,
			struct uverbs_attr_bundle *attrs)
{
	struct pinion_devx_obj *obj = uobject->object;
	int err;

	err = pinion_devx_end(obj);
	if (!err)
		kfree(obj);
	return err;
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OBJ_CREATE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject =
		uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
	struct pinion_devx_obj *obj;
	struct call call;
	int err;

	err = devx_call_begin(&call, attrs, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN,
			      MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT);
	if (err)
		return err;
	if (call.refusal)
		return devx_call_end(&call, attrs, call.refusal);
	obj = kzalloc(sizeof(*obj), GFP_KERNEL_ACCOUNT);
	if (!obj)
		return -ENOMEM;
	obj->dev = to_pinion_dev(uobject->context->device);
	obj->ucontext = to_pinion_ucontext(uobject->context);
	obj->user = obj->ucontext->user;
	obj->handle = uobject->id;
	err = pinion_devx_make(obj, &call.cmd, uobject->context, call.out);
	if (err) {
		kfree(obj);
		return devx_call_end(&call, attrs, err);
	}
	err = devx_call_end(&call, attrs, 0);
	if (err) {
		pinion_devx_end(obj);
		kfree(obj);
		return err;
	}
	pinion_devx_publish(obj, uobject->context);
	uobject->object = obj;
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OBJ_CREATE,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE,
					    MLX5_IB_OBJECT_DEVX_OBJ, UVERBS_ACCESS_NEW,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN,
					       UVERBS_ATTR_MIN_SIZE(PINION_DEVX_HEAD),
					       UA_MANDATORY, UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT,
						UVERBS_ATTR_MIN_SIZE(PINION_DEVX_HEAD),
						UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_DEVX_OBJ_DESTROY,
				    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE,
						    MLX5_IB_OBJECT_DEVX_OBJ,
						    UVERBS_ACCESS_DESTROY, UA_MANDATORY));

/* The command must be about the object of the handle. */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OBJ_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct pinion_devx_obj *obj =
		uverbs_attr_get_obj(attrs, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE);
	struct call call;
	int err;

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	err = devx_call_begin(&call, attrs, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN,
			      MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT);
	if (err)
		return err;
	if (call.refusal)
		return devx_call_end(&call, attrs, call.refusal);
	return devx_call_end(&call, attrs, pinion_devx_query(obj, &call.cmd, call.out));
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OBJ_QUERY,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE,
					    MLX5_IB_OBJECT_DEVX_OBJ, UVERBS_ACCESS_READ,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN,
					       UVERBS_ATTR_MIN_SIZE(PINION_DEVX_HEAD),
					       UA_MANDATORY, UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT,
						UVERBS_ATTR_MIN_SIZE(PINION_DEVX_HEAD),
						UA_MANDATORY));

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OBJ_MODIFY)(struct uverbs_attr_bundle *attrs)
{
	struct pinion_devx_obj *obj =
		uverbs_attr_get_obj(attrs, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE);
	struct call call;
	int err;

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	err = devx_call_begin(&call, attrs, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN,
			      MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT);
	if (err)
		return err;
	if (call.refusal)
		return devx_call_end(&call, attrs, call.refusal);
	err = pinion_devx_may_modify(obj, &call.cmd);
	if (err)
		return devx_call_end(&call, attrs, err);
	/* Copy the answer first: if that fails nothing has changed. */
	err = devx_call_end(&call, attrs, PINION_DEVX_DONE);
	if (err)
		return err;
	err = pinion_devx_modify(obj, &call.cmd);
	return err ? devx_call_end(&call, attrs, err) : 0;
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OBJ_MODIFY,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE,
					    MLX5_IB_OBJECT_DEVX_OBJ, UVERBS_ACCESS_WRITE,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN,
					       UVERBS_ATTR_MIN_SIZE(PINION_DEVX_HEAD),
					       UA_MANDATORY, UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT,
						UVERBS_ATTR_MIN_SIZE(PINION_DEVX_HEAD),
						UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_DEVX_OBJ, UVERBS_TYPE_ALLOC_IDR(devx_obj_end),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_CREATE),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_DESTROY),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_MODIFY),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_QUERY));

/* ------------------------------------------------------------ other commands */

static const struct pinion_devx_caps caps = {
	.log_max_key = ilog2(PINION_MAX_MR),
	.log_max_pd = ilog2(PINION_MAX_PD),
	.log_max_umem = PINION_LOG_MAX_UMEM,
	.log_max_klms = PINION_DEVX_LOG_MAX_KLMS,
	/* As adapters have it: UCX refuses a device with any other value. */
	.log_max_message = 30,
	.log_max_copy = PINION_MLX5_LOG_MAX_COPY,
	.page_shift = PAGE_SHIFT,
	.log_max_qp = ilog2(PINION_MAX_QP),
	.log_max_qp_size = ilog2(PINION_MAX_QP_WR),
	.log_max_cq = ilog2(PINION_MAX_CQ),
	.log_max_cq_size = ilog2(PINION_MAX_CQE),
	.log_max_rmp = ilog2(PINION_MAX_SRQ),
	.odp_rc = PINION_ODP_MESSAGES | PINION_ODP_MEMORY,
	.odp_uc = PINION_ODP_MESSAGES | IB_ODP_SUPPORT_WRITE,
	.odp_ud = PINION_ODP_MESSAGES,
	.odp_xrc = PINION_ODP_MESSAGES | PINION_ODP_MEMORY,
};

/* Commands without an object. Those that create one use another method and get a handle. */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OTHER)(struct uverbs_attr_bundle *attrs)
{
	struct call call;
	int err;

	err = devx_call_begin(&call, attrs, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN,
			      MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT);
	if (err)
		return err;
	if (call.refusal)
		return devx_call_end(&call, attrs, call.refusal);
	/* All of its answer is 0: the port is not aggregated with another. */
	if (call.cmd.opcode == PINION_DEVX_QUERY_LAG)
		return devx_call_end(&call, attrs, PINION_DEVX_DONE);
	if (call.cmd.opcode != PINION_DEVX_QUERY_HCA_CAP)
		return devx_call_end(&call, attrs, PINION_DEVX_WRONG_CALL);
	return devx_call_end(&call, attrs, pinion_devx_put_caps(call.out, call.out_length,
								call.cmd.capability, &caps));
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OTHER,
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN,
					       UVERBS_ATTR_MIN_SIZE(PINION_DEVX_HEAD),
					       UA_MANDATORY, UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT,
						UVERBS_ATTR_MIN_SIZE(PINION_DEVX_HEAD),
						UA_MANDATORY));

/* Answer with the number that CREATE_CQ has in place of a completion vector. */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_QUERY_EQN)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *context = ib_uverbs_get_ucontext(attrs);
	u32 vector, eqn;
	int err;

	if (IS_ERR(context))
		return PTR_ERR(context);
	err = uverbs_copy_from(&vector, attrs, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC);
	if (err)
		return err;
	if (vector >= context->device->num_comp_vectors)
		return -EINVAL;
	eqn = vector + 1;
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, &eqn, sizeof(eqn));
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_QUERY_EQN,
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC,
					       UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN,
						UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(MLX5_IB_OBJECT_DEVX, &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OTHER),
			      &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_QUERY_EQN));

const struct uapi_definition pinion_devx_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX_OBJ),
	{},
};
