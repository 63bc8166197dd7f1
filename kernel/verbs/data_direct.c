// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Data direct is mlx5's name for a second DMA device that dma-bufs can be attached to. Here: the
 * flag of a registration that asks for it, and the method that tells its path in sysfs. Attributes
 * and methods have mlx5's own numbers.
 */
#define UVERBS_MODULE_NAME pinion

#include <linux/slab.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_named_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "device.h"
#include "ops.h"

/**
 * pinion_wants_data_direct - does a registration of a dma-buf ask for data direct?
 * @attrs: of the registration, by whatever method
 * @wants: the answer
 *
 * Return: 0, or -EINVAL if unknown flags are set.
 */
int pinion_wants_data_direct(struct uverbs_attr_bundle *attrs, bool *wants)
{
	const struct ib_udata *udata = &attrs->driver_udata;
	u32 flags = 0;
	int err;

	*wants = false;
	/* Other methods use this attribute's number for drivers' data, not for the flags. */
	if (udata->inbuf || udata->outbuf)
		return 0;
	err = uverbs_get_flags32(&flags, attrs, MLX5_IB_ATTR_REG_DMABUF_MR_ACCESS_FLAGS,
				 MLX5_IB_UAPI_REG_DMABUF_ACCESS_DATA_DIRECT);
	*wants = flags;
	return err;
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(pinion_reg_dmabuf, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR,
			     UVERBS_ATTR_FLAGS_IN(MLX5_IB_ATTR_REG_DMABUF_MR_ACCESS_FLAGS,
						  enum mlx5_ib_uapi_reg_dmabuf_flags,
						  UA_OPTIONAL));

static int UVERBS_HANDLER(MLX5_IB_METHOD_GET_DATA_DIRECT_SYSFS_PATH)
	(struct uverbs_attr_bundle *attrs)
{
	int length = uverbs_attr_get_len(attrs, MLX5_IB_ATTR_GET_DATA_DIRECT_SYSFS_PATH);
	struct ib_ucontext *context = ib_uverbs_get_ucontext(attrs);
	char *path;
	int err;

	if (IS_ERR(context))
		return PTR_ERR(context);
	path = kobject_get_path(&to_pinion_dev(context->device)->data_direct->kobj, GFP_KERNEL);
	if (!path)
		return -ENOMEM;
	err = -ENOSPC;
	if (strlen(path) < length)
		err = uverbs_copy_to(attrs, MLX5_IB_ATTR_GET_DATA_DIRECT_SYSFS_PATH, path,
				     strlen(path) + 1);
	kfree(path);
	return err;
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_GET_DATA_DIRECT_SYSFS_PATH,
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_GET_DATA_DIRECT_SYSFS_PATH,
						UVERBS_ATTR_MIN_SIZE(0), UA_MANDATORY));

ADD_UVERBS_METHODS(pinion_device_methods, UVERBS_OBJECT_DEVICE,
		   &UVERBS_METHOD(MLX5_IB_METHOD_GET_DATA_DIRECT_SYSFS_PATH));

const struct uapi_definition pinion_data_direct_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_MR, &pinion_reg_dmabuf),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &pinion_device_methods),
	{},
};
