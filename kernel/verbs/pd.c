// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains, and the domains XRC queues share. Never knows what is in one.
 */
#include "device.h"
#include "ops.h"
#include "udata.h"

struct pinion_pd {
	struct ib_pd ibpd;
	u32 pdn;
};

struct pinion_xrcd {
	struct ib_xrcd ibxrcd;
};

static int alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct pinion_pd *pd = container_of(ibpd, struct pinion_pd, ibpd);
	struct pinion_dev *dev = to_pinion_dev(ibpd->device);
	struct pinion_alloc_pd_resp resp = {};
	int err, pdn;

	err = pinion_udata_in_none(udata);
	if (err)
		return err;
	pdn = ida_alloc_max(&dev->pdns, PINION_MAX_PD - 1, GFP_KERNEL_ACCOUNT);
	if (pdn < 0)
		return pdn == -ENOSPC ? -ENOMEM : pdn;
	pd->pdn = pdn;
	if (!udata)
		return 0;
	resp.pdn = pdn;
	err = pinion_udata_out(udata, &resp, sizeof(resp));
	if (err)
		ida_free(&dev->pdns, pdn);
	return err;
}

static int dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct pinion_pd *pd = container_of(ibpd, struct pinion_pd, ibpd);

	ida_free(&to_pinion_dev(ibpd->device)->pdns, pd->pdn);
	return 0;
}

static int alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	return pinion_udata_none(udata);
}

static int dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	return 0;
}

const struct ib_device_ops pinion_pd_ops = {
	.alloc_pd = alloc_pd,
	.alloc_xrcd = alloc_xrcd,
	.dealloc_pd = dealloc_pd,
	.dealloc_xrcd = dealloc_xrcd,

	INIT_RDMA_OBJ_SIZE(ib_pd, pinion_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, pinion_xrcd, ibxrcd),
};
