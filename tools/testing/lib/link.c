// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Makes queue pairs and takes them through their states.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "raw.h"

static int value_or(int value, int otherwise)
{
	return value < 0 ? 0 : value ?: otherwise;
}

static void make_cqs(struct end *end)
{
	struct qp_cfg *cfg = &end->cfg;
	int cqe = cfg->cqe ?: 2 * cfg->wr;

	end->scq = cfg->scq ?:
			      MUST(ibv_create_cq(cfg->ctx, cqe, NULL, NULL, 0));
	end->rcq = cfg->rcq ?:
			      MUST(ibv_create_cq(cfg->ctx, cqe, NULL, NULL, 0));
}

static uint64_t send_ops(enum ibv_qp_type type)
{
	uint64_t ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;

	if (type == IBV_QPT_UD)
		return ops;
	ops |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
	       IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
	if (type == IBV_QPT_UC)
		return ops;
	ops |= IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
	       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
	       IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_ATOMIC_WRITE;
#ifdef HAVE_WR_FLUSH
	ops |= IBV_QP_EX_WITH_FLUSH;
#endif
	return ops;
}

static struct ibv_qp *make_qp(struct end *end)
{
	struct qp_cfg *cfg = &end->cfg;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = end->scq,
		.recv_cq = end->rcq,
		.srq = cfg->srq,
		.cap = { .max_send_wr = cfg->wr,
			 .max_recv_wr = cfg->srq     ? 0 :
					cfg->recv_wr ?:
						       cfg->wr,
			 .max_send_sge = cfg->sge,
			 .max_recv_sge = cfg->srq ? 0 : cfg->sge,
			 .max_inline_data = cfg->inline_data },
		.qp_type = cfg->type,
		.sq_sig_all = cfg->sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = cfg->pd,
	};

	if (cfg->type == IBV_QPT_XRC_RECV) {
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		attr.xrcd = cfg->xrcd;
		attr.send_cq = NULL;
		attr.recv_cq = NULL;
		memset(&attr.cap, 0, sizeof(attr.cap));
		cfg->no_ex = true;
	} else if (cfg->type == IBV_QPT_XRC_SEND) {
		attr.cap.max_recv_wr = 0;
		attr.cap.max_recv_sge = 0;
	}
	if (!cfg->device->pinion && !cfg->ops)
		cfg->no_ex = true;
	if (!cfg->no_ex) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = cfg->ops ?: send_ops(cfg->type);
	}
	return MUST(ibv_create_qp_ex(cfg->ctx, &attr));
}

void end_make(struct end *end, const struct qp_cfg *cfg)
{
	memset(end, 0, sizeof(*end));
	if (cfg)
		end->cfg = *cfg;
	cfg = &end->cfg;
	end->cfg.type = cfg->type ?: IBV_QPT_RC;
	end->cfg.device = cfg->device ?: &dev;
	end->cfg.ctx = cfg->ctx ?: cfg->device->ctx;
	end->cfg.pd = cfg->pd ?: cfg->device->pd;
	end->cfg.wr = cfg->wr ?: 32;
	end->cfg.sge = cfg->sge ?: 4;
	end->cfg.mtu = cfg->mtu ?: cfg->device->port.active_mtu;
	make_cqs(end);
	end->qp = make_qp(end);
	if (!end->cfg.no_ex)
		end->ex = ibv_qp_to_qp_ex(end->qp);
	end->psn = rnd() & 0xffffff;
}

void need_builder(const struct end *end)
{
	if (!end->ex)
		lacks("no work request builder");
}

void end_free(struct end *end)
{
	if (end->ah)
		CHECK_EQ(ibv_destroy_ah(end->ah), 0);
	CHECK_EQ(ibv_destroy_qp(end->qp), 0);
	if (!end->cfg.scq)
		CHECK_EQ(ibv_destroy_cq(end->scq), 0);
	if (!end->cfg.rcq)
		CHECK_EQ(ibv_destroy_cq(end->rcq), 0);
}

struct peer end_peer(const struct end *end)
{
	return (struct peer){
		.gid = end->cfg.device->gid,
		.qpn = end->qp->qp_num,
		.psn = end->psn,
	};
}

static int modify(struct end *end, struct ibv_qp_attr *attr, int mask)
{
	if (!end->cfg.raw)
		return ibv_modify_qp(end->qp, attr, mask);
	return raw_modify_qp(end->cfg.ctx->cmd_fd, end->qp->handle, attr, mask);
}

int end_try_init(struct end *end)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags = value_or(end->cfg.access,
					    IBV_ACCESS_REMOTE_WRITE |
						    IBV_ACCESS_REMOTE_READ |
						    IBV_ACCESS_REMOTE_ATOMIC),
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (end->cfg.type == IBV_QPT_UC)
		attr.qp_access_flags &= IBV_ACCESS_REMOTE_WRITE;
	mask |= end->cfg.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	return modify(end, &attr, mask);
}

void end_init(struct end *end)
{
	CHECK_EQ(end_try_init(end), 0);
}

static struct ibv_ah_attr path_to(const struct end *end,
				  const union ibv_gid *gid)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = *gid,
			 .sgid_index = end->cfg.device->gid_index,
			 .hop_limit = 64,
			 .traffic_class = end->cfg.traffic_class },
	};
}

static bool reliable_requester(const struct end *end)
{
	return end->cfg.type == IBV_QPT_RC || end->cfg.type == IBV_QPT_XRC_SEND;
}

static bool reliable_responder(const struct end *end)
{
	return end->cfg.type == IBV_QPT_RC || end->cfg.type == IBV_QPT_XRC_RECV;
}

int end_to_rtr(struct end *end, const struct peer *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = end->cfg.mtu,
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->psn,
		.max_dest_rd_atomic = value_or(end->cfg.dest_rd_atomic, 16),
		.min_rnr_timer = value_or(end->cfg.rnr_timer, 1),
		.ah_attr = path_to(end, &peer->gid),
	};
	int mask = IBV_QP_STATE;

	if (end->cfg.type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN;
	if (reliable_responder(end))
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return modify(end, &attr, mask);
}

int end_to_rts(struct end *end)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = value_or(end->cfg.timeout, 14),
		.retry_cnt = value_or(end->cfg.retry, 7),
		.rnr_retry = value_or(end->cfg.rnr_retry, 7),
		.sq_psn = end->psn,
		.max_rd_atomic = value_or(end->cfg.rd_atomic, 16),
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (reliable_requester(end))
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	else if (end->cfg.type == IBV_QPT_XRC_RECV)
		mask |= IBV_QP_TIMEOUT;
	return modify(end, &attr, mask);
}

void end_connect(struct end *end, const struct peer *peer)
{
	struct ibv_ah_attr path = path_to(end, &peer->gid);

	CHECK_EQ(end_to_rtr(end, peer), 0);
	CHECK_EQ(end_to_rts(end), 0);
	if (end->cfg.type != IBV_QPT_UD || end->ah)
		return;
	/* Some drivers resolve the neighbour in the network namespace of the caller. */
	device_enter(end->cfg.device);
	end->ah = MUST(ibv_create_ah(end->cfg.pd, &path));
	device_leave(end->cfg.device);
}

int end_set_state(struct end *end, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return modify(end, &attr, IBV_QP_STATE);
}

enum ibv_qp_state end_state(const struct end *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

void end_await_state(const struct end *end, enum ibv_qp_state state)
{
	double limit = now() + patience(PATIENCE);

	while (end_state(end) != state) {
		if (now() > limit)
			FAIL("the QP is in state %d, not %d", end_state(end),
			     state);
		usleep(1000);
	}
}

double end_least_silence(int timeout, int retries)
{
	/*
	 * The first time may be over when the caller looks at his clock. From the second one on each
	 * takes four times the timeout.
	 */
	return (retries - 1) * 4 * 4.096e-6 * (1 << timeout);
}

void link_connect(struct link *link)
{
	struct peer a = end_peer(&link->a), b = end_peer(&link->b);

	end_init(&link->a);
	end_init(&link->b);
	end_connect(&link->b, &a);
	end_connect(&link->a, &b);
}

void link_make2(struct link *link, const struct qp_cfg *a,
		const struct qp_cfg *b)
{
	end_make(&link->a, a);
	end_make(&link->b, b);
	link_connect(link);
}

void link_make(struct link *link, const struct qp_cfg *cfg)
{
	link_make2(link, cfg, cfg);
}

void link_across(struct link *link, const struct qp_cfg *cfg)
{
	struct qp_cfg b = {};

	if (cfg)
		b = *cfg;
	b.device = device_across();
	link_make2(link, cfg, &b);
}

struct link link_back(const struct link *link)
{
	return (struct link){ .a = link->b, .b = link->a };
}

void link_renew(struct link *link)
{
	CHECK_EQ(end_set_state(&link->a, IBV_QPS_RESET), 0);
	CHECK_EQ(end_set_state(&link->b, IBV_QPS_RESET), 0);
	drain(link->a.scq);
	drain(link->a.rcq);
	drain(link->b.scq);
	drain(link->b.rcq);
	/* New PSNs, so that packets still in flight are not taken for new ones. */
	link->a.psn = (link->a.psn + 0x300000) & 0xffffff;
	link->b.psn = (link->b.psn + 0x300000) & 0xffffff;
	link_connect(link);
}

void link_free(struct link *link)
{
	end_free(&link->a);
	end_free(&link->b);
}

struct ibv_sge sge_half_gone(void)
{
	struct buf *buf = buf_new(3 * PAGE, 5);
	struct ibv_mr *mr;

	need_odp();
	mr = MUST(ibv_reg_mr(dev.pd, buf->map, 3 * PAGE, IBV_ACCESS_ON_DEMAND));
	CHECK_EQ(munmap(buf->map + PAGE, PAGE), 0);
	return (struct ibv_sge){ (uintptr_t)buf->map + PAGE - 50, 100,
				 mr->lkey };
}

void expect_flushed(struct end *end, uint64_t wr_id)
{
	struct ibv_wc wc;

	CHECK_EQ(end_set_state(end, IBV_QPS_ERR), 0);
	wc = await(end->rcq);
	CHECK_EQ(wc.wr_id, wr_id);
	CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	expect_none(end->rcq, 0);
}
