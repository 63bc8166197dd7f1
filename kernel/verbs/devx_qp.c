// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creates, modifies and destroys the queue pairs of DEVX commands. The RDMA core does not know
 * them.
 */
#include <linux/capability.h>
#include <linux/etherdevice.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "devx_qp.h"
#include "ops.h"
#include "user.h"

#define SEGMENT		16
#define ANY_STATE	-1

/* ------------------------------------------------------------------ creation */

static void pair_forget_places(struct pinion_devx_pair *pair)
{
	pinion_ring_free(&pair->qp.rq.ring);
	pinion_ring_free(&pair->qp.sq.ring);
	pinion_view_end(&pair->raw.record);
	pinion_view_end(&pair->raw.ring);
}

/* Rings of the kernel: copies of send requests; a receive ring of which only the header is used. */
static int pair_make_rings(struct pinion_qp *qp)
{
	int err;

	qp->sq.max_sge = PINION_MAX_SGE;
	qp->sq.max_inline = PINION_RAW_INLINE;
	err = pinion_ring_alloc(&qp->sq.ring, PINION_RAW_SENDS,
				pinion_sq_stride(PINION_MAX_SGE, PINION_RAW_INLINE));
	if (err || !qp->has_rq)
		return err;
	return pinion_ring_alloc(&qp->rq.ring, 1, pinion_rq_stride(1));
}

static int pair_find_places(struct pinion_dev *dev, const void *owner,
			    struct pinion_devx_pair *pair)
{
	const struct pinion_devx_qp *asked = &pair->asked;
	u32 num_sge = 1 << asked->log_rq_stride;
	struct pinion_raw_qp *raw = &pair->raw;
	const __be32 *record;
	u64 receives = 0;
	int err;

	if (asked->receives) {
		raw->rq.entries = 1 << asked->log_rq_size;
		raw->rq.num_sge = num_sge;
		receives = (u64)raw->rq.entries * num_sge * SEGMENT;
	}
	raw->sq.size = 1 << asked->log_sq_size;
	pair->qp.has_rq = !asked->shares;
	err = pinion_devx_view(dev, owner, &raw->ring, &asked->ring,
			       receives + (u64)raw->sq.size * PINION_MLX5_BLOCK, PINION_MLX5_BLOCK,
			       PINION_VIEW_READ);
	if (!err)
		err = pinion_devx_view(dev, owner, &raw->record, &asked->record,
				       PINION_RAW_RECORD, PINION_RAW_RECORD, PINION_VIEW_READ);
	if (!err)
		err = pair_make_rings(&pair->qp);
	if (err) {
		pair_forget_places(pair);
		return err;
	}
	record = raw->record.at;
	raw->rq.slots = raw->ring.at;
	raw->rq.record = &record[0];
	raw->sq.blocks = raw->ring.at + receives;
	raw->sq.record = &record[1];
	raw->sq.bell = pair->bell.at;
	return 0;
}

static void pair_unuse(struct pinion_dev *dev, struct pinion_devx_pair *pair)
{
	pinion_devx_bell_unuse(dev, &pair->bell);
	if (pair->pool)
		pinion_devx_rmp_unuse(dev, pair->pool);
	if (pair->recv)
		pinion_devx_cq_unuse(dev, pair->recv);
	if (pair->send)
		pinion_devx_cq_unuse(dev, pair->send);
	if (pair->pd)
		pinion_pd_unuse(pair->pd);
}

static int pair_find(struct pinion_dev *dev, const void *owner, struct pinion_devx_pair *pair)
{
	const struct pinion_devx_qp *asked = &pair->asked;

	pair->pd = pinion_pd_use(dev, asked->pdn, owner);
	if (!pair->pd)
		return PINION_DEVX_NO_SUCH_PD;
	pair->send = pinion_devx_cq_use(dev, asked->send_cqn, owner);
	pair->recv = pinion_devx_cq_use(dev, asked->recv_cqn, owner);
	if (!pair->send || !pair->recv)
		return PINION_DEVX_NO_SUCH_CQ;
	if (asked->shares) {
		pair->pool = pinion_devx_rmp_use(dev, asked->rmpn, owner);
		if (!pair->pool)
			return PINION_DEVX_NO_SUCH_RMP;
	}
	if (asked->no_send_record && !pinion_devx_bell_use(dev, asked->uar, owner, &pair->bell))
		return PINION_DEVX_NO_SUCH_UAR;
	return 0;
}

/* Look up all objects that @pair needs and take a reference to each, or none on failure. */
static int pair_use(struct pinion_dev *dev, const void *owner, struct pinion_devx_pair *pair)
{
	int err;

	err = pair_find(dev, owner, pair);
	if (err)
		pair_unuse(dev, pair);
	return err;
}

/* Indexed by enum pinion_devx_service. */
static const enum ib_qp_type pair_types[] = { IB_QPT_RC, IB_QPT_UC, IB_QPT_UD };

static void pair_fill(struct pinion_dev *dev, struct pinion_devx_pair *pair)
{
	struct pinion_raw_qp *raw = &pair->raw;
	struct pinion_qp *qp = &pair->qp;

	raw->qp = qp;
	raw->user_index = pair->asked.user_index;
	raw->rq.user_index = pair->asked.user_index;
	pinion_devx_events_init(&pair->events, PINION_MLX5_OF_QP, 0);
	qp->ibqp.event_handler = pinion_devx_happened;
	qp->ibqp.qp_context = &pair->events;
	qp->ibqp.device = &dev->ibdev;
	qp->ibqp.qp_type = pair_types[pair->asked.service];
	qp->ibqp.pd = &pair->pd->ibpd;
	qp->ibqp.send_cq = &pair->send->cq.ibcq;
	qp->ibqp.recv_cq = &pair->recv->cq.ibcq;
	qp->node = &dev->node;
	qp->stats = dev->node.stats;
	qp->user = true;
	qp->wq = pair->ucontext->wq;
	qp->faulter = pair->ucontext->faulter;
	qp->waiting = &pair->ucontext->user->waiting;
	qp->has_sq = true;
	if (pair->pool)
		qp->ibqp.srq = &pair->pool->srq.ibsrq;
	pinion_recvq_init(&qp->rq, PINION_MAX_SGE);
	qp->rq.raw = &raw->rq;
	raw->bells = &pair->ucontext->user->bells;
	qp->raw = raw;
}

static int pair_make(struct pinion_dev *dev, struct ib_ucontext *context,
		     struct pinion_devx_pair *pair)
{
	int err;

	err = pinion_ucontext_make_workers(pair->ucontext);
	if (!err)
		err = pair_use(dev, context, pair);
	if (err)
		return err;
	err = pair_find_places(dev, context, pair);
	if (err)
		goto err_unuse;
	pair_fill(dev, pair);
	err = pinion_qp_init(&pair->qp, false);
	if (err)
		goto err_forget;
	err = pinion_node_add_qp(&dev->node, &pair->qp, false);
	if (err)
		goto err_fini;
	/* Not too late: a queue pair in RESET has no events. */
	pair->events.number = pair->qp.ibqp.qp_num;
	pinion_bells_join(&pair->raw);
	return 0;

err_fini:
	pinion_qp_fini(&pair->qp);
err_forget:
	pair_forget_places(pair);
err_unuse:
	pair_unuse(dev, pair);
	return err;
}

int pinion_devx_qp_make(struct pinion_dev *dev, struct ib_ucontext *context,
			const struct pinion_devx_qp *asked, struct pinion_devx_pair **made)
{
	struct pinion_user *user = to_pinion_ucontext(context)->user;
	struct pinion_devx_pair *pair;
	int err;

	if (1 << asked->log_sq_size > PINION_MAX_QP_WR ||
	    (asked->receives && (1 << asked->log_rq_size > PINION_MAX_QP_WR ||
				 1 << asked->log_rq_stride > PINION_MAX_SGE)))
		return PINION_DEVX_QUEUE_SIZE;
	err = pinion_count_in(dev, user, PINION_COUNT_QP);
	if (err)
		return err == -EDQUOT ? PINION_DEVX_USER_QUEUES : PINION_DEVX_DEVICE_QUEUES;
	pair = kzalloc(sizeof(*pair), GFP_KERNEL_ACCOUNT);
	err = -ENOMEM;
	if (!pair)
		goto err_count;
	pair->asked = *asked;
	pair->ucontext = to_pinion_ucontext(context);
	err = pair_make(dev, context, pair);
	if (err)
		goto err_free;
	*made = pair;
	return 0;

err_free:
	kfree(pair);
err_count:
	pinion_count_out(dev, user, PINION_COUNT_QP);
	return err;
}

void pinion_devx_qp_end(struct pinion_dev *dev, struct pinion_devx_pair *pair)
{
	struct pinion_user *user = pair->ucontext->user;

	pinion_bells_leave(&pair->raw);
	pinion_node_del_qp(&dev->node, &pair->qp);
	pinion_qp_fini(&pair->qp);
	pinion_devx_events_end(&pair->events, pair->ucontext);
	pair_forget_places(pair);
	pair_unuse(dev, pair);
	kfree(pair);
	pinion_count_out(dev, user, PINION_COUNT_QP);
}

/* -------------------------------------------------------------- modification */

#define IN_INIT		(IB_QP_PKEY_INDEX | IB_QP_PORT)
#define IN_RTR		(IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN)
#define RELIABLE_RTR	(IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER)
#define RELIABLE_RTS	(IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | \
			 IB_QP_MAX_QP_RD_ATOMIC)

static const struct pair_change {
	u16 opcode;
	int from;
	enum ib_qp_state to;
	int masks[ARRAY_SIZE(pair_types)];
} pair_changes[] = {
	{ PINION_DEVX_RST2INIT_QP, IB_QPS_RESET, IB_QPS_INIT,
	  { IN_INIT | IB_QP_ACCESS_FLAGS, IN_INIT | IB_QP_ACCESS_FLAGS, IN_INIT | IB_QP_QKEY } },
	{ PINION_DEVX_INIT2INIT_QP, IB_QPS_INIT, IB_QPS_INIT },
	{ PINION_DEVX_INIT2RTR_QP, IB_QPS_INIT, IB_QPS_RTR, { IN_RTR | RELIABLE_RTR, IN_RTR } },
	{ PINION_DEVX_RTR2RTS_QP, IB_QPS_RTR, IB_QPS_RTS,
	  { IB_QP_SQ_PSN | RELIABLE_RTS, IB_QP_SQ_PSN, IB_QP_SQ_PSN } },
	{ PINION_DEVX_RTS2RTS_QP, IB_QPS_RTS, IB_QPS_RTS },
	{ PINION_DEVX_SQERR2RTS_QP, IB_QPS_SQE, IB_QPS_RTS },
	{ PINION_DEVX_2ERR_QP, ANY_STATE, IB_QPS_ERR },
	{ PINION_DEVX_2RST_QP, ANY_STATE, IB_QPS_RESET },
};

static const struct pair_change *pair_change_of(u16 opcode)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(pair_changes); i++) {
		if (pair_changes[i].opcode == opcode)
			return &pair_changes[i];
	}
	return NULL;
}

/* Access flags: take those in @bits from @asked, the others from @were. */
static int pair_rights(int were, const struct pinion_devx_qp *asked, u32 bits)
{
	const struct {
		u32 bit;
		int right;
		bool wanted;
	} rights[] = {
		{ PINION_DEVX_QP_READ, IB_ACCESS_REMOTE_READ, asked->remote_read },
		{ PINION_DEVX_QP_WRITE, IB_ACCESS_REMOTE_WRITE, asked->remote_write },
		{ PINION_DEVX_QP_ATOMIC, IB_ACCESS_REMOTE_ATOMIC, asked->remote_atomic },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rights); i++) {
		if (!(bits & rights[i].bit))
			continue;
		were &= ~rights[i].right;
		if (rights[i].wanted)
			were |= rights[i].right;
	}
	return were;
}

#define ALL_RIGHTS (PINION_DEVX_QP_READ | PINION_DEVX_QP_WRITE | PINION_DEVX_QP_ATOMIC)

static const struct {
	u32 bits;
	int attribute;
} pair_optional[] = {
	{ ALL_RIGHTS, IB_QP_ACCESS_FLAGS },
	{ PINION_DEVX_QP_PKEY, IB_QP_PKEY_INDEX },
	{ PINION_DEVX_QP_QKEY, IB_QP_QKEY },
	{ PINION_DEVX_QP_RNR_TIMER, IB_QP_MIN_RNR_TIMER },
	{ PINION_DEVX_QP_PATH, IB_QP_AV },
	{ PINION_DEVX_QP_READS_OUT, IB_QP_MAX_QP_RD_ATOMIC },
	{ PINION_DEVX_QP_READS_IN, IB_QP_MAX_DEST_RD_ATOMIC },
	{ PINION_DEVX_QP_RETRIES, IB_QP_RETRY_CNT },
	{ PINION_DEVX_QP_RNR_RETRIES, IB_QP_RNR_RETRY },
	{ PINION_DEVX_QP_TIMEOUT, IB_QP_TIMEOUT },
	{ PINION_DEVX_QP_PORT, IB_QP_PORT },
};

/*
 * The attributes to modify: those of the transition and the optional ones of the command.
 * pinion_modify_qp() refuses those that cannot be changed in it. Return: a mask, or -1 if there is
 * no such attribute.
 */
static int pair_mask(const struct pair_change *change, u8 service,
		     const struct pinion_devx_qp *asked)
{
	int mask = change->masks[service] | IB_QP_STATE, i;
	u32 left = asked->optional;

	/* These two have no optional attributes. */
	if (change->to == IB_QPS_ERR || change->to == IB_QPS_RESET)
		return mask;
	for (i = 0; i < ARRAY_SIZE(pair_optional); i++) {
		if (left & pair_optional[i].bits)
			mask |= pair_optional[i].attribute;
		left &= ~pair_optional[i].bits;
	}
	/* The state is checked again when it is changed: a failed request may change it before. */
	if (change->from == IB_QPS_RTS || change->from == IB_QPS_SQE)
		mask |= IB_QP_CUR_STATE;
	return left ? -1 : mask;
}

/* As ib_uverbs does: Q_Keys with the highest bit set need CAP_NET_RAW. */
static bool pair_may_have_qkey(u32 qkey)
{
	return !(qkey & IB_QP_SET_QKEY) || capable(CAP_NET_RAW);
}

static void pair_attr(const struct pinion_devx_qp *asked, struct ib_qp_attr *attr)
{
	attr->pkey_index = asked->path.pkey_index;
	attr->port_num = asked->path.port;
	attr->path_mtu = asked->mtu;
	attr->dest_qp_num = asked->remote_qpn;
	attr->qkey = asked->qkey;
	attr->rq_psn = asked->rq_psn;
	attr->sq_psn = asked->sq_psn;
	attr->max_rd_atomic = 1 << asked->log_reads_out;
	attr->max_dest_rd_atomic = 1 << asked->log_reads_in;
	attr->min_rnr_timer = asked->rnr_timer;
	attr->timeout = asked->path.timeout;
	attr->retry_cnt = asked->retry_count;
	attr->rnr_retry = asked->rnr_retry;
}

/*
 * Fill @ah. On success the caller must drop the reference ah->grh.sgid_attr. Return: 0 or a
 * negative errno.
 */
static int pair_path(struct pinion_dev *dev, const struct pinion_devx_path *path,
		     struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *source;
	union ib_gid dgid;

	source = rdma_get_gid_attr(&dev->ibdev, 1, path->sgid_index);
	if (IS_ERR(source))
		return PTR_ERR(source);
	memcpy(dgid.raw, path->dgid, sizeof(dgid.raw));
	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(ah, 1);
	rdma_ah_set_sl(ah, path->sl);
	rdma_ah_set_grh(ah, &dgid, path->flow_label, path->sgid_index, path->hop_limit,
			path->traffic_class);
	/* After rdma_ah_set_grh(), which clears it. */
	ah->grh.sgid_attr = source;
	ether_addr_copy(ah->roce.dmac, path->dmac);
	return 0;
}

/* The reason for a refused change: the state, which may have changed since, or an attribute. */
static int pair_refusal(struct pinion_qp *qp, int from)
{
	struct ib_qp_attr attr;

	pinion_qp_query(qp, &attr);
	return from != ANY_STATE && from != attr.qp_state ? PINION_DEVX_QP_STATE :
							    PINION_DEVX_QP_ATTRIBUTE;
}

int pinion_devx_qp_change(struct pinion_dev *dev, struct pinion_devx_pair *pair, u16 opcode,
			  const struct pinion_devx_qp *asked)
{
	const struct pair_change *change = pair_change_of(opcode);
	struct pinion_qp *qp = &pair->qp;
	struct ib_qp_attr attr;
	u32 rights;
	int mask, err;

	if (!change)
		return PINION_DEVX_WRONG_CALL;
	pinion_qp_query(qp, &attr);
	if (change->from != ANY_STATE && change->from != attr.qp_state)
		return PINION_DEVX_QP_STATE;
	mask = pair_mask(change, pair->asked.service, asked);
	if (mask < 0)
		return PINION_DEVX_QP_ATTRIBUTE;
	rights = change->masks[pair->asked.service] & IB_QP_ACCESS_FLAGS ? ALL_RIGHTS :
									   asked->optional;
	attr.qp_access_flags = pair_rights(attr.qp_access_flags, asked, rights);
	attr.cur_qp_state = change->from;
	attr.qp_state = change->to;
	pair_attr(asked, &attr);
	if (mask & IB_QP_QKEY && !pair_may_have_qkey(asked->qkey))
		return PINION_DEVX_QP_ATTRIBUTE;
	if (mask & IB_QP_AV && pair_path(dev, &asked->path, &attr.ah_attr))
		return PINION_DEVX_QP_ATTRIBUTE;
	err = pinion_modify_qp(&qp->ibqp, &attr, mask, NULL);
	if (mask & IB_QP_AV)
		rdma_put_gid_attr(attr.ah_attr.grh.sgid_attr);
	return err ? pair_refusal(qp, change->from) : 0;
}

/* Update @qp, the values from creation, with the current attributes. */
static void pair_describe(const struct ib_qp_attr *attr, struct pinion_devx_qp *qp)
{
	const struct ib_global_route *grh = &attr->ah_attr.grh;

	qp->remote_qpn = attr->dest_qp_num;
	qp->qkey = attr->qkey;
	qp->sq_psn = attr->sq_psn;
	qp->rq_psn = attr->rq_psn;
	qp->mtu = attr->path_mtu;
	qp->retry_count = attr->retry_cnt;
	qp->rnr_retry = attr->rnr_retry;
	qp->rnr_timer = attr->min_rnr_timer;
	qp->log_reads_out = fls(attr->max_rd_atomic | 1) - 1;
	qp->log_reads_in = fls(attr->max_dest_rd_atomic | 1) - 1;
	qp->remote_read = attr->qp_access_flags & IB_ACCESS_REMOTE_READ;
	qp->remote_write = attr->qp_access_flags & IB_ACCESS_REMOTE_WRITE;
	qp->remote_atomic = attr->qp_access_flags & IB_ACCESS_REMOTE_ATOMIC;
	qp->path = (struct pinion_devx_path){
		.sgid_index = grh->sgid_index,
		.hop_limit = grh->hop_limit,
		.traffic_class = grh->traffic_class,
		.sl = attr->ah_attr.sl,
		.port = attr->port_num,
		.timeout = attr->timeout,
		.pkey_index = attr->pkey_index,
		.flow_label = grh->flow_label,
	};
	memcpy(qp->path.dgid, grh->dgid.raw, sizeof(qp->path.dgid));
	memcpy(qp->path.dmac, attr->ah_attr.roce.dmac, sizeof(qp->path.dmac));
}

void pinion_devx_qp_tell(struct pinion_devx_pair *pair, u8 *out)
{
	struct pinion_devx_qp told = pair->asked;
	struct pinion_devx_qp_state state;
	struct ib_qp_attr attr;

	pinion_qp_lock(&pair->qp);
	pinion_qp_peek(&pair->qp, &attr);
	state.state = attr.qp_state;
	state.sq_done = pair->raw.sq.next;
	state.rq_done = READ_ONCE(pair->raw.rq.next);
	pinion_qp_unlock(&pair->qp);
	pair_describe(&attr, &told);
	pinion_devx_put_qp(out, &told, &state);
}
