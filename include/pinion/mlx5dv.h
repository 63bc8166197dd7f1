/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The calls of libpinion-mlx5dv, for programs that are built where there is no
 * <infiniband/mlx5dv.h>. With it, include that instead: names, layouts and meaning are
 * the same.
 */
#ifndef PINION_MLX5DV_H
#define PINION_MLX5DV_H

#ifdef _MLX5DV_H_
#error "<infiniband/mlx5dv.h> declares all this, too: include one of the two"
#endif
#define _MLX5DV_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------- contexts */

enum mlx5dv_context_attr_flags {
	MLX5DV_CONTEXT_FLAGS_DEVX = 1 << 0,
};

struct ibv_fd_arr;

struct mlx5dv_context_attr {
	uint32_t flags;
	uint64_t comp_mask;
	struct ibv_fd_arr *fds;
};

/* The real struct has more fields, valid as comp_mask says. pinion never sets comp_mask. */
struct mlx5dv_context {
	uint8_t version;
	uint64_t flags;
	uint64_t comp_mask;
};

int mlx5dv_query_device(struct ibv_context *ctx_in,
			struct mlx5dv_context *attrs_out);
bool mlx5dv_is_supported(struct ibv_device *device);
struct ibv_context *mlx5dv_open_device(struct ibv_device *device,
				       struct mlx5dv_context_attr *attr);

/* ------------------------------------------------------ dma-buf regions */

enum mlx5dv_reg_dmabuf_access {
	MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT = 1 << 0,
};

struct ibv_mr *mlx5dv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				    size_t length, uint64_t iova, int fd,
				    int access, int mlx5_access);
int mlx5dv_get_data_direct_sysfs_path(struct ibv_context *context, char *buf,
				      size_t buf_len);

/* ------------------------------------------------- numbers of objects */

struct mlx5dv_qp;
struct mlx5dv_cq;
struct mlx5dv_srq;
struct mlx5dv_rwq;
struct mlx5dv_dm;
struct mlx5dv_ah;
struct mlx5dv_devx_obj;

struct mlx5dv_pd {
	uint32_t pdn;
	uint64_t comp_mask;
};

struct mlx5dv_devx {
	uint32_t handle;
};

struct mlx5dv_obj {
	struct {
		struct ibv_qp *in;
		struct mlx5dv_qp *out;
	} qp;
	struct {
		struct ibv_cq *in;
		struct mlx5dv_cq *out;
	} cq;
	struct {
		struct ibv_srq *in;
		struct mlx5dv_srq *out;
	} srq;
	struct {
		struct ibv_wq *in;
		struct mlx5dv_rwq *out;
	} rwq;
	struct {
		struct ibv_dm *in;
		struct mlx5dv_dm *out;
	} dm;
	struct {
		struct ibv_ah *in;
		struct mlx5dv_ah *out;
	} ah;
	struct {
		struct ibv_pd *in;
		struct mlx5dv_pd *out;
	} pd;
	struct {
		struct mlx5dv_devx_obj *in;
		struct mlx5dv_devx *out;
	} devx;
};

enum mlx5dv_obj_type {
	MLX5DV_OBJ_QP = 1 << 0,
	MLX5DV_OBJ_CQ = 1 << 1,
	MLX5DV_OBJ_SRQ = 1 << 2,
	MLX5DV_OBJ_RWQ = 1 << 3,
	MLX5DV_OBJ_DM = 1 << 4,
	MLX5DV_OBJ_AH = 1 << 5,
	MLX5DV_OBJ_PD = 1 << 6,
	MLX5DV_OBJ_DEVX = 1 << 7,
};

int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t obj_type);

/* ------------------------------------------------------------------ DEVX */

struct mlx5dv_devx_obj *mlx5dv_devx_obj_create(struct ibv_context *context,
					       const void *in, size_t inlen,
					       void *out, size_t outlen);
int mlx5dv_devx_obj_query(struct mlx5dv_devx_obj *obj, const void *in,
			  size_t inlen, void *out, size_t outlen);
int mlx5dv_devx_query_eqn(struct ibv_context *context, uint32_t vector,
			  uint32_t *eqn);
int mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *obj, const void *in,
			   size_t inlen, void *out, size_t outlen);
int mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *obj);
int mlx5dv_devx_obj_export(struct mlx5dv_devx_obj *obj, void *data);
struct mlx5dv_devx_obj *mlx5dv_devx_obj_import(struct ibv_context *context,
					       void *data);
void mlx5dv_devx_obj_unimport(struct mlx5dv_devx_obj *obj);

int mlx5dv_devx_general_cmd(struct ibv_context *context, const void *in,
			    size_t inlen, void *out, size_t outlen);

/* Answers to queries that are not waited for. */
struct mlx5dv_devx_cmd_comp {
	int fd;
};

struct mlx5dv_devx_async_cmd_hdr {
	uint64_t wr_id;
	uint8_t out_data[];
};

struct mlx5dv_devx_cmd_comp *
mlx5dv_devx_create_cmd_comp(struct ibv_context *context);
void mlx5dv_devx_destroy_cmd_comp(struct mlx5dv_devx_cmd_comp *cmd_comp);
int mlx5dv_devx_obj_query_async(struct mlx5dv_devx_obj *obj, const void *in,
				size_t inlen, size_t outlen, uint64_t wr_id,
				struct mlx5dv_devx_cmd_comp *cmd_comp);
int mlx5dv_devx_get_async_cmd_comp(struct mlx5dv_devx_cmd_comp *cmd_comp,
				   struct mlx5dv_devx_async_cmd_hdr *cmd_resp,
				   size_t cmd_resp_len);

/* Events of objects. */
struct mlx5dv_devx_event_channel {
	int fd;
};

struct mlx5dv_devx_async_event_hdr {
	uint64_t cookie;
	uint8_t out_data[];
};

enum mlx5dv_devx_create_event_channel_flags {
	MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA = 1 << 0,
};

struct mlx5dv_devx_event_channel *mlx5dv_devx_create_event_channel(
	struct ibv_context *context,
	enum mlx5dv_devx_create_event_channel_flags flags);
void mlx5dv_devx_destroy_event_channel(
	struct mlx5dv_devx_event_channel *event_channel);
int mlx5dv_devx_subscribe_devx_event(
	struct mlx5dv_devx_event_channel *event_channel,
	struct mlx5dv_devx_obj *obj, uint16_t events_sz, uint16_t events_num[],
	uint64_t cookie);
int mlx5dv_devx_subscribe_devx_event_fd(
	struct mlx5dv_devx_event_channel *event_channel, int fd,
	struct mlx5dv_devx_obj *obj, uint16_t event_num);
ssize_t mlx5dv_devx_get_event(struct mlx5dv_devx_event_channel *event_channel,
			      struct mlx5dv_devx_async_event_hdr *event_data,
			      size_t event_resp_len);

struct mlx5dv_devx_umem {
	uint32_t umem_id;
};

enum mlx5dv_devx_umem_in_mask {
	MLX5DV_UMEM_MASK_DMABUF = 1 << 0,
};

struct mlx5dv_devx_umem_in {
	void *addr;
	size_t size;
	uint32_t access;
	uint64_t pgsz_bitmap;
	uint64_t comp_mask;
	int dmabuf_fd;
};

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg(struct ibv_context *context,
					      void *addr, size_t size,
					      uint32_t access);
struct mlx5dv_devx_umem *
mlx5dv_devx_umem_reg_ex(struct ibv_context *context,
			struct mlx5dv_devx_umem_in *umem_in);
int mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *umem);
int mlx5dv_devx_umem_export(struct mlx5dv_devx_umem *umem, void *data);
struct mlx5dv_devx_umem *mlx5dv_devx_umem_import(struct ibv_context *context,
						 void *data);
void mlx5dv_devx_umem_unimport(struct mlx5dv_devx_umem *umem);

struct mlx5dv_devx_uar {
	void *reg_addr;
	void *base_addr;
	uint32_t page_id;
	off_t mmap_off;
	uint64_t comp_mask;
};

enum mlx5dv_uar_alloc_type {
	MLX5DV_UAR_ALLOC_TYPE_BF = 0,
	MLX5DV_UAR_ALLOC_TYPE_NC = 1,
	MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED = 1U << 31,
};

struct mlx5dv_devx_uar *mlx5dv_devx_alloc_uar(struct ibv_context *context,
					      uint32_t flags);
void mlx5dv_devx_free_uar(struct mlx5dv_devx_uar *devx_uar);
int mlx5dv_devx_uar_export_dmabuf_fd(struct mlx5dv_devx_uar *devx_uar);

struct mlx5dv_export_sizes {
	uint32_t var_attrs_size;
	uint32_t devx_umem_attrs_size;
	uint32_t devx_obj_attrs_size;
};

void _mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes,
			      size_t sizes_len);

static inline void mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes)
{
	_mlx5dv_get_export_sizes(sizes, sizeof(*sizes));
}

#ifdef __cplusplus
}
#endif

#endif /* PINION_MLX5DV_H */
