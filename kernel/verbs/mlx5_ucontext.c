// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Contexts of libmlx5: the answer to alloc_ucontext about doorbell pages, sizes and the clock.
 */
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_ioctl.h>

#include "device.h"
#include "mlx5.h"
#include "ops.h"
#include "ucontext.h"
#include "udata.h"
#include "user.h"

#define CQE_VERSION	1	/* completions carry the user index of their queue */
#define LOG_UAR_SIZE	12
#define CACHE_LINE	64
/* A request has at most 63 segments of 16 bytes, so 16 blocks of 64 bytes are never full. */
#define SEND_BYTES	(15 * 64)

/*
 * There is no BlueFlame, and there are only doorbell pages that libmlx5 allocates
 * (MLX5_LIB_CAP_DYN_UAR). What is written to these is not read: pinion polls the doorbell records.
 */
static struct mlx5_ib_alloc_ucontext_resp mlx5_ucontext_answer(void)
{
	return (struct mlx5_ib_alloc_ucontext_resp){
		.qp_tab_size = PINION_MAX_QP,
		.cache_line_size = CACHE_LINE,
		.max_sq_desc_sz = SEND_BYTES,
		.max_rq_desc_sz = MLX5_RECV_SGES * 16,
		.max_send_wqebb = PINION_MAX_QP_WR,
		.max_recv_wr = PINION_MAX_QP_WR,
		.max_srq_recv_wr = MLX5_SRQ_SLOTS,
		.num_ports = 1,
		.response_length = sizeof(struct mlx5_ib_alloc_ucontext_resp),
		.cqe_version = CQE_VERSION,
		.cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE |
				 MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
		.eth_min_inline = MLX5_USER_INLINE_MODE_NONE,
		.clock_info_versions = BIT(MLX5_IB_CLOCK_INFO_V1),
		.log_uar_size = LOG_UAR_SIZE,
		.num_uars_per_page = PAGE_SIZE >> LOG_UAR_SIZE,
	};
}

/* Refuse libraries without dynamic doorbell pages or with the older format of completions. */
static int mlx5_ucontext_check(struct ib_udata *udata)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req;
	int err;

	err = pinion_udata_in(udata, &req, sizeof(req),
			      sizeof(struct mlx5_ib_alloc_ucontext_req));
	if (err)
		return err;
	if (req.flags & ~MLX5_IB_ALLOC_UCTX_DEVX)
		return -EINVAL;
	if (req.comp_mask || req.reserved0 || req.reserved1 || req.reserved2)
		return -EOPNOTSUPP;
	if (!(req.lib_caps & MLX5_LIB_CAP_DYN_UAR) || req.max_cqe_version < CQE_VERSION)
		return -EOPNOTSUPP;
	return 0;
}

static int mlx5_ucontext_alloc(struct ib_ucontext *context, struct ib_udata *udata)
{
	struct mlx5_ib_alloc_ucontext_resp resp = mlx5_ucontext_answer();
	struct pinion_ucontext *ucontext = to_pinion_ucontext(context);
	int err;

	err = mlx5_ucontext_check(udata);
	if (!err)
		err = pinion_mlx5_clock_open();
	if (err)
		return err;
	err = pinion_ucontext_open(ucontext);
	if (err)
		goto err_close_clock;
	err = pinion_udata_out(udata, &resp, sizeof(resp));
	if (err)
		goto err_put_user;
	return 0;

err_put_user:
	pinion_user_put(ucontext->user);
err_close_clock:
	pinion_mlx5_clock_close();
	return err;
}

static void mlx5_ucontext_dealloc(struct ib_ucontext *context)
{
	pinion_ucontext_close(context);
	pinion_mlx5_clock_close();
}

static int mlx5_ucontext_query(struct ib_ucontext *context, struct uverbs_attr_bundle *attrs)
{
	struct mlx5_ib_alloc_ucontext_resp resp = mlx5_ucontext_answer();

	return uverbs_copy_to_struct_or_zero(attrs, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, &resp,
					     sizeof(resp));
}

const struct ib_device_ops pinion_mlx5_ucontext_ops = {
	.alloc_ucontext = mlx5_ucontext_alloc,
	.dealloc_ucontext = mlx5_ucontext_dealloc,
	.query_ucontext = mlx5_ucontext_query,
};
