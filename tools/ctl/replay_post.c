// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * replay: posts requests and polls completions. Waits for each recorded completion before the next
 * call, so that the order is the same.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"
#include "replay.h"

/* How long to wait for a completion. */
#define SECONDS 5

struct completed {
	struct completed *next;
	struct ibv_wc wc;
};

/* ------------------------------------------------------------------------ requests */

/* Convert an sge: same offset in the region that replaces the recorded one. */
static struct ibv_sge sge_of(uint64_t pid, const struct segment *segment)
{
	struct region *region = object_find(KIND_LKEY, pid, segment->key);
	struct ibv_sge sge = { .addr = segment->addr,
			       .length = segment->length,
			       .lkey = segment->key };

	if (region && segment->key) {
		sge.addr = region->base + (segment->addr - region->addr);
		sge.lkey = region->lkey;
		/* An implicit region: addresses are those of the process. */
		if (region->mr && !region->mr->addr)
			sge.addr = (uintptr_t)memory_at(pid, segment->addr);
	} else {
		sge.addr = (uintptr_t)memory_at(pid, segment->addr);
	}
	return sge;
}

static int sges_of(const struct call *call, struct ibv_sge *sges)
{
	struct segment segments[MAX_SGES];
	int num = call_segments(call, segments), i;

	for (i = 0; i < num; i++)
		sges[i] = sge_of(call->pid, &segments[i]);
	return num;
}

/* The region that replaces the one with a recorded rkey. */
static struct region *remote_region(struct queue *queue, uint32_t rkey)
{
	struct region *region = object_find(KIND_RKEY, 0, rkey);

	if (!region && queue->stranger)
		region = stranger_region(rkey);
	return region;
}

static void remote_of(const struct call *call, struct queue *queue,
		      uint64_t *addr, uint32_t *rkey)
{
	struct region *region = remote_region(queue, call_value(call, "rkey"));

	*addr = call_value(call, "remote");
	*rkey = call_value(call, "rkey");
	if (!region)
		return;
	*addr = region->base + (*addr - region->addr);
	*rkey = region->rkey;
	if (region->mr && !region->mr->addr)
		*addr = (uintptr_t)memory_at(region->pid,
					     call_value(call, "remote"));
}

/* Remember the memory of a window's new recorded key. */
static void window_keep(const struct call *call, uint32_t rkey,
			const struct ibv_mw_bind_info *info)
{
	struct region *region = need(calloc(1, sizeof(*region)));
	bool zero = info->mw_access_flags & IBV_ACCESS_ZERO_BASED;

	*region = (struct region){
		.pid = call->pid,
		.addr = zero ? 0 : call_value(call, "addr"),
		.base = zero ? 0 : info->addr,
		.lkey = rkey,
		.rkey = rkey,
	};
	object_set(KIND_RKEY, call->pid, call_value(call, "rkey"), region);
	object_set(KIND_RKEY, 0, call_value(call, "rkey"), region);
}

static struct ibv_mw_bind_info window_info(const struct call *call)
{
	struct region *region =
		object_find(KIND_MR, call->pid, call_value(call, "mr"));
	struct ibv_mw_bind_info info = {
		.addr = call_value(call, "addr"),
		.length = call_value(call, "length"),
		.mw_access_flags = call_value(call, "access"),
	};

	if (region) {
		info.mr = region->mr;
		info.addr = region->base + (info.addr - region->addr);
	}
	return info;
}

static bool wr_bind(const struct call *call, struct ibv_send_wr *wr)
{
	struct window *window =
		object_find(KIND_MW, call->pid, call_value(call, "mw"));

	if (!window)
		return false;
	wr->bind_mw.mw = window->mw;
	wr->bind_mw.bind_info = window_info(call);
	if (!wr->bind_mw.bind_info.mr && wr->bind_mw.bind_info.length)
		return false;
	/* Change the key's tag as the recorded program has done. */
	wr->bind_mw.rkey = window->here ^ window->recorded ^
			   (uint32_t)call_value(call, "rkey");
	window_keep(call, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
	return true;
}

static bool wr_datagram(const struct call *call, struct queue *queue,
			struct ibv_send_wr *wr)
{
	uint32_t qpn = call_value(call, "dest_qpn");
	struct queue *peer = object_find(KIND_QPN, 0, qpn);

	wr->wr.ud.ah = object_find(KIND_AH, call->pid, call_value(call, "ah"));
	wr->wr.ud.remote_qkey = call_value(call, "qkey");
	if (peer) {
		wr->wr.ud.remote_qpn = peer->qp->qp_num;
	} else if (stranger_new(queue)) {
		wr->wr.ud.remote_qpn = queue->stranger->qp_num;
		stranger_receive(queue, call_length(call));
	}
	return wr->wr.ud.ah;
}

static bool wr_connected(const struct call *call, struct queue *queue,
			 struct ibv_send_wr *wr)
{
	struct region *region;

	switch (wr->opcode) {
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		region = object_find(KIND_RKEY, 0, call_value(call, "rkey"));
		wr->invalidate_rkey = region ? region->rkey :
					       call_value(call, "rkey");
		break;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		remote_of(call, queue, &wr->wr.rdma.remote_addr,
			  &wr->wr.rdma.rkey);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		remote_of(call, queue, &wr->wr.atomic.remote_addr,
			  &wr->wr.atomic.rkey);
		break;
	case IBV_WR_BIND_MW:
		return wr_bind(call, wr);
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		break;
	default:
		return false;
	}
	if (queue->stranger &&
	    (wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM ||
	     wr->opcode == IBV_WR_SEND_WITH_INV ||
	     wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM))
		stranger_receive(queue, call_length(call));
	return true;
}

static struct queue *queue_of(const struct call *call)
{
	struct queue *queue =
		object_find(KIND_QP, call->pid, call_value(call, "qp"));

	if (!queue)
		replay_left();
	return queue;
}

static void post_send(const struct call *call)
{
	struct queue *queue = queue_of(call);
	struct ibv_sge sges[MAX_SGES];
	struct ibv_send_wr *bad, wr = {
		.wr_id = call_value(call, "wr_id"),
		.opcode = call_value(call, "opcode"),
		.send_flags = call_value(call, "flags"),
		.sg_list = sges,
	};
	bool known;

	if (!queue)
		return;
	wr.num_sge = sges_of(call, sges);
	known = queue->type == IBV_QPT_UD ? wr_datagram(call, queue, &wr) :
					    wr_connected(call, queue, &wr);
	sent_add(queue, call, !known);
	if (known)
		replay_compare(call, 0, ibv_post_send(queue->qp, &wr, &bad));
	else
		replay_left();
}

static void post_recv(const struct call *call)
{
	struct queue *queue = queue_of(call);
	struct ibv_sge sges[MAX_SGES];
	struct ibv_recv_wr *bad,
		wr = { .wr_id = call_value(call, "wr_id"), .sg_list = sges };

	if (!queue)
		return;
	wr.num_sge = sges_of(call, sges);
	replay_compare(call, 0, ibv_post_recv(queue->qp, &wr, &bad));
}

static void post_srq_recv(const struct call *call)
{
	struct ibv_srq *srq =
		object_find(KIND_SRQ, call->pid, call_value(call, "srq"));
	struct ibv_sge sges[MAX_SGES];
	struct ibv_recv_wr *bad,
		wr = { .wr_id = call_value(call, "wr_id"), .sg_list = sges };

	if (!srq) {
		replay_left();
		return;
	}
	wr.num_sge = sges_of(call, sges);
	replay_compare(call, 0, ibv_post_srq_recv(srq, &wr, &bad));
}

static void bind_mw(const struct call *call)
{
	struct queue *queue = queue_of(call);
	struct window *window =
		object_find(KIND_MW, call->pid, call_value(call, "mw"));
	struct ibv_mw_bind bind = {
		.wr_id = call_value(call, "wr_id"),
		.send_flags = call_value(call, "flags"),
		.bind_info = window_info(call),
	};
	bool known;
	int err;

	if (!queue)
		return;
	known = window && (bind.bind_info.mr || !bind.bind_info.length);
	sent_add(queue, call, !known);
	if (!known) {
		replay_left();
		return;
	}
	err = ibv_bind_mw(queue->qp, window->mw, &bind);
	replay_compare(call, call_value(call, "errno"), err);
	if (!err)
		window_keep(call, window->mw->rkey, &bind.bind_info);
}

/* --------------------------------------------------------------------- completions */

static double now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void cq_poll(struct cq *cq)
{
	struct completed **end = &cq->completed, *one;
	struct ibv_wc wc;

	while (*end)
		end = &(*end)->next;
	while (ibv_poll_cq(cq->cq, 1, &wc) > 0) {
		one = need(malloc(sizeof(*one)));
		*one = (struct completed){ .wc = wc };
		*end = one;
		end = &one->next;
	}
}

static bool cq_take(struct cq *cq, uint32_t qpn, uint64_t wr_id,
		    struct ibv_wc *wc)
{
	struct completed **place, *one;

	for (place = &cq->completed; *place; place = &(*place)->next) {
		one = *place;
		if (one->wc.qp_num != qpn || one->wc.wr_id != wr_id)
			continue;
		*wc = one->wc;
		*place = one->next;
		free(one);
		return true;
	}
	return false;
}

static bool cq_await(struct cq *cq, uint32_t qpn, uint64_t wr_id,
		     double seconds, struct ibv_wc *wc)
{
	double until = now() + seconds;

	for (;;) {
		cq_poll(cq);
		if (cq_take(cq, qpn, wr_id, wc))
			return true;
		if (now() > until)
			return false;
		usleep(10);
	}
}

/*
 * Wait for a receive. If no recorded queue pair sends the message a stranger does. The sender of a
 * datagram is not recorded: if none comes for a moment, a stranger sends it.
 */
static bool received(const struct call *call, struct cq *cq,
		     struct queue *queue, struct ibv_wc *wc)
{
	uint32_t qpn = queue->qp->qp_num;
	uint64_t wr_id = call_value(call, "wr_id");

	if (queue->type == IBV_QPT_UD && cq_await(cq, qpn, wr_id, 0.2, wc))
		return true;
	if (queue->type == IBV_QPT_UD || queue->stranger)
		stranger_send(queue, call);
	return cq_await(cq, qpn, wr_id, SECONDS, wc);
}

static bool completed(const struct call *call, struct cq *cq,
		      struct queue *queue, struct ibv_wc *wc)
{
	if (queue->late)
		return cq_await(cq, queue->qp->qp_num,
				call_value(call, "wr_id"), 0.1, wc);
	if (call_value(call, "opcode") & IBV_WC_RECV)
		return received(call, cq, queue, wc);
	return cq_await(cq, queue->qp->qp_num, call_value(call, "wr_id"),
			SECONDS, wc);
}

static void completion(const struct call *call)
{
	struct cq *cq = object_find(KIND_CQ, call->pid, call_value(call, "cq"));
	struct queue *queue =
		object_find(KIND_QPN, call->pid, call_value(call, "qpn"));
	int status = call_value(call, "status");
	struct ibv_wc wc;

	if (!cq || !queue) {
		replay_left();
		return;
	}
	if (sent_was_left(queue, call)) {
		replay_left();
		return;
	}
	queue->late = !completed(call, cq, queue, &wc);
	if (queue->late)
		replay_differs(call, ibv_wc_status_str(status),
			       "no completion");
	else if ((int)wc.status != status)
		replay_differs(call, ibv_wc_status_str(status),
			       ibv_wc_status_str(wc.status));
	else
		replay_compare(call, 0, 0);
}

bool replay_post(const struct call *call)
{
	static const struct replay_call calls[] = {
		{ "post_send", post_send },	    { "post_recv", post_recv },
		{ "post_srq_recv", post_srq_recv }, { "bind_mw", bind_mw },
		{ "completion", completion },	    {},
	};

	return replay_run(calls, call);
}
