// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ops of a device with mlx5's ABI that differ from those of other pinion devices, and its driver
 * specific uverbs methods.
 */
#define UVERBS_MODULE_NAME pinion_mlx5

#include <linux/etherdevice.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_named_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "../compat/compat.h"
#include "device.h"
#include "mlx5.h"
#include "ops.h"
#include "pd.h"
#include "udata.h"

/* Of enum mlx5_ib_query_dev_resp_flags; not every kernel's headers have it. */
#define FLAGS_OOO_DP	BIT(4)

/*
 * Features that the device may use if a program enables them, but need not: compressed and padded
 * completions, and out-of-order delivery.
 */
static const struct mlx5_ib_query_device_resp mlx5_device_answer = {
	.response_length = sizeof(struct mlx5_ib_query_device_resp),
	.cqe_comp_caps = { .max_num = 1, .supported_format = MLX5_CQE_FORMATS },
	.flags = MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_COMP |
		 MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD | FLAGS_OOO_DP,
};

static int mlx5_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	int err;

	err = pinion_udata_in_none(udata);
	if (!err && udata)
		err = pinion_udata_out(udata, &mlx5_device_answer, sizeof(mlx5_device_answer));
	if (!err)
		err = pinion_query_device(ibdev, attr, NULL);
	if (err)
		return err;
	attr->max_send_sge = MLX5_SEND_SGES;
	attr->max_recv_sge = MLX5_RECV_SGES;
	attr->max_sge_rd = MLX5_SEND_SGES;
	/* libmlx5 rounds up to a power of two, and uses one entry less. */
	attr->max_cqe = PINION_MAX_CQE - 1;
	attr->max_srq_wr = MLX5_SRQ_SLOTS;
	attr->max_srq_sge = MLX5_RECV_SGES - 1;
	/* Features that mlx5's requests and commands cannot express. */
	attr->device_cap_flags &= ~(u64)(IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_ATOMIC_WRITE |
					 IB_DEVICE_SRQ_RESIZE);
	attr->odp_caps.per_transport_caps.rc_odp_caps &= ~(u32)PINION_ODP_SUPPORT_LATER;
	attr->odp_caps.per_transport_caps.xrc_odp_caps &= ~(u32)PINION_ODP_SUPPORT_LATER;
	return 0;
}

int pinion_mlx5_answer_ah(const struct pinion_av *av, struct ib_udata *udata)
{
	struct mlx5_ib_create_ah_resp resp = { .response_length = sizeof(resp) };

	ether_addr_copy(resp.dmac, av->dmac);
	return pinion_udata_out(udata, &resp, sizeof(resp));
}

static const struct ib_device_ops mlx5_ops = {
	.driver_id = RDMA_DRIVER_MLX5,
	.uverbs_abi_ver = MLX5_IB_UVERBS_ABI_VERSION,

	.query_device = mlx5_query_device,
};

void pinion_mlx5_set_ops(struct ib_device *ibdev)
{
	ib_set_device_ops(ibdev, &mlx5_ops);
	ib_set_device_ops(ibdev, &pinion_mlx5_ucontext_ops);
	ib_set_device_ops(ibdev, &pinion_mlx5_cq_ops);
	ib_set_device_ops(ibdev, &pinion_mlx5_qp_ops);
	ib_set_device_ops(ibdev, &pinion_mlx5_srq_ops);
}

#define RESP_UCONTEXT	UVERBS_ATTR_STRUCT(struct mlx5_ib_alloc_ucontext_resp, dump_fill_mkey)

/* Answered by pinion_mlx5_ucontext_ops.query_ucontext. */
ADD_UVERBS_ATTRIBUTES_SIMPLE(pinion_mlx5_query_context, UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX,
						 RESP_UCONTEXT, UA_MANDATORY));

/* The index of the doorbell page. It is accepted and ignored: the page is not read. */
ADD_UVERBS_ATTRIBUTES_SIMPLE(pinion_mlx5_create_cq, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE,
			     UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_CREATE_CQ_UAR_INDEX,
						UVERBS_ATTR_TYPE(u32), UA_OPTIONAL));

/* Return the number of a PD. From now on DEVX commands of this context may use it. */
static int UVERBS_HANDLER(MLX5_IB_METHOD_PD_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_pd *ibpd = uverbs_attr_get_obj(attrs, MLX5_IB_ATTR_QUERY_PD_HANDLE);
	u32 pdn;
	int err;

	if (IS_ERR(ibpd))
		return PTR_ERR(ibpd);
	pdn = to_pinion_pd(ibpd)->pdn;
	err = pinion_pd_show(to_pinion_dev(ibpd->device), to_pinion_pd(ibpd),
			     ibpd->uobject->context);
	return err ?: uverbs_copy_to(attrs, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &pdn, sizeof(pdn));
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_PD_QUERY,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_QUERY_PD_HANDLE, UVERBS_OBJECT_PD,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_PD_RESP_PDN,
						UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

ADD_UVERBS_METHODS(pinion_mlx5_pd_methods, UVERBS_OBJECT_PD,
		   &UVERBS_METHOD(MLX5_IB_METHOD_PD_QUERY));

/* All fields are 0: there is no embedded switch to report. */
static int UVERBS_HANDLER(MLX5_IB_METHOD_QUERY_PORT)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *context = ib_uverbs_get_ucontext(attrs);
	struct mlx5_ib_uapi_query_port info = {};
	u32 port;
	int err;

	if (IS_ERR(context))
		return PTR_ERR(context);
	err = uverbs_copy_from(&port, attrs, MLX5_IB_ATTR_QUERY_PORT_PORT_NUM);
	if (err)
		return err;
	if (!rdma_is_port_valid(context->device, port))
		return -EINVAL;
	return uverbs_copy_to_struct_or_zero(attrs, MLX5_IB_ATTR_QUERY_PORT, &info, sizeof(info));
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_QUERY_PORT,
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_QUERY_PORT_PORT_NUM,
					       UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_PORT,
						UVERBS_ATTR_STRUCT(struct mlx5_ib_uapi_query_port,
								   reg_c0),
						UA_MANDATORY));

ADD_UVERBS_METHODS(pinion_mlx5_device_methods, UVERBS_OBJECT_DEVICE,
		   &UVERBS_METHOD(MLX5_IB_METHOD_QUERY_PORT));

const struct uapi_definition pinion_mlx5_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &pinion_mlx5_device_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &pinion_mlx5_query_context),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_CQ, &pinion_mlx5_create_cq),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_PD, &pinion_mlx5_pd_methods),
	UAPI_DEF_CHAIN(pinion_mlx5_dm_defs),
	UAPI_DEF_CHAIN(pinion_devx_umem_defs),
	UAPI_DEF_CHAIN(pinion_devx_uar_defs),
	UAPI_DEF_CHAIN(pinion_devx_defs),
	UAPI_DEF_CHAIN(pinion_devx_async_defs),
	UAPI_DEF_CHAIN(pinion_devx_event_defs),
	UAPI_DEF_CHAIN(pinion_data_direct_defs),
	{},
};
