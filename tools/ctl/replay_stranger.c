// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * replay: strangers, which replace peers that were not recorded. A stranger receives messages, has
 * memory for remote access, and sends the messages that were received.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "replay.h"

#define DEPTH 128
/* A key of more memory than this is taken for invalid. */
#define MOST (1ULL << 30)

#define ALL_ACCESS                                          \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
	 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct replay_device replay_device;

/* Buffer for messages of all strangers. */
static struct ibv_mr *pool;

static struct ibv_mr *pool_of(uint64_t length)
{
	uint64_t size = 1 << 16;
	void *memory;

	if (pool && pool->length >= length)
		return pool;
	while (size < length)
		size *= 2;
	memory = memory_more(size, 0);
	/* Do not free the old one: it may be in use. */
	pool = memory ? ibv_reg_mr(replay_device.pd, memory, size, ALL_ACCESS) :
			NULL;
	return pool;
}

static void strangers_drain(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(replay_device.cq, 1, &wc) > 0)
		;
}

static bool stranger_begin(struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ALL_ACCESS,
		.qkey = qkey,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (qp->qp_type != IBV_QPT_UD)
		return !ibv_modify_qp(qp, &attr, mask | IBV_QP_ACCESS_FLAGS);
	if (ibv_modify_qp(qp, &attr, mask | IBV_QP_QKEY))
		return false;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		return false;
	attr.qp_state = IBV_QPS_RTS;
	return !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

struct ibv_qp *stranger_new(struct queue *queue)
{
	struct ibv_qp_init_attr init = {
		.qp_type = queue->type,
		.send_cq = replay_device.cq,
		.recv_cq = replay_device.cq,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	if (queue->stranger)
		return queue->stranger;
	queue->stranger = ibv_create_qp(replay_device.pd, &init);
	if (queue->stranger && !stranger_begin(queue->stranger, queue->qkey)) {
		ibv_destroy_qp(queue->stranger);
		queue->stranger = NULL;
	}
	return queue->stranger;
}

/* Called when the numbers of both sides are known. */
void stranger_connect(struct queue *queue)
{
	struct ibv_qp_attr attr = queue->attr;
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
		   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	bool reliable = queue->type == IBV_QPT_RC;

	if (!queue->stranger || queue->connected || queue->type == IBV_QPT_UD)
		return;
	attr.qp_state = IBV_QPS_RTR;
	attr.dest_qp_num = queue->qp->qp_num;
	attr.rq_psn = queue->sq_psn;
	attr.max_dest_rd_atomic = 16;
	attr.min_rnr_timer = 12;
	if (reliable)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (ibv_modify_qp(queue->stranger, &attr, mask)) {
		/* As many as the device has. */
		attr.max_dest_rd_atomic = 1;
		if (ibv_modify_qp(queue->stranger, &attr, mask))
			return;
	}
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = queue->rq_psn;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (reliable)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	queue->connected = !ibv_modify_qp(queue->stranger, &attr, mask);
}

void stranger_receive(struct queue *queue, uint64_t length)
{
	/* A datagram comes with 40 bytes before it. */
	struct ibv_mr *mr = pool_of(length + 40);
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_sge sge;

	if (!mr || !queue->stranger)
		return;
	sge = (struct ibv_sge){ .addr = (uintptr_t)mr->addr,
				.length = mr->length > UINT32_MAX ? UINT32_MAX :
								    mr->length,
				.lkey = mr->lkey };
	wr.sg_list = &sge;
	strangers_drain();
	ibv_post_recv(queue->stranger, &wr, &bad);
}

/* To a queue pair of datagrams that is ours, from one that is. */
static struct ibv_ah *address_of_ours(void)
{
	static struct ibv_ah *ah;
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = replay_device.gid,
			 .sgid_index = replay_device.gid_index,
			 .hop_limit = 1 },
		.dlid = replay_device.port.lid,
	};

	if (!ah)
		ah = ibv_create_ah(replay_device.pd, &attr);
	return ah;
}

void stranger_send(struct queue *queue, const struct call *call)
{
	uint64_t bytes = call_value(call, "bytes");
	bool immediate = call_value(call, "flags") & IBV_WC_WITH_IMM;
	struct ibv_send_wr wr = {
		.num_sge = 1,
		.opcode = immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;
	struct ibv_mr *mr;
	struct ibv_sge sge;

	if (!stranger_new(queue))
		return;
	if (queue->type == IBV_QPT_UD) {
		bytes -= bytes < 40 ? bytes : 40;
		wr.wr.ud.ah = address_of_ours();
		wr.wr.ud.remote_qpn = queue->qp->qp_num;
		wr.wr.ud.remote_qkey = queue->qkey;
		if (!wr.wr.ud.ah)
			return;
	} else if (call_value(call, "opcode") == IBV_WC_RECV_RDMA_WITH_IMM) {
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		bytes = 0;
	}
	/* Who only receives may never have become ready to send. */
	stranger_connect(queue);
	mr = pool_of(bytes);
	if (!mr)
		return;
	sge = (struct ibv_sge){ .addr = (uintptr_t)mr->addr,
				.length = bytes,
				.lkey = mr->lkey };
	wr.sg_list = &sge;
	wr.num_sge = !!bytes;
	strangers_drain();
	ibv_post_send(queue->stranger, &wr, &bad);
}

struct region *stranger_region(uint32_t rkey)
{
	struct region *region;
	uint64_t addr, length;
	struct ibv_mr *mr;
	void *memory;

	if (!memory_of_stranger(rkey, &addr, &length) || length > MOST)
		return NULL;
	length = length ?: 1;
	memory = memory_more(length, addr);
	if (!memory)
		return NULL;
	mr = ibv_reg_mr_iova2(replay_device.pd, memory, length, addr,
			      ALL_ACCESS);
	if (!mr)
		return NULL;
	region = need(calloc(1, sizeof(*region)));
	*region = (struct region){ .addr = addr,
				   .base = addr,
				   .lkey = mr->lkey,
				   .rkey = mr->rkey,
				   .mr = mr };
	object_set(KIND_RKEY, 0, rkey, region);
	return region;
}
