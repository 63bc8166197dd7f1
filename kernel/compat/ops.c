// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ops whose name or prototype depends on the kernel. The functions here only adapt arguments.
 */
#include "../verbs/ops.h"

#ifdef PINION_HAVE_DMAH
struct dmah {
	struct ib_dmah ibdmah;
};

/*
 * DMA handles tell a PCIe device to which cache its writes should go. Here the CPU writes, so they
 * have no effect. What hardware would refuse is refused.
 */
static int compat_alloc_dmah(struct ib_dmah *dmah, struct uverbs_attr_bundle *attrs)
{
	bool cpu = dmah->valid_fields & BIT(IB_DMAH_CPU_ID_EXISTS);
	bool mem = dmah->valid_fields & BIT(IB_DMAH_MEM_TYPE_EXISTS);

	return dmah->valid_fields & BIT(IB_DMAH_PH_EXISTS) && cpu == mem ? 0 : -EINVAL;
}

static int compat_dealloc_dmah(struct ib_dmah *dmah, struct uverbs_attr_bundle *attrs)
{
	return 0;
}

static struct ib_mr *compat_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova,
					int access, struct ib_dmah *dmah, struct ib_udata *udata)
{
	/* As hardware does: no hints for on-demand regions. */
	if (dmah && access & IB_ACCESS_ON_DEMAND)
		return ERR_PTR(-EOPNOTSUPP);
	return pinion_register_user(pd, start, length, iova, access, udata);
}

static struct ib_mr *compat_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
					       int fd, int access, struct ib_dmah *dmah,
					       struct uverbs_attr_bundle *attrs)
{
	return pinion_register_dmabuf(pd, offset, length, iova, fd, access, attrs);
}
#endif

#ifndef PINION_HAVE_RESIZE_USER_CQ
static int compat_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	return cqe > 0 ? pinion_resize_cq(ibcq, cqe, udata) : -EINVAL;
}
#endif

#ifdef PINION_HAVE_COUNTER_INIT
struct counter {
	struct rdma_counter counter;
};

/* The core requires this op. There is nothing to initialize. */
static void compat_counter_init(struct rdma_counter *counter)
{
}

static int compat_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port)
{
	return pinion_counter_bind(counter, ibqp);
}

static int compat_counter_unbind_qp(struct ib_qp *ibqp, u32 port)
{
	return pinion_counter_unbind(ibqp);
}
#endif

const struct ib_device_ops pinion_compat_ops = {
#ifdef PINION_HAVE_DMAH
	.alloc_dmah = compat_alloc_dmah,
	.dealloc_dmah = compat_dealloc_dmah,
	.reg_user_mr = compat_reg_user_mr,
	.reg_user_mr_dmabuf = compat_reg_user_mr_dmabuf,

	INIT_RDMA_OBJ_SIZE(ib_dmah, dmah, ibdmah),
#else
	.reg_user_mr = pinion_register_user,
	.reg_user_mr_dmabuf = pinion_register_dmabuf,
#endif
#ifdef PINION_HAVE_RESIZE_USER_CQ
	.resize_user_cq = pinion_resize_cq,
#else
	.resize_cq = compat_resize_cq,
#endif
#ifdef PINION_HAVE_COUNTER_INIT
	.counter_bind_qp = compat_counter_bind_qp,
	.counter_init = compat_counter_init,
	.counter_unbind_qp = compat_counter_unbind_qp,

	INIT_RDMA_OBJ_SIZE(rdma_counter, counter, counter),
#else
	.counter_bind_qp = pinion_counter_bind,
	.counter_unbind_qp = pinion_counter_unbind,
#endif
#ifdef PINION_HAVE_QUERY_PORT_SPEED
	.query_port_speed = pinion_query_port_speed,
#endif
#ifdef PINION_HAVE_ROBUST_UDATA
	.uverbs_robust_udata = true,
#endif
};
