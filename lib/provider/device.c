// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The provider's entry points for libibverbs: match table, contexts, and the table of
 * operations.
 */
#include <errno.h>
#include <stdlib.h>

#include "provider.h"

static void free_context(struct ibv_context *context);

static const struct verbs_context_ops ops = {
	.advise_mr = ibv_cmd_advise_mr,
	.alloc_dm = pinion_alloc_dm,
	.alloc_mw = pinion_alloc_mw,
	.alloc_null_mr = pinion_alloc_null_mr,
	.alloc_parent_domain = pinion_alloc_parent_domain,
	.alloc_pd = pinion_alloc_pd,
	.alloc_td = pinion_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = pinion_bind_mw,
	.close_xrcd = pinion_close_xrcd,
	.create_ah = pinion_create_ah,
	.create_cq = pinion_create_cq,
	.create_cq_ex = pinion_create_cq_ex,
	.create_qp = pinion_create_qp,
	.create_qp_ex = pinion_create_qp_ex,
	.create_srq = pinion_create_srq,
	.create_srq_ex = pinion_create_srq_ex,
	.dealloc_mw = pinion_dealloc_mw,
	.dealloc_pd = pinion_dealloc_pd,
	.dealloc_td = pinion_dealloc_td,
	.dereg_mr = pinion_dereg_mr,
	.destroy_ah = pinion_destroy_ah,
	.destroy_cq = pinion_destroy_cq,
	.destroy_qp = pinion_destroy_qp,
	.destroy_srq = pinion_destroy_srq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = free_context,
	.free_dm = pinion_free_dm,
	.get_srq_num = pinion_get_srq_num,
	.import_dm = pinion_import_dm,
	.import_mr = pinion_import_mr,
	.import_pd = pinion_import_pd,
	.modify_cq = pinion_modify_cq,
	.modify_qp = pinion_modify_qp,
	.modify_srq = pinion_modify_srq,
	.open_qp = pinion_open_qp,
	.open_xrcd = pinion_open_xrcd,
	.poll_cq = pinion_poll_cq,
	.post_recv = pinion_post_recv,
	.post_send = pinion_post_send,
	.post_srq_recv = pinion_post_srq_recv,
	.query_device_ex = pinion_query_device_ex,
	.query_port = pinion_query_port,
	.query_qp = pinion_query_qp,
	.query_rt_values = pinion_query_rt_values,
	.query_srq = pinion_query_srq,
	.reg_dm_mr = pinion_reg_dm_mr,
	.reg_dmabuf_mr = pinion_reg_dmabuf_mr,
	.reg_mr = pinion_reg_mr,
	.req_notify_cq = pinion_req_notify_cq,
	.rereg_mr = pinion_rereg_mr,
	.resize_cq = pinion_resize_cq,
	.unimport_dm = pinion_unimport_dm,
	.unimport_mr = pinion_unimport_mr,
	.unimport_pd = pinion_unimport_pd,
#if PINION_HAVE_DMAH
	.alloc_dmah = pinion_alloc_dmah,
	.dealloc_dmah = pinion_dealloc_dmah,
	.reg_mr_ex = pinion_reg_mr_ex,
#endif
#if PINION_HAVE_PORT_SPEED
	.query_port_speed = ibv_cmd_query_port_speed,
#endif
#if PINION_HAVE_DM_EXPORT
	.dm_export_dmabuf_fd = pinion_dm_export_dmabuf_fd,
#endif
};

static int set_ops(struct verbs_context *vctx)
{
	verbs_set_ops(vctx, &ops);
	return pinion_libibverbs_matches(vctx, &ops) ? 0 : ELIBBAD;
}

/* Check and store the kernel's answer to a new context. */
static int take_answer(struct pinion_context *ctx,
		       const struct pinion_alloc_ucontext_resp *resp)
{
	if (resp->abi_version != PINION_ABI_VERSION) {
		pinion_mismatch(
			&ctx->vctx,
			"the provider and the kernel module are of different versions; install both again");
		return EPROTO;
	}
	ctx->null_lkey = resp->null_lkey;
	return 0;
}

static struct pinion_context *init_context(struct ibv_device *ibdev, int fd)
{
	struct pinion_context *ctx;

	return verbs_init_and_alloc_context(ibdev, fd, ctx, vctx,
					    PINION_DRIVER_ID);
}

static void uninit_context(struct pinion_context *ctx)
{
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static void free_context(struct ibv_context *context)
{
	uninit_context(to_pinion_context(context));
}

/* Finish opening a context, after the kernel has answered or failed with @err. */
static struct verbs_context *
opened(struct pinion_context *ctx, int err,
       const struct pinion_alloc_ucontext_resp *resp)
{
	pinion_failed(&ctx->vctx.context, err, "no context from the kernel");
	if (!err)
		err = take_answer(ctx, resp);
	if (!err)
		err = set_ops(&ctx->vctx);
	if (!err)
		return &ctx->vctx;

	uninit_context(ctx);
	errno = err;
	return NULL;
}

static struct verbs_context *alloc_context(struct ibv_device *ibdev, int fd,
					   void *private_data)
{
	struct {
		struct ibv_get_context core;
		struct pinion_alloc_ucontext_req pinion;
	} cmd = { .pinion.abi_version = PINION_ABI_VERSION };
	struct {
		struct ib_uverbs_get_context_resp core;
		struct pinion_alloc_ucontext_resp pinion;
	} resp = {};
	struct pinion_context *ctx;
	int err;

	(void)private_data;
	ctx = init_context(ibdev, fd);
	if (!ctx)
		return NULL;

	err = pinion_cmd_get_context(&ctx->vctx, &cmd.core, sizeof(cmd),
				     &resp.core, sizeof(resp));
	return opened(ctx, err, &resp.pinion);
}

static struct verbs_context *import_context(struct ibv_device *ibdev, int fd)
{
	DECLARE_COMMAND_BUFFER(attrs, UVERBS_OBJECT_DEVICE,
			       UVERBS_METHOD_QUERY_CONTEXT, 1);
	struct pinion_alloc_ucontext_resp resp = {};
	struct pinion_context *ctx;
	int err;

	ctx = init_context(ibdev, fd);
	if (!ctx)
		return NULL;

	fill_attr_out_ptr(attrs, PINION_ATTR_QUERY_CONTEXT_RESP, &resp);
	err = ibv_cmd_query_context(&ctx->vctx.context, attrs);
	return opened(ctx, err, &resp);
}

static struct verbs_device *alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	(void)sysfs_dev;
	return calloc(1, sizeof(struct verbs_device));
}

static void uninit_device(struct verbs_device *device)
{
	free(device);
}

/* The name is used if libibverbs cannot ask for the driver id. */
static const struct verbs_match_ent match_table[] = {
	VERBS_DRIVER_ID(PINION_DRIVER_ID),
	VERBS_NAME_MATCH("pinion", NULL),
	{},
};

static const struct verbs_device_ops device_ops = {
	.name = "pinion",
	.match_min_abi_version = PINION_ABI_VERSION,
	.match_max_abi_version = PINION_ABI_VERSION,
	.match_table = match_table,
	.alloc_context = alloc_context,
	.import_context = import_context,
	.alloc_device = alloc_device,
	.uninit_device = uninit_device,
};
PROVIDER_DRIVER(pinion, device_ops);
