// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The op slots that kernels name or type differently. Adapts arguments only.
 */
#include "../verbs/ops.h"

#ifdef PINION_HAVE_DMAH
static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
				 struct ib_dmah *dmah, struct ib_udata *udata)
{
	/* Hints for a PCIe root: there is none between us and memory. */
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return pinion_register_user(pd, start, length, iova, access, udata);
}
#endif

#ifndef PINION_HAVE_RESIZE_USER_CQ
static int resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	return cqe > 0 ? pinion_resize_cq(ibcq, cqe, udata) : -EINVAL;
}
#endif

const struct ib_device_ops pinion_compat_ops = {
#ifdef PINION_HAVE_DMAH
	.reg_user_mr = reg_user_mr,
#else
	.reg_user_mr = pinion_register_user,
#endif
#ifdef PINION_HAVE_RESIZE_USER_CQ
	.resize_user_cq = pinion_resize_cq,
#else
	.resize_cq = resize_cq,
#endif
#ifdef PINION_HAVE_QUERY_PORT_SPEED
	.query_port_speed = pinion_query_port_speed,
#endif
#ifdef PINION_HAVE_ROBUST_UDATA
	.uverbs_robust_udata = true,
#endif
};
