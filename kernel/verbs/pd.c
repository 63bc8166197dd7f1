// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains, and XRC domains.
 */
#include <rdma/uverbs_ioctl.h>

#include "device.h"
#include "ops.h"
#include "pd.h"
#include "udata.h"
#include "user.h"

struct pinion_xrcd {
	struct ib_xrcd ibxrcd;
};

int pinion_pd_number(struct pinion_dev *dev, struct pinion_pd *pd, struct pinion_user *user)
{
	int pdn, err;

	err = pinion_count_verb(dev, user, PINION_COUNT_PD);
	if (err)
		return err;
	pdn = ida_alloc_max(&dev->pdns, 2 * PINION_MAX_PD - 1, GFP_KERNEL_ACCOUNT);
	if (pdn < 0) {
		pinion_count_out(dev, user, PINION_COUNT_PD);
		return pdn;
	}
	pd->pdn = pdn;
	pd->user = user;
	return 0;
}

static void pd_forget_number(struct pinion_dev *dev, struct pinion_pd *pd)
{
	ida_free(&dev->pdns, pd->pdn);
	pinion_count_out(dev, pd->user, PINION_COUNT_PD);
}

int pinion_pd_show(struct pinion_dev *dev, struct pinion_pd *pd, const void *owner)
{
	int err = 0;

	/* May be called again, with the same owner: a handle belongs to one context. */
	xa_lock(&dev->pds);
	pd->owner = owner;
	if (!xa_load(&dev->pds, pd->pdn))
		err = xa_err(__xa_store(&dev->pds, pd->pdn, pd, GFP_KERNEL_ACCOUNT));
	xa_unlock(&dev->pds);
	return err;
}

int pinion_pd_end(struct pinion_dev *dev, struct pinion_pd *pd)
{
	bool shown, busy;

	xa_lock(&dev->pds);
	shown = xa_load(&dev->pds, pd->pdn);
	busy = shown && atomic_read(&pd->ibpd.usecnt);
	if (shown && !busy)
		__xa_erase(&dev->pds, pd->pdn);
	xa_unlock(&dev->pds);
	if (busy)
		return -EBUSY;
	pd_forget_number(dev, pd);
	return 0;
}

struct pinion_pd *pinion_pd_use(struct pinion_dev *dev, u32 pdn, const void *owner)
{
	struct pinion_pd *pd;

	xa_lock(&dev->pds);
	pd = xa_load(&dev->pds, pdn);
	if (pd && pd->owner != owner)
		pd = NULL;
	if (pd)
		atomic_inc(&pd->ibpd.usecnt);
	xa_unlock(&dev->pds);
	return pd;
}

/**
 * pinion_pd_query - answer with a domain's number, and let DEVX commands of its context name it
 * @ibpd: the domain
 * @attrs: answered with struct pinion_alloc_pd_resp
 *
 * alloc_pd publishes it for libmlx5 only, which uses the number in commands at once. There nothing
 * fails afterwards. Elsewhere, if it failed then, another thread's command might use the domain
 * already, and it could not be undone.
 *
 * Return: 0 or a negative errno.
 */
int pinion_pd_query(struct ib_pd *ibpd, struct uverbs_attr_bundle *attrs)
{
	struct pinion_alloc_pd_resp resp = { .pdn = to_pinion_pd(ibpd)->pdn };
	int err;

	err = pinion_pd_show(to_pinion_dev(ibpd->device), to_pinion_pd(ibpd),
			     ibpd->uobject->context);
	return err ?: uverbs_copy_to_struct_or_zero(attrs, PINION_ATTR_PD_QUERY_RESP, &resp,
						    sizeof(resp));
}

static int pd_alloc(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct pinion_pd *pd = to_pinion_pd(ibpd);
	struct pinion_dev *dev = to_pinion_dev(ibpd->device);
	struct pinion_alloc_pd_resp resp = {};
	int err;

	err = pinion_udata_in_none(udata);
	if (err)
		return err;
	err = pinion_pd_number(dev, pd, pinion_user_of_udata(udata));
	if (err || !udata)
		return err;
	resp.pdn = pd->pdn;
	err = pinion_udata_out(udata, &resp, sizeof(resp));
	/* Last, as others can use it from here on; the core does not fail after us. */
	if (!err && dev->is_mlx5)
		err = pinion_pd_show(dev, pd, pinion_udata_context(udata));
	if (err)
		pd_forget_number(dev, pd);
	return err;
}

static int pd_dealloc(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return pinion_pd_end(to_pinion_dev(ibpd->device), to_pinion_pd(ibpd));
}

static int xrcd_alloc(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	return pinion_udata_none(udata);
}

static int xrcd_dealloc(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	return 0;
}

const struct ib_device_ops pinion_pd_ops = {
	.alloc_pd = pd_alloc,
	.alloc_xrcd = xrcd_alloc,
	.dealloc_pd = pd_dealloc,
	.dealloc_xrcd = xrcd_dealloc,

	INIT_RDMA_OBJ_SIZE(ib_pd, pinion_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, pinion_xrcd, ibxrcd),
};
