// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reliable queue pairs of a device that are connected to each other.
 */
#include <errno.h>
#include <string.h>

#include "buffer.h"
#include "loop.h"

/* The first that carries IPv4 in UDP, else the first. */
static bool find_gid(struct ibv_context *context, struct ibv_gid_entry *found)
{
	struct ibv_gid_entry entries[64];
	ssize_t num = ibv_query_gid_table(context, entries, 64, 0), i;

	for (i = 0; i < num; i++) {
		if (entries[i].gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    entries[i].gid.raw[10] == 0xff) {
			*found = entries[i];
			return true;
		}
	}
	if (num > 0)
		*found = entries[0];
	return num > 0;
}

static bool connect_to(struct loop *loop, struct ibv_qp *qp,
		       struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = TARGET_ACCESS };
	struct ibv_gid_entry gid;

	if (!find_gid(loop->context, &gid) ||
	    ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				  IBV_QP_ACCESS_FLAGS))
		return false;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = gid.gid,
				      .sgid_index = gid.gid_index,
				      .hop_limit = 1 } },
	};
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER))
		return false;
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	return !ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				      IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				      IBV_QP_MAX_QP_RD_ATOMIC);
}

bool loop_open(struct loop *loop, struct target *target, uint64_t size)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = LOOP_INLINE },
	};
	int i;

	loop->context = target->context;
	loop->size = size;
	loop->buffer = buffer_make(2 * size);
	if (!loop->buffer)
		return false;
	loop->mr =
		ibv_reg_mr(target->pd, loop->buffer, 2 * size, TARGET_ACCESS);
	loop->cq = ibv_create_cq(target->context, 64, NULL, NULL, 0);
	if (!loop->mr || !loop->cq)
		return false;
	init.send_cq = init.recv_cq = loop->cq;
	for (i = 0; i < 2; i++) {
		loop->qp[i] = ibv_create_qp(target->pd, &init);
		if (!loop->qp[i])
			return false;
	}
	return connect_to(loop, loop->qp[0], loop->qp[1]) &&
	       connect_to(loop, loop->qp[1], loop->qp[0]);
}

void loop_close(struct loop *loop)
{
	int i;

	for (i = 0; i < 2; i++)
		if (loop->qp[i])
			ibv_destroy_qp(loop->qp[i]);
	if (loop->cq)
		ibv_destroy_cq(loop->cq);
	if (loop->mr)
		ibv_dereg_mr(loop->mr);
	if (loop->buffer)
		buffer_free(loop->buffer, 2 * loop->size);
}

int loop_write(struct loop *loop, uint64_t size, unsigned int flags,
	       uint64_t remote, uint32_t rkey, uint64_t *ns)
{
	struct ibv_sge sge = { .addr = (uintptr_t)loop->buffer,
			       .length = size,
			       .lkey = loop->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = size ? 1 : 0,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | flags,
		.wr.rdma = { .remote_addr = remote, .rkey = rkey },
	};
	struct ibv_send_wr *bad;
	uint64_t begun = now_ns();
	struct ibv_wc wc;
	int n, err;

	err = ibv_post_send(loop->qp[0], &wr, &bad);
	if (err)
		return err;
	do {
		n = ibv_poll_cq(loop->cq, 1, &wc);
	} while (!n);
	*ns = now_ns() - begun;
	return n == 1 && wc.status == IBV_WC_SUCCESS ? 0 : EIO;
}
