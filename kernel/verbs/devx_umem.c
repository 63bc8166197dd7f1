// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DEVX umems as uverbs objects, with mlx5's own numbers for object, methods and attributes. See
 * mem/umem.c.
 */
#define UVERBS_MODULE_NAME pinion

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_named_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "device.h"
#include "ops.h"
#include "user.h"

#define UMEM_RIGHTS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
		     IB_ACCESS_RELAXED_ORDERING)

static int umem_cleanup(struct ib_uobject *uobject, enum rdma_remove_reason why,
			struct uverbs_attr_bundle *attrs)
{
	struct pinion_user *user = to_pinion_ucontext(uobject->context)->user;
	struct pinion_dev *dev = to_pinion_dev(uobject->context->device);
	int err;

	err = pinion_umem_destroy(&dev->umems, uobject->object);
	if (!err)
		pinion_count_out(dev, user, PINION_COUNT_UMEM);
	return err;
}

static int umem_read_want(struct uverbs_attr_bundle *attrs, struct ib_device *ibdev,
			  struct pinion_umem_want *want)
{
	int err;

	if (uverbs_copy_from(&want->addr, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR) ||
	    uverbs_copy_from(&want->length, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN))
		return -EFAULT;
	err = uverbs_get_flags32(&want->access, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS,
				 UMEM_RIGHTS);
	if (err)
		return err;
	err = ib_check_mr_access(ibdev, want->access);
	if (err)
		return err;
	want->is_dmabuf = uverbs_attr_is_valid(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD);
	if (want->is_dmabuf) {
		err = uverbs_get_raw_fd(&want->fd, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD);
		if (err)
			return err;
	}
	return uverbs_get_const_default_unsigned(&want->page_sizes, attrs,
						 MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP,
						 U64_MAX);
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_UMEM_REG)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject =
		uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE);
	struct pinion_user *user = to_pinion_ucontext(uobject->context)->user;
	struct ib_device *ibdev = uobject->context->device;
	struct pinion_umems *umems = &to_pinion_dev(ibdev)->umems;
	struct pinion_umem_want want = {};
	struct pinion_umem *umem;
	int err;

	err = umem_read_want(attrs, ibdev, &want);
	if (err)
		return err;
	err = pinion_count_verb(to_pinion_dev(ibdev), user, PINION_COUNT_UMEM);
	if (err)
		return err;
	umem = pinion_umem_create(umems, ibdev, uobject->context, &want);
	if (IS_ERR(umem)) {
		err = PTR_ERR(umem);
		goto err_count_out;
	}
	err = uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &umem->id,
			     sizeof(umem->id));
	if (err) {
		pinion_umem_destroy(umems, umem);
		goto err_count_out;
	}
	/* Other threads can use it at once, so nothing may fail from here on. */
	pinion_umem_publish(umems, umem);
	uobject->object = umem;
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE);
	return 0;

err_count_out:
	pinion_count_out(to_pinion_dev(ibdev), user, PINION_COUNT_UMEM);
	return err;
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_UMEM_REG,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE,
					    MLX5_IB_OBJECT_DEVX_UMEM, UVERBS_ACCESS_NEW,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR,
					       UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_LEN,
					       UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
			    UVERBS_ATTR_RAW_FD(MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD, UA_OPTIONAL),
			    UVERBS_ATTR_FLAGS_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS,
						 enum ib_access_flags),
			    UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, u64),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID,
						UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_DEVX_UMEM_DEREG,
				    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE,
						    MLX5_IB_OBJECT_DEVX_UMEM,
						    UVERBS_ACCESS_DESTROY, UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_DEVX_UMEM, UVERBS_TYPE_ALLOC_IDR(umem_cleanup),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_UMEM_REG),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_UMEM_DEREG));

const struct uapi_definition pinion_devx_umem_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX_UMEM),
	{},
};
