// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ops of memory regions and windows: checks drivers' data and limits, and counts; mem/ does
 * the rest.
 */
#include <rdma/ib_umem.h>

#include "../compat/umem.h"
#include "../mem/dm.h"
#include "../mem/dmabuf.h"
#include "../mem/fastreg.h"
#include "../mem/mr.h"
#include "../mem/odp.h"
#include "device.h"
#include "ops.h"
#include "ucontext.h"
#include "udata.h"
#include "user.h"

/*
 * Regions and windows are counted before they are created, against the user of @pd. A region that
 * gets another domain by rereg_mr stays with its user: a process can name only domains of the same
 * file. So it is counted out against the user of the domain it has at the end.
 */
static int mr_count_in(struct ib_pd *pd, enum pinion_counted kind)
{
	return pinion_count_verb(to_pinion_dev(pd->device), pinion_user_of_pd(pd), kind);
}

static void mr_count_out(struct ib_pd *pd, enum pinion_counted kind)
{
	pinion_count_out(to_pinion_dev(pd->device), pinion_user_of_pd(pd), kind);
}

static int region_count_in(struct ib_pd *pd)
{
	return mr_count_in(pd, PINION_COUNT_MR);
}

static void region_count_out(struct ib_pd *pd)
{
	mr_count_out(pd, PINION_COUNT_MR);
}

/* Count the region out again if it could not be created. */
static void mr_uncount_failed(struct ib_pd *pd, struct ib_mr *ibmr)
{
	if (IS_ERR(ibmr))
		region_count_out(pd);
}

/*
 * No data structure of an on-demand region grows with its length, so only the range of addresses
 * limits it. The implicit region (start 0, length U64_MAX) covers all addresses.
 */
static bool mr_too_long(u64 start, u64 length, int access)
{
	if (access & IB_ACCESS_ON_DEMAND)
		return length > PINION_MAX_ODP_SIZE && (start || length != U64_MAX);
	return length > PINION_MAX_MR_SIZE;
}

/* Count the region. Return: 0, or a negative errno after pinion_mr_refused() has reported it. */
static int region_begin(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			bool too_long)
{
	int err;

	if (too_long)
		return pinion_mr_refused(pd, start, length, iova, access,
					 "longer than a region may be", -EINVAL);
	err = region_count_in(pd);
	if (err)
		return pinion_mr_refused(pd, start, length, iova, access,
					 err == -EIO ? "the device is broken" :
						       "too many regions of this user", err);
	return 0;
}

/**
 * pinion_register_user - ib_device_ops.reg_user_mr on every kernel
 * @pd: protection domain
 * @start: user address
 * @length: in bytes
 * @iova: the address of the first byte as work requests will name it
 * @access: IB_ACCESS_*, checked by the core for contradictions
 * @udata: empty; NULL for a kernel consumer
 *
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *pinion_register_user(struct ib_pd *pd, u64 start, u64 length, u64 iova,
				   int access, struct ib_udata *udata)
{
	struct pinion_dev *dev = to_pinion_dev(pd->device);
	struct ib_mr *ibmr;
	int err;

	err = pinion_udata_none(udata);
	if (!err)
		err = region_begin(pd, start, length, iova, access,
				   mr_too_long(start, length, access));
	if (err)
		return ERR_PTR(err);
	ibmr = pinion_reg_user_mr(&dev->node.keys, pd, start, length, iova, access);
	mr_uncount_failed(pd, ibmr);
	return ibmr;
}

/**
 * pinion_register_dmabuf - ib_device_ops.reg_user_mr_dmabuf on every kernel
 * @pd: protection domain
 * @offset: of the first byte in the buffer
 * @length: in bytes
 * @iova: the address of the first byte as work requests will name it
 * @fd: the buffer
 * @access: IB_ACCESS_*, those that the core lets through for a dma-buf
 * @attrs: of the call; may ask for data direct (data_direct.c)
 *
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *pinion_register_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				     int access, struct uverbs_attr_bundle *attrs)
{
	struct pinion_dev *dev = to_pinion_dev(pd->device);
	struct ib_mr *ibmr;
	bool data_direct;
	int err;

	err = pinion_udata_none(&attrs->driver_udata);
	if (!err)
		err = pinion_wants_data_direct(attrs, &data_direct);
	if (!err)
		err = region_begin(pd, offset, length, iova, access, length > PINION_MAX_MR_SIZE);
	if (err)
		return ERR_PTR(err);
	ibmr = pinion_reg_dmabuf_mr(&dev->node.keys, pd, data_direct ? dev->data_direct : NULL,
				    offset, length, iova, fd, access);
	mr_uncount_failed(pd, ibmr);
	return ibmr;
}

/* ib_device_ops.rereg_user_mr. Changes @ibmr itself and never replaces it: the counts stay. */
static struct ib_mr *mr_rereg(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
			      int access, struct ib_pd *pd, struct ib_udata *udata)
{
	int becomes = flags & IB_MR_REREG_ACCESS ? access : to_pinion_mr(ibmr)->access;
	int err;

	err = pinion_udata_none(udata);
	if (!err && READ_ONCE(to_pinion_dev(ibmr->device)->broken))
		err = pinion_mr_refused(ibmr->pd, start, length, iova, becomes,
					"the device is broken", -EIO);
	if (err)
		return ERR_PTR(err);
	if (flags & IB_MR_REREG_TRANS && mr_too_long(start, length, becomes))
		return ERR_PTR(pinion_mr_refused(ibmr->pd, start, length, iova, becomes,
						 "longer than a region may be", -EINVAL));
	/* As when it is registered; see compat/ops.c. */
	if (becomes & IB_ACCESS_ON_DEMAND && pinion_has_dma_handle(ibmr))
		return ERR_PTR(pinion_mr_refused(ibmr->pd, start, length, iova, becomes,
						 "on demand with a DMA handle", -EOPNOTSUPP));
	return pinion_rereg_user_mr(ibmr, flags, start, length, iova, access, pd);
}

static struct ib_mr *mr_get_dma(struct ib_pd *pd, int access)
{
	struct pinion_dev *dev = to_pinion_dev(pd->device);
	int err = region_count_in(pd);
	struct ib_mr *ibmr;

	if (err)
		return ERR_PTR(err);
	ibmr = pinion_get_dma_mr(&dev->node.keys, pd, access);
	mr_uncount_failed(pd, ibmr);
	return ibmr;
}

static struct ib_mr *mr_reg_dm(struct ib_pd *pd, struct ib_dm *ibdm, struct ib_dm_mr_attr *attr,
			       struct uverbs_attr_bundle *attrs)
{
	struct pinion_dev *dev = to_pinion_dev(pd->device);
	int err = region_count_in(pd);
	struct ib_mr *ibmr;

	if (err)
		return ERR_PTR(err);
	ibmr = pinion_reg_dm_mr(&dev->node.keys, pd, to_pinion_dm(ibdm), attr->offset,
				attr->length, attr->access_flags);
	mr_uncount_failed(pd, ibmr);
	return ibmr;
}

static struct ib_mr *mr_alloc(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg)
{
	struct pinion_dev *dev = to_pinion_dev(pd->device);
	int err = region_count_in(pd);
	struct ib_mr *ibmr;

	if (err)
		return ERR_PTR(err);
	ibmr = pinion_alloc_mr(&dev->node.keys, pd, type, max_num_sg);
	mr_uncount_failed(pd, ibmr);
	return ibmr;
}

static int mr_dereg(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct ib_pd *pd = ibmr->pd;
	int err;

	err = pinion_dereg_mr(ibmr);
	if (!err)
		region_count_out(pd);
	return err;
}

static int mw_alloc(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct pinion_dev *dev = to_pinion_dev(ibmw->device);
	int err;

	err = pinion_udata_none(udata);
	if (!err)
		err = mr_count_in(ibmw->pd, PINION_COUNT_MW);
	if (err)
		return err;
	err = pinion_alloc_mw(&dev->node.keys, ibmw);
	if (err)
		mr_count_out(ibmw->pd, PINION_COUNT_MW);
	return err;
}

static int mw_dealloc(struct ib_mw *ibmw)
{
	int err = pinion_dealloc_mw(ibmw);

	if (!err)
		mr_count_out(ibmw->pd, PINION_COUNT_MW);
	return err;
}

static int mr_advise(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		     struct ib_sge *sges, u32 num_sge, struct uverbs_attr_bundle *attrs)
{
	struct pinion_keys *keys = &to_pinion_dev(pd->device)->node.keys;
	struct pinion_hints *hints = &keys->hints;

	if (pd->uobject)
		hints = &to_pinion_ucontext(pd->uobject->context)->hints;
	return pinion_advise_mr(keys, hints, pd, advice, flags, sges, num_sge);
}

const struct ib_device_ops pinion_mr_ops = {
	.advise_mr = mr_advise,
	.alloc_mr = mr_alloc,
	.alloc_mw = mw_alloc,
	.dealloc_mw = mw_dealloc,
	.dereg_mr = mr_dereg,
	.get_dma_mr = mr_get_dma,
	.map_mr_sg = pinion_map_mr_sg,
	.reg_dm_mr = mr_reg_dm,
	.rereg_user_mr = mr_rereg,

	INIT_RDMA_OBJ_SIZE(ib_mw, pinion_mw, ibmw),
};
