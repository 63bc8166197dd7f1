/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What differs between the versions of rdma-core: the only file of the provider
 * that looks at RDMA_CORE_MAJOR. The rest is written for the newest one.
 */
#ifndef PINION_COMPAT_H
#define PINION_COMPAT_H

#include <infiniband/driver.h>
#include <rdma/ib_user_ioctl_cmds.h>

#define PINION_RDMA_CORE(major) (RDMA_CORE_MAJOR >= (major))

/* FLUSH came in 45 */
#if !PINION_RDMA_CORE(45)
#define IBV_QP_EX_WITH_FLUSH (1 << 11)
#endif

/* DMA handles, and with them reg_mr_ex, came in 59 */
#define PINION_HAVE_DMAH PINION_RDMA_CORE(59)

/* query_port_speed and dm_export_dmabuf_fd came in 62 */
#define PINION_HAVE_PORT_SPEED PINION_RDMA_CORE(62)
#define PINION_HAVE_DM_EXPORT PINION_RDMA_CORE(62)

/* A parent domain that may hand out unprotected memory came in 64 */
#if !PINION_RDMA_CORE(64)
#define IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC (1 << 2)
#endif

static inline int
pinion_cmd_get_context(struct verbs_context *vctx, struct ibv_get_context *cmd,
		       size_t cmd_size, struct ib_uverbs_get_context_resp *resp,
		       size_t resp_size)
{
#if PINION_RDMA_CORE(57)
	return ibv_cmd_get_context(vctx, cmd, cmd_size, NULL, resp, resp_size);
#else
	return ibv_cmd_get_context(vctx, cmd, cmd_size, resp, resp_size);
#endif
}

static inline int pinion_cmd_create_cq_ex(
	struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
	struct verbs_cq *cq, struct ibv_create_cq_ex *cmd, size_t cmd_size,
	struct ib_uverbs_ex_create_cq_resp *resp, size_t resp_size)
{
#if PINION_RDMA_CORE(59)
	return ibv_cmd_create_cq_ex(context, attr, NULL, cq, cmd, cmd_size,
				    resp, resp_size, 0);
#else
	return ibv_cmd_create_cq_ex(context, attr, cq, cmd, cmd_size, resp,
				    resp_size, 0);
#endif
}

static inline int pinion_cmd_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					   size_t length, uint64_t iova, int fd,
					   int access, struct verbs_mr *vmr)
{
#if PINION_RDMA_CORE(54)
	return ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr,
				     NULL);
#else
	return ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr);
#endif
}

static inline void
pinion_set_wr_flush(struct ibv_qp_ex *qp,
		    void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey,
				     uint64_t remote_addr, size_t len,
				     uint8_t type, uint8_t level))
{
#if PINION_RDMA_CORE(45)
	qp->wr_flush = wr_flush;
#else
	(void)qp;
	(void)wr_flush;
#endif
}

#endif /* PINION_COMPAT_H */
