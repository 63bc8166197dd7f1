// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions of dma-bufs, with mlx5's own flags.
 */
#include <string.h>

#include "dv.h"

static int issue_reg(struct ibv_pd *pd, uint64_t offset, uint64_t length,
		     uint64_t iova, int fd, uint32_t access,
		     uint32_t mlx5_access, uint32_t *handle)
{
	struct ib_uverbs_attr *attr;
	uint32_t lkey, rkey;
	struct dv_call call;
	int err;

	dv_begin(&call, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
	attr = dv_handle(&call, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0);
	dv_handle(&call, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd->handle);
	dv_in(&call, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &offset, sizeof(offset));
	dv_in(&call, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &length, sizeof(length));
	dv_in(&call, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &iova, sizeof(iova));
	dv_in(&call, UVERBS_ATTR_REG_DMABUF_MR_FD, &fd, sizeof(fd));
	dv_in(&call, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, &access,
	      sizeof(access));
	dv_out(&call, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &lkey, sizeof(lkey));
	dv_out(&call, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &rkey, sizeof(rkey));
	dv_in(&call, DV_ATTR_REG_DMABUF_MR_ACCESS, &mlx5_access,
	      sizeof(mlx5_access));
	err = dv_issue(pd->context, &call);
	*handle = attr->data;
	return err;
}

/* Deregister a region that has no struct ibv_mr yet. */
static void discard(struct ibv_context *context, uint32_t handle)
{
	struct dv_call call;

	dv_begin(&call, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY);
	dv_handle(&call, UVERBS_ATTR_DESTROY_MR_HANDLE, handle);
	dv_issue(context, &call);
}

/*
 * Only the provider can make a struct ibv_mr, but it does not know these flags. So
 * register the region here, and let the provider import it by its handle.
 */
static struct ibv_mr *reg(struct ibv_pd *pd, uint64_t offset, size_t length,
			  uint64_t iova, int fd, int access, int mlx5_access)
{
	struct ibv_mr *mr;
	uint32_t handle;
	int err;

	err = issue_reg(pd, offset, length, iova, fd, access, mlx5_access,
			&handle);
	if (err)
		return dv_null(err);
	mr = ibv_import_mr(pd, handle);
	if (!mr) {
		err = errno;
		discard(pd->context, handle);
		return dv_null(err);
	}
	mr->addr = (void *)(uintptr_t)offset;
	mr->length = length;
	return mr;
}

EXPORT struct ibv_mr *mlx5dv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					   size_t length, uint64_t iova, int fd,
					   int access, int mlx5_access)
{
	__typeof__(&mlx5dv_reg_dmabuf_mr) real;

	if (dv_is_ours(pd->context))
		return mlx5_access ? reg(pd, offset, length, iova, fd, access,
					 mlx5_access) :
				     ibv_reg_dmabuf_mr(pd, offset, length, iova,
						       fd, access);
	real = DV_REAL(mlx5dv_reg_dmabuf_mr, "MLX5_1.25");
	return real ? real(pd, offset, length, iova, fd, access, mlx5_access) :
		      dv_null(EOPNOTSUPP);
}

EXPORT int mlx5dv_get_data_direct_sysfs_path(struct ibv_context *context,
					     char *buf, size_t buf_len)
{
	__typeof__(&mlx5dv_get_data_direct_sysfs_path) real;
	struct dv_call call;

	if (dv_is_ours(context)) {
		dv_begin(&call, UVERBS_OBJECT_DEVICE,
			 DV_METHOD_DATA_DIRECT_PATH);
		/* The length of an attribute is limited; no path is longer. */
		dv_out(&call, DV_ATTR_DATA_DIRECT_PATH, buf,
		       buf_len < UINT16_MAX ? buf_len : UINT16_MAX);
		return dv_issue(context, &call);
	}
	real = DV_REAL(mlx5dv_get_data_direct_sysfs_path, "MLX5_1.25");
	return real ? real(context, buf, buf_len) : EOPNOTSUPP;
}
