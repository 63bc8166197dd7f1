// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stddef.h>

#include "stress.h"

enum ibv_mtu mtu_of(const struct conn *c)
{
	int a = me < c->peer ? me : c->peer, b = me < c->peer ? c->peer : me;

	return IBV_MTU_256 + (a * 7 + b * 3 + (c - conns)) % 5;
}

int post_recv(struct conn *c, int i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)c->mem->recv[i] + 1 + i,
		.length = RECV_SIZE + UD_SPACE,
		.lkey = c->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = (uint64_t)(c - conns) << 8 | (i + 1),
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ibv_post_recv(c->qp, &wr, &bad);
}

void drop(struct conn *c)
{
	if (c->qp && ibv_destroy_qp(c->qp))
		give_up("ibv_destroy_qp");
	if (c->ah)
		ibv_destroy_ah(c->ah);
	c->qp = NULL;
	c->ah = NULL;
	c->busy = false;
	c->state = FRESH;
}

/* Publishes a new queue pair to the other side. */
static void describe(const struct conn *c)
{
	atomic_fetch_add(&c->mine->seq, 1);
	c->mine->qpn = c->qp->qp_num;
	c->mine->psn = rnd_below(1 << 24);
	c->mine->rkey = c->mr->rkey;
	c->mine->window = (uintptr_t)c->mem->window;
	c->mine->atomics = (uintptr_t)c->mem->atomics;
	c->mine->seen = 0;
	atomic_fetch_add(&c->mine->seq, 1);
}

/* Registers the memory; again, and so with a new key, in one of three cases. */
static void renew_key(struct conn *c)
{
	if (c->mr && !rnd_below(3)) {
		if (ibv_dereg_mr(c->mr))
			give_up("ibv_dereg_mr");
		c->mr = NULL;
	}
	if (!c->mr)
		c->mr = ibv_reg_mr(pd, c->mem, sizeof(*c->mem),
				   IBV_ACCESS_LOCAL_WRITE |
					   IBV_ACCESS_REMOTE_WRITE |
					   IBV_ACCESS_REMOTE_READ |
					   IBV_ACCESS_REMOTE_ATOMIC);
	if (!c->mr)
		give_up("ibv_reg_mr");
}

void make(struct conn *c)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 16, RECVS, MAX_PIECES, 1, 200 },
		.qp_type = c->type,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};
	int i;

	renew_key(c);
	c->qp = ibv_create_qp(pd, &init);
	if (!c->qp)
		give_up("ibv_create_qp");
	if (ibv_modify_qp(c->qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				  (c->type == IBV_QPT_UD ?
					   IBV_QP_QKEY :
					   IBV_QP_ACCESS_FLAGS)))
		give_up("modify to INIT");
	for (i = 0; i < RECVS; i++)
		if (post_recv(c, i))
			give_up("ibv_post_recv");

	describe(c);
	c->counter_known = false;
	c->state = WAITING;
}

static int to_rts(struct conn *c)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_of(c),
		.dest_qp_num = c->remote.qpn,
		.rq_psn = c->remote.psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = gid,
				      .sgid_index = gid_index,
				      .hop_limit = 8 } },
	};
	int mask = IBV_QP_STATE;

	if (c->type == IBV_QPT_UD) {
		c->ah = ibv_create_ah(pd, &attr.ah_attr);
		if (!c->ah)
			return errno;
	} else {
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN;
		if (c->type == IBV_QPT_RC)
			mask |= IBV_QP_MAX_DEST_RD_ATOMIC |
				IBV_QP_MIN_RNR_TIMER;
	}
	if (ibv_modify_qp(c->qp, &attr, mask))
		return errno;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.sq_psn = c->mine->psn,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (c->type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(c->qp, &attr, mask) ? errno : 0;
}

void try_connect(struct conn *c)
{
	uint32_t seq = atomic_load(&c->other->seq);

	if (!seq || seq & 1)
		return;
	atomic_store(&c->mine->seen, seq);
	if (atomic_load(&c->other->seen) != atomic_load(&c->mine->seq))
		return;
	c->remote = *c->other;
	if (atomic_load(&c->other->seq) != seq)
		return;
	c->connected_to = seq;
	if (to_rts(c))
		give_up("modify to RTR and RTS");
	c->state = CONNECTED;
	atomic_fetch_add(&shared->connects, 1);
}
