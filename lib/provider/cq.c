// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creates, resizes and destroys completion queues. poll.c polls them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <pinion/queues.h>

#include "provider.h"

enum {
	WC_FLAGS = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
		   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	CQ_MASK = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD,
	CQ_FLAGS = IBV_CREATE_CQ_ATTR_SINGLE_THREADED |
		   IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
};

static struct ibv_pd *domain(const struct ibv_cq_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD ?
		       attr->parent_domain :
		       NULL;
}

static bool single_threaded(const struct ibv_cq_init_attr_ex *attr)
{
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return true;
	return domain(attr) && pinion_single_threaded(domain(attr));
}

static int check_cq_attr(struct ibv_context *context,
			 const struct ibv_cq_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->wc_flags, WC_FLAGS))
		return pinion_refuse(context, EOPNOTSUPP,
				     "wc_flags %#" PRIx64 ", there are %#x",
				     attr->wc_flags, WC_FLAGS);
	if (!check_comp_mask(attr->comp_mask, CQ_MASK))
		return pinion_refuse(context, EOPNOTSUPP,
				     "comp_mask %#x of a CQ", attr->comp_mask);
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    !check_comp_mask(attr->flags, CQ_FLAGS))
		return pinion_refuse(context, EOPNOTSUPP, "flags %#x of a CQ",
				     attr->flags);
	return 0;
}

static int create_cq(struct ibv_context *context, struct pinion_cq *cq,
		     const struct ibv_cq_init_attr_ex *attr)
{
	struct {
		struct ibv_create_cq_ex core;
		struct pinion_create_cq_req pinion;
	} cmd = {};
	struct {
		struct ib_uverbs_ex_create_cq_resp core;
		struct pinion_create_cq_resp pinion;
	} resp = {};
	int err;

	if (attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		cmd.pinion.flags |= PINION_CQ_TIMESTAMP;
	if (attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		cmd.pinion.flags |= PINION_CQ_WALLCLOCK;

	err = pinion_home_make(&cq->home, domain(attr), PINION_RES_TYPE_CQ,
			       attr->cqe, sizeof(struct pinion_cqe),
			       &cmd.pinion.place);
	if (err)
		return err;
	err = pinion_cmd_create_cq_ex(context, attr, &cq->vcq, &cmd.core,
				      sizeof(cmd), &resp.core, sizeof(resp));
	if (err)
		goto err_home;

	err = pinion_home_map(&cq->ring, &cq->home, context, &resp.pinion.ring);
	if (err)
		goto err_destroy;
	return 0;

err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_home:
	pinion_home_end(&cq->home);
	return err;
}

struct ibv_cq_ex *pinion_create_cq_ex(struct ibv_context *context,
				      struct ibv_cq_init_attr_ex *attr)
{
	struct pinion_cq *cq = NULL;
	int err;

	err = check_cq_attr(context, attr);
	if (err)
		goto err_errno;

	cq = pinion_zalloc(context, sizeof(*cq), "a CQ");
	if (!cq)
		return NULL;

	err = create_cq(context, cq, attr);
	if (err)
		goto err_free;

	pinion_lock_init(&cq->lock, single_threaded(attr));
	cq->parent = pinion_parent_get(domain(attr));
	pinion_set_poll_ops(&cq->vcq.cq_ex, attr->wc_flags);
	return &cq->vcq.cq_ex;

err_free:
	free(cq);
err_errno:
	errno = err;
	return NULL;
}

struct ibv_cq *pinion_create_cq(struct ibv_context *context, int cqe,
				struct ibv_comp_channel *channel,
				int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct ibv_cq_ex *cq;

	cq = pinion_create_cq_ex(context, &attr);
	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

int pinion_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(cq, attr, &cmd, sizeof(cmd));
}

static int resize_step(struct ibv_cq *cq, int cqe, uint32_t step,
		       struct pinion_ring_info *ring)
{
	struct {
		struct ibv_resize_cq core;
		struct pinion_resize_cq_req pinion;
	} cmd = { .pinion.step = step };
	struct {
		struct ib_uverbs_resize_cq_resp core;
		struct pinion_create_cq_resp pinion;
	} resp = {};
	int err;

	err = ibv_cmd_resize_cq(cq, cqe, &cmd.core, sizeof(cmd), &resp.core,
				sizeof(resp));
	*ring = resp.pinion.ring;
	return err;
}

/*
 * The kernel makes a new ring and we map it. In a second step the kernel moves
 * completions that were not polled to it, and uses it from then on. The lock is held
 * all the time, so no thread polls the old ring meanwhile. The new ring is always in
 * memory of the kernel.
 */
int pinion_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct pinion_cq *cq = to_pinion_cq(ibcq);
	struct pinion_home home = {};
	struct pinion_ring ring = {};
	struct pinion_ring_info info;
	int err;

	pinion_lock(&cq->lock);
	pinion_cq_keep_current(cq);
	err = resize_step(ibcq, cqe, PINION_RESIZE_OFFER, &info);
	if (!err)
		err = pinion_home_map(&ring, &home, ibcq->context, &info);
	if (!err)
		err = resize_step(ibcq, cqe, PINION_RESIZE_TAKE, &info);
	if (!err)
		pinion_home_swap(&cq->ring, &cq->home, &ring, &home);
	pinion_unlock(&cq->lock);
	/*
	 * The old ring, or after an error the new one. Without the lock, since this may
	 * call the application's allocator.
	 */
	pinion_home_unmap(&ring, &home);
	return err;
}

int pinion_destroy_cq(struct ibv_cq *ibcq)
{
	struct pinion_cq *cq = to_pinion_cq(ibcq);
	int err;

	err = ibv_cmd_destroy_cq(ibcq);
	if (err)
		return err;

	pinion_home_unmap(&cq->ring, &cq->home);
	pinion_parent_put(cq->parent);
	free(cq);
	return 0;
}
