// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Stands in for libmlx5 on a device that libmlx5 would serve: every call succeeds and is
 * recorded.
 */
#include <string.h>

#include <pinion/mlx5dv.h>

#include "mlx5.h"

struct standin pinion_standin_mlx5;

#define WORD(x) ((uint64_t)(x))
#define ASKED(...)                                                       \
	do {                                                             \
		pinion_standin_mlx5 =                                    \
			(struct standin){ pinion_standin_mlx5.calls + 1, \
					  &__func__[7],                  \
					  { __VA_ARGS__ } };             \
	} while (0)

bool mlx5dv_is_supported(struct ibv_device *device)
{
	ASKED(WORD(device));
	return true;
}

int mlx5dv_query_device(struct ibv_context *ctx_in,
			struct mlx5dv_context *attrs_out)
{
	ASKED(WORD(ctx_in), WORD(attrs_out));
	return STANDIN_NUMBER;
}

struct ibv_context *mlx5dv_open_device(struct ibv_device *device,
				       struct mlx5dv_context_attr *attr)
{
	ASKED(WORD(device), WORD(attr));
	return STANDIN_POINTER;
}

int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t obj_type)
{
	ASKED(WORD(obj), obj_type);
	return STANDIN_NUMBER;
}

struct ibv_mr *mlx5dv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				    size_t length, uint64_t iova, int fd,
				    int access, int mlx5_access)
{
	ASKED(WORD(pd), offset, length, iova, fd, access, mlx5_access);
	return STANDIN_POINTER;
}

int mlx5dv_get_data_direct_sysfs_path(struct ibv_context *context, char *buf,
				      size_t buf_len)
{
	ASKED(WORD(context), WORD(buf), buf_len);
	return STANDIN_NUMBER;
}

struct mlx5dv_devx_obj *mlx5dv_devx_obj_create(struct ibv_context *context,
					       const void *in, size_t inlen,
					       void *out, size_t outlen)
{
	ASKED(WORD(context), WORD(in), inlen, WORD(out), outlen);
	return STANDIN_POINTER;
}

int mlx5dv_devx_obj_query(struct mlx5dv_devx_obj *obj, const void *in,
			  size_t inlen, void *out, size_t outlen)
{
	ASKED(WORD(obj), WORD(in), inlen, WORD(out), outlen);
	return STANDIN_NUMBER;
}

int mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *obj, const void *in,
			   size_t inlen, void *out, size_t outlen)
{
	ASKED(WORD(obj), WORD(in), inlen, WORD(out), outlen);
	return STANDIN_NUMBER;
}

int mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *obj)
{
	ASKED(WORD(obj));
	return STANDIN_NUMBER;
}

int mlx5dv_devx_general_cmd(struct ibv_context *context, const void *in,
			    size_t inlen, void *out, size_t outlen)
{
	ASKED(WORD(context), WORD(in), inlen, WORD(out), outlen);
	return STANDIN_NUMBER;
}

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg(struct ibv_context *context,
					      void *addr, size_t size,
					      uint32_t access)
{
	ASKED(WORD(context), WORD(addr), size, access);
	return STANDIN_POINTER;
}

struct mlx5dv_devx_umem *
mlx5dv_devx_umem_reg_ex(struct ibv_context *context,
			struct mlx5dv_devx_umem_in *umem_in)
{
	ASKED(WORD(context), WORD(umem_in));
	return STANDIN_POINTER;
}

int mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *umem)
{
	ASKED(WORD(umem));
	return STANDIN_NUMBER;
}

struct mlx5dv_devx_uar *mlx5dv_devx_alloc_uar(struct ibv_context *context,
					      uint32_t flags)
{
	ASKED(WORD(context), flags);
	return STANDIN_POINTER;
}

void mlx5dv_devx_free_uar(struct mlx5dv_devx_uar *devx_uar)
{
	ASKED(WORD(devx_uar));
}

int mlx5dv_devx_uar_export_dmabuf_fd(struct mlx5dv_devx_uar *devx_uar)
{
	ASKED(WORD(devx_uar));
	return STANDIN_NUMBER;
}

void _mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes,
			      size_t sizes_len)
{
	static const struct standin_export_sizes all = {
		STANDIN_VAR, STANDIN_UMEM, STANDIN_OBJ, STANDIN_NEWER
	};

	ASKED(WORD(sizes), sizes_len);
	memset(sizes, 0, sizes_len);
	memcpy(sizes, &all, sizes_len < sizeof(all) ? sizes_len : sizeof(all));
}
