// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Opens XRC domains and creates shared receive queues in them.
 */
#include <fcntl.h>

#include "xrc.h"

void need_xrc(void)
{
	if (!(dev.attr.orig_attr.device_cap_flags & IBV_DEVICE_XRC))
		lacks("no XRC");
}

struct ibv_xrcd *xrcd_open(struct ibv_context *ctx, int fd)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = O_CREAT,
	};

	return ibv_open_xrcd(ctx, &attr);
}

struct ibv_srq *xsrq_create(struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 16, .max_sge = 4 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC,
		.pd = dev.pd,
		.xrcd = xrcd,
		.cq = cq,
	};

	return ibv_create_srq_ex(dev.ctx, &init);
}
