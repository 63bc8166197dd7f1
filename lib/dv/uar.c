// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbell pages (UARs). Most doorbells are found in the doorbell records of queues, not
 * here; but programs store to a page anyway, and map and export it.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include <rdma/pinion-abi.h>

#include "dv.h"

/* Offset of the doorbell in the page. */
enum { DOORBELL_OFFSET = 0x800 };

/* UAR types of rdma-core 45 and later. All our pages are dedicated ones. */
#define NC_DEDICATED (1U << 31)

static int issue_alloc(struct dv_object *object, uint32_t flags,
		       uint64_t *offset)
{
	struct ib_uverbs_attr *handle;
	struct dv_call call;
	uint64_t type = flags == NC_DEDICATED ? MLX5DV_UAR_ALLOC_TYPE_NC :
						flags;
	uint32_t length = 0;
	int err;

	dv_begin(&call, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
	handle = dv_handle(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0);
	dv_in(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, &type, sizeof(type));
	dv_out(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &object->uar.page_id,
	       sizeof(object->uar.page_id));
	dv_out(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, offset,
	       sizeof(*offset));
	dv_out(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length,
	       sizeof(length));
	err = dv_issue(object->context, &call);
	object->handle = handle->data;
	object->size = length;
	return err;
}

static void issue_destroy(struct dv_object *object)
{
	struct dv_call call;

	dv_begin(&call, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY);
	dv_handle(&call, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, object->handle);
	dv_issue(object->context, &call);
}

static int alloc(struct dv_object *object, uint32_t flags)
{
	uint64_t offset = 0;
	void *map;
	int err;

	err = issue_alloc(object, flags, &offset);
	if (err)
		return err;
	map = mmap(NULL, object->size, PROT_READ | PROT_WRITE, MAP_SHARED,
		   object->context->cmd_fd, offset);
	if (map == MAP_FAILED) {
		err = errno;
		issue_destroy(object);
		return err;
	}
	object->uar.base_addr = map;
	object->uar.reg_addr = (char *)map + DOORBELL_OFFSET;
	object->uar.mmap_off = offset;
	return 0;
}

EXPORT struct mlx5dv_devx_uar *
mlx5dv_devx_alloc_uar(struct ibv_context *context, uint32_t flags)
{
	__typeof__(&mlx5dv_devx_alloc_uar) real;
	struct dv_object *object;
	int err;

	if (!dv_is_ours(context)) {
		real = DV_REAL(mlx5dv_devx_alloc_uar, "MLX5_1.7");
		return real ? real(context, flags) : dv_null(EOPNOTSUPP);
	}
	object = calloc(1, sizeof(*object));
	if (!object)
		return dv_null(ENOMEM);
	object->context = context;
	err = alloc(object, flags);
	if (err) {
		free(object);
		return dv_null(err);
	}
	dv_remember(object);
	return &object->uar;
}

EXPORT void mlx5dv_devx_free_uar(struct mlx5dv_devx_uar *devx_uar)
{
	struct dv_object *object = dv_find(devx_uar);
	__typeof__(&mlx5dv_devx_free_uar) real;

	if (object) {
		munmap(object->uar.base_addr, object->size);
		issue_destroy(object);
		dv_forget(object);
		free(object);
		return;
	}
	real = DV_REAL(mlx5dv_devx_free_uar, "MLX5_1.7");
	if (real)
		real(devx_uar);
}

/* Return: a file descriptor, or -1 with errno set. */
static int export_fd(struct dv_object *object)
{
	struct dv_call call;
	int32_t fd = -1;
	int err;

	dv_begin(&call, MLX5_IB_OBJECT_UAR, PINION_METHOD_UAR_EXPORT);
	dv_handle(&call, PINION_ATTR_UAR_EXPORT_HANDLE, object->handle);
	dv_out(&call, PINION_ATTR_UAR_EXPORT_FD, &fd, sizeof(fd));
	err = dv_issue(object->context, &call);
	if (!err)
		return fd;
	errno = err;
	return -1;
}

EXPORT int mlx5dv_devx_uar_export_dmabuf_fd(struct mlx5dv_devx_uar *devx_uar)
{
	__typeof__(&mlx5dv_devx_uar_export_dmabuf_fd) real;
	struct dv_object *object = dv_find(devx_uar);

	if (object)
		return export_fd(object);
	real = DV_REAL(mlx5dv_devx_uar_export_dmabuf_fd, "MLX5_1.26");
	if (real)
		return real(devx_uar);
	errno = EOPNOTSUPP;
	return -1;
}
