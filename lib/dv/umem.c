// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DEVX umems: memory from which DEVX objects are made.
 */
#include <stdlib.h>
#include <string.h>

#include "dv.h"

/* In libibverbs, but declared for providers only. Return: 0, or -1 with errno set. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

static int issue_reg(struct dv_object *object,
		     const struct mlx5dv_devx_umem_in *in)
{
	uint64_t addr = (uintptr_t)in->addr, size = in->size;
	struct ib_uverbs_attr *handle;
	uint32_t access = in->access;
	struct dv_call call;
	int err;

	dv_begin(&call, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG);
	handle = dv_handle(&call, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, 0);
	dv_in(&call, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, &addr, sizeof(addr));
	dv_in(&call, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, &size, sizeof(size));
	dv_in(&call, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, &access,
	      sizeof(access));
	dv_in(&call, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, &in->pgsz_bitmap,
	      sizeof(in->pgsz_bitmap));
	dv_out(&call, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &object->umem.umem_id,
	       sizeof(object->umem.umem_id));
	if (in->comp_mask & MLX5DV_UMEM_MASK_DMABUF)
		dv_handle(&call, MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD,
			  in->dmabuf_fd);
	err = dv_issue(object->context, &call);
	object->handle = handle->data;
	return err;
}

static struct mlx5dv_devx_umem *reg(struct ibv_context *context,
				    const struct mlx5dv_devx_umem_in *in)
{
	bool dmabuf = in->comp_mask & MLX5DV_UMEM_MASK_DMABUF;
	struct dv_object *object;
	int err;

	if (in->comp_mask & ~(uint64_t)MLX5DV_UMEM_MASK_DMABUF)
		return dv_null(EOPNOTSUPP);
	if (dmabuf && in->dmabuf_fd == -1)
		return dv_null(EBADF);
	object = calloc(1, sizeof(*object));
	if (!object)
		return dv_null(ENOMEM);
	object->context = context;
	/* For a dma-buf the address is an offset, so there is nothing to protect. */
	if (!dmabuf) {
		if (ibv_dontfork_range(in->addr, in->size)) {
			err = errno;
			goto err_free;
		}
		object->addr = in->addr;
		object->size = in->size;
	}
	err = issue_reg(object, in);
	if (err)
		goto err_dofork;
	dv_remember(object);
	return &object->umem;

err_dofork:
	if (!dmabuf)
		ibv_dofork_range(in->addr, in->size);
err_free:
	free(object);
	return dv_null(err);
}

EXPORT struct mlx5dv_devx_umem *
mlx5dv_devx_umem_reg_ex(struct ibv_context *context,
			struct mlx5dv_devx_umem_in *umem_in)
{
	__typeof__(&mlx5dv_devx_umem_reg_ex) real;

	if (dv_is_ours(context))
		return reg(context, umem_in);
	real = DV_REAL(mlx5dv_devx_umem_reg_ex, "MLX5_1.19");
	return real ? real(context, umem_in) : dv_null(EOPNOTSUPP);
}

EXPORT struct mlx5dv_devx_umem *
mlx5dv_devx_umem_reg(struct ibv_context *context, void *addr, size_t size,
		     uint32_t access)
{
	struct mlx5dv_devx_umem_in in = {
		.addr = addr,
		.size = size,
		.access = access,
		/* All sizes from 4 KiB on. */
		.pgsz_bitmap = ~(uint64_t)4095,
	};
	__typeof__(&mlx5dv_devx_umem_reg) real;

	if (dv_is_ours(context))
		return reg(context, &in);
	real = DV_REAL(mlx5dv_devx_umem_reg, "MLX5_1.7");
	return real ? real(context, addr, size, access) : dv_null(EOPNOTSUPP);
}

static int dereg(struct dv_object *object)
{
	struct dv_call call;
	int err;

	dv_begin(&call, MLX5_IB_OBJECT_DEVX_UMEM,
		 MLX5_IB_METHOD_DEVX_UMEM_DEREG);
	dv_handle(&call, MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, object->handle);
	err = dv_issue(object->context, &call);
	if (err)
		return err;
	if (object->addr)
		ibv_dofork_range(object->addr, object->size);
	dv_forget(object);
	free(object);
	return 0;
}

EXPORT int mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *umem)
{
	struct dv_object *object = dv_find(umem);
	__typeof__(&mlx5dv_devx_umem_dereg) real;

	if (object)
		return dereg(object);
	real = DV_REAL(mlx5dv_devx_umem_dereg, "MLX5_1.7");
	return real ? real(umem) : EOPNOTSUPP;
}

/* ------------------------------------------- in another view of the context */

struct exported {
	uint32_t handle;
	uint32_t umem_id;
};

EXPORT int mlx5dv_devx_umem_export(struct mlx5dv_devx_umem *umem, void *data)
{
	struct dv_object *object = dv_find(umem);
	__typeof__(&mlx5dv_devx_umem_export) real;

	if (object) {
		struct exported exported = { object->handle, umem->umem_id };

		memcpy(data, &exported, sizeof(exported));
		return 0;
	}
	real = DV_REAL(mlx5dv_devx_umem_export, "MLX5_1.27");
	return real ? real(umem, data) : EOPNOTSUPP;
}

EXPORT struct mlx5dv_devx_umem *
mlx5dv_devx_umem_import(struct ibv_context *context, void *data)
{
	__typeof__(&mlx5dv_devx_umem_import) real;
	struct dv_object *object;
	struct exported exported;

	if (!dv_is_ours(context)) {
		real = DV_REAL(mlx5dv_devx_umem_import, "MLX5_1.27");
		return real ? real(context, data) : dv_null(EOPNOTSUPP);
	}
	object = calloc(1, sizeof(*object));
	if (!object)
		return dv_null(ENOMEM);
	memcpy(&exported, data, sizeof(exported));
	object->context = context;
	object->handle = exported.handle;
	object->umem.umem_id = exported.umem_id;
	dv_remember(object);
	return &object->umem;
}

/* Frees only this process's object. */
EXPORT void mlx5dv_devx_umem_unimport(struct mlx5dv_devx_umem *umem)
{
	struct dv_object *object = dv_find(umem);
	__typeof__(&mlx5dv_devx_umem_unimport) real;

	if (object) {
		dv_forget(object);
		free(object);
		return;
	}
	real = DV_REAL(mlx5dv_devx_umem_unimport, "MLX5_1.27");
	if (real)
		real(umem);
}
