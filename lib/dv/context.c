// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Finds out whether devices and contexts are ours, opens contexts, and tells the numbers
 * by which commands name verbs objects.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rdma/pinion-abi.h>

#include "dv.h"

/*
 * A call with our driver id: every other device refuses it before anything else is
 * checked.
 */
static bool ask(struct ibv_context *context)
{
	struct pinion_alloc_ucontext_resp resp = {};
	int saved = errno;
	struct dv_call call;
	int err;

	dv_begin(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
	dv_out(&call, PINION_ATTR_QUERY_CONTEXT_RESP, &resp, sizeof(resp));
	err = dv_issue(context, &call);
	errno = saved;
	return !err && resp.abi_version == PINION_ABI_VERSION;
}

bool dv_is_ours(struct ibv_context *context)
{
	return context && ask(context);
}

/*
 * The module's devices have its name in the firmware version. These are also those of type
 * pinion-mlx5, for which libmlx5 would say the same, and which it opens for commands in any case.
 */
static bool is_our_device(struct ibv_device *device)
{
	char path[IBV_SYSFS_PATH_MAX + 8], text[8] = "";
	int saved = errno;
	int fd;

	snprintf(path, sizeof(path), "%s/fw_ver", device->ibdev_path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, text, sizeof(text) - 1) < 0)
			text[0] = 0;
		close(fd);
	}
	errno = saved;
	return !strncmp(text, "pinion-", 7);
}

EXPORT bool mlx5dv_is_supported(struct ibv_device *device)
{
	__typeof__(&mlx5dv_is_supported) real;

	if (is_our_device(device))
		return true;
	real = DV_REAL(mlx5dv_is_supported, "MLX5_1.8");
	return real ? real(device) : false;
}

/* All our contexts accept DEVX commands, with or without the flag. */
EXPORT struct ibv_context *mlx5dv_open_device(struct ibv_device *device,
					      struct mlx5dv_context_attr *attr)
{
	__typeof__(&mlx5dv_open_device) real;

	if (is_our_device(device)) {
		if (attr && (attr->flags & ~MLX5DV_CONTEXT_FLAGS_DEVX ||
			     attr->comp_mask))
			return dv_null(EOPNOTSUPP);
		return ibv_open_device(device);
	}
	real = DV_REAL(mlx5dv_open_device, "MLX5_1.7");
	return real ? real(device, attr) : dv_null(EOPNOTSUPP);
}

/* The device has no feature that comp_mask can ask about. */
EXPORT int mlx5dv_query_device(struct ibv_context *ctx_in,
			       struct mlx5dv_context *attrs_out)
{
	__typeof__(&mlx5dv_query_device) real;

	if (dv_is_ours(ctx_in)) {
		attrs_out->version = 0;
		attrs_out->flags = 0;
		attrs_out->comp_mask = 0;
		return 0;
	}
	real = DV_REAL(mlx5dv_query_device, "MLX5_1.0");
	return real ? real(ctx_in, attrs_out) : EOPNOTSUPP;
}

static struct ibv_context *context_of(const struct mlx5dv_obj *obj,
				      uint64_t type)
{
	if (type & MLX5DV_OBJ_QP)
		return obj->qp.in->context;
	if (type & MLX5DV_OBJ_CQ)
		return obj->cq.in->context;
	if (type & MLX5DV_OBJ_SRQ)
		return obj->srq.in->context;
	if (type & MLX5DV_OBJ_RWQ)
		return obj->rwq.in->context;
	if (type & MLX5DV_OBJ_DM)
		return obj->dm.in->context;
	if (type & MLX5DV_OBJ_AH)
		return obj->ah.in->context;
	if (type & MLX5DV_OBJ_PD)
		return obj->pd.in->context;
	return NULL;
}

static int query_pd(struct ibv_pd *pd, struct mlx5dv_pd *out)
{
	struct pinion_alloc_pd_resp resp = {};
	struct dv_call call;
	int err;

	dv_begin(&call, UVERBS_OBJECT_PD, PINION_METHOD_PD_QUERY);
	dv_handle(&call, PINION_ATTR_PD_QUERY_HANDLE, pd->handle);
	dv_out(&call, PINION_ATTR_PD_QUERY_RESP, &resp, sizeof(resp));
	err = dv_issue(pd->context, &call);
	if (err)
		return err;
	out->pdn = resp.pdn;
	out->comp_mask = 0;
	return 0;
}

static int query_devx(struct mlx5dv_devx_obj *obj, struct mlx5dv_devx *out)
{
	const struct dv_object *object = dv_find(obj);

	/* The call is ours because of its domain; the DEVX object may not be ours. */
	if (!object)
		return EINVAL;
	out->handle = object->handle;
	return 0;
}

/* Of our objects, domains and DEVX objects have numbers for commands. */
static int init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
	int err = 0;

	if (type & ~(uint64_t)(MLX5DV_OBJ_PD | MLX5DV_OBJ_DEVX))
		return EOPNOTSUPP;
	if (type & MLX5DV_OBJ_PD)
		err = query_pd(obj->pd.in, obj->pd.out);
	if (!err && type & MLX5DV_OBJ_DEVX)
		err = query_devx(obj->devx.in, obj->devx.out);
	return err;
}

EXPORT int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t obj_type)
{
	struct ibv_context *context = context_of(obj, obj_type);
	__typeof__(&mlx5dv_init_obj) real;

	if (context ? dv_is_ours(context) :
		      obj_type & MLX5DV_OBJ_DEVX && dv_find(obj->devx.in))
		return init_obj(obj, obj_type);
	real = DV_REAL(mlx5dv_init_obj, "MLX5_1.2");
	return real ? real(obj, obj_type) : EOPNOTSUPP;
}
