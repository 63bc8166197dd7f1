// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creates, resizes and destroys shared receive queues. recv.c posts to them.
 */
#include <errno.h>
#include <stdlib.h>

#include <pinion/queues.h>

#include "provider.h"

enum {
	SRQ_MASK = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
		   IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
};

static int check_srq_attr(struct ibv_context *context,
			  const struct ibv_srq_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, SRQ_MASK))
		return pinion_refuse(context, EOPNOTSUPP,
				     "comp_mask %#x of an SRQ",
				     attr->comp_mask);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD))
		return pinion_refuse(context, EINVAL, "an SRQ in no domain");
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) &&
	    attr->srq_type != IBV_SRQT_BASIC && attr->srq_type != IBV_SRQT_XRC)
		return pinion_refuse(context, EOPNOTSUPP,
				     "srq_type %d, neither basic nor XRC",
				     attr->srq_type);
	return 0;
}

static int create_srq(struct ibv_context *context, struct pinion_srq *srq,
		      struct ibv_srq_init_attr_ex *attr)
{
	struct {
		struct ib_uverbs_create_srq_resp core;
		struct pinion_create_srq_resp pinion;
	} resp = {};
	struct {
		struct ibv_create_xsrq core;
		struct pinion_create_srq_req pinion;
	} cmd = {};
	int err;

	err = pinion_home_make(&srq->rq.home, attr->pd, PINION_RES_TYPE_SRQ,
			       attr->attr.max_wr,
			       pinion_rq_stride(attr->attr.max_sge),
			       &cmd.pinion.place);
	if (err)
		return err;
	err = ibv_cmd_create_srq_ex(context, &srq->vsrq, attr, &cmd.core,
				    sizeof(cmd), &resp.core, sizeof(resp));
	if (err)
		goto err_home;

	err = pinion_home_map(&srq->rq.ring, &srq->rq.home, context,
			      &resp.pinion.ring);
	if (err)
		goto err_destroy;

	/* libibverbs sets it for basic SRQs only. */
	srq->vsrq.srq.srq_context = attr->srq_context;
	pinion_lock_init(&srq->rq.lock, pinion_single_threaded(attr->pd));
	srq->rq.max_sge = resp.pinion.max_sge;
	srq->parent = pinion_parent_get(attr->pd);
	return 0;

err_destroy:
	ibv_cmd_destroy_srq(&srq->vsrq.srq);
err_home:
	pinion_home_end(&srq->rq.home);
	return err;
}

struct ibv_srq *pinion_create_srq_ex(struct ibv_context *context,
				     struct ibv_srq_init_attr_ex *attr)
{
	struct pinion_srq *srq;
	int err;

	err = check_srq_attr(context, attr);
	if (err) {
		errno = err;
		return NULL;
	}

	srq = pinion_zalloc(context, sizeof(*srq), "an SRQ");
	if (!srq)
		return NULL;

	err = create_srq(context, srq, attr);
	if (err) {
		free(srq);
		errno = err;
		return NULL;
	}
	return &srq->vsrq.srq;
}

struct ibv_srq *pinion_create_srq(struct ibv_pd *pd,
				  struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd,
	};
	struct ibv_srq *srq;

	srq = pinion_create_srq_ex(pd->context, &ex);
	if (srq) {
		attr->attr.max_wr = ex.attr.max_wr;
		attr->attr.max_sge = ex.attr.max_sge;
	}
	return srq;
}

/* The verb has no response of drivers, so the request has the address of one. */
static int resize_step(struct ibv_srq *srq, struct ibv_srq_attr *attr,
		       int attr_mask, uint32_t step,
		       struct pinion_ring_info *ring)
{
	struct pinion_create_srq_resp resp = {};
	struct {
		struct ibv_modify_srq core;
		struct pinion_modify_srq_req pinion;
	} cmd = { .pinion = { .resp_addr = (uintptr_t)&resp, .step = step } };
	int err;

	err = ibv_cmd_modify_srq(srq, attr, attr_mask, &cmd.core, sizeof(cmd));
	*ring = resp.ring;
	return err;
}

/*
 * As for CQs: the kernel makes a new ring, we map it, and the kernel moves waiting
 * requests to it. The lock is held all the time, so no thread posts to the old ring.
 */
static int resize(struct pinion_srq *srq, struct ibv_srq_attr *attr,
		  int attr_mask)
{
	struct ibv_srq *ibsrq = &srq->vsrq.srq;
	struct pinion_home home = {};
	struct pinion_ring ring = {};
	struct pinion_ring_info info;
	int err;

	pinion_lock(&srq->rq.lock);
	err = resize_step(ibsrq, attr, attr_mask, PINION_RESIZE_OFFER, &info);
	if (!err)
		err = pinion_home_map(&ring, &home, ibsrq->context, &info);
	if (!err)
		err = resize_step(ibsrq, attr, attr_mask, PINION_RESIZE_TAKE,
				  &info);
	if (!err) {
		pinion_ring_resync(&ring);
		pinion_home_swap(&srq->rq.ring, &srq->rq.home, &ring, &home);
	}
	pinion_unlock(&srq->rq.lock);
	/*
	 * The old ring, or after an error the new one. Without the lock, since this may
	 * call the application's allocator.
	 */
	pinion_home_unmap(&ring, &home);
	return err;
}

int pinion_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		      int attr_mask)
{
	struct ibv_modify_srq cmd;

	if (attr_mask & IBV_SRQ_MAX_WR)
		return resize(to_pinion_srq(ibsrq), attr, attr_mask);
	return ibv_cmd_modify_srq(ibsrq, attr, attr_mask, &cmd, sizeof(cmd));
}

int pinion_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

int pinion_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num)
{
	struct pinion_srq *srq = to_pinion_srq(ibsrq);

	/* Only an XRC SRQ is addressed by a number. */
	if (srq->vsrq.srq_type != IBV_SRQT_XRC)
		return pinion_refuse(ibsrq->context, EOPNOTSUPP,
				     "the SRQ is not of XRC and has no number");
	*srq_num = srq->vsrq.srq_num;
	return 0;
}

int pinion_destroy_srq(struct ibv_srq *ibsrq)
{
	struct pinion_srq *srq = to_pinion_srq(ibsrq);
	int err;

	err = ibv_cmd_destroy_srq(ibsrq);
	if (err)
		return err;

	pinion_home_unmap(&srq->rq.ring, &srq->rq.home);
	pinion_parent_put(srq->parent);
	free(srq);
	return 0;
}
