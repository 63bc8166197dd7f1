/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Common code of the examples: opening a device, a queue pair that is connected to itself, and
 * printing results.
 */
#ifndef PINION_EXAMPLE_LOOP_H
#define PINION_EXAMPLE_LOOP_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static union ibv_gid gid; /* for an IPv4 address, if the device has one */

static void need(int fine, const char *what)
{
	if (fine)
		return;
	perror(what);
	exit(1);
}

static int wrong; /* exit status of main() */

static void say(const char *way, int good, const char *what)
{
	printf("%-34s %s%s\n", way, good ? "" : "WRONG: ", what);
	wrong |= !good;
}

static void absent(const char *way, const char *why)
{
	printf("%-34s not here: %s\n", way, why);
}

static void cannot(const char *way)
{
	absent(way, strerror(errno));
}

static int find_gid(void)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_gid_entry entry;
	int i;

	for (i = 0; !ibv_query_gid_ex(ctx, 1, i, &entry, 0); i++) {
		gid = entry.gid;
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(gid.raw, v4, sizeof(v4)))
			return i;
	}
	need(!ibv_query_gid(ctx, 1, 0, &gid), "ibv_query_gid");
	return 0;
}

static void loop_connect(int access)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 16, 1, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = access,
		.path_mtu = IBV_MTU_1024,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .sgid_index = find_gid(),
				      .hop_limit = 64 } },
	};

	qp = ibv_create_qp(pd, &init);
	need(!!qp, "ibv_create_qp");
	attr.dest_qp_num = qp->qp_num;
	attr.ah_attr.grh.dgid = gid;
	need(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				    IBV_QP_ACCESS_FLAGS),
	     "to INIT");
	attr.qp_state = IBV_QPS_RTR;
	need(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				    IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "to RTR");
	attr.qp_state = IBV_QPS_RTS;
	need(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				    IBV_QP_MAX_QP_RD_ATOMIC),
	     "to RTS");
}

/* Open device @name; NULL: the first one. */
static void loop_open(const char *name, int access)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **one = list;

	while (one && *one && name && strcmp(name, (*one)->name))
		one++;
	need(one && *one, "no such device");
	ctx = ibv_open_device(*one);
	need(!!ctx, "ibv_open_device");
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	need(pd && cq, "a protection domain and a completion queue");
	loop_connect(access);
}

/* Perform one RDMA READ or WRITE, and wait for its completion. */
static enum ibv_wc_status loop_move(enum ibv_wr_opcode opcode,
				    const struct ibv_sge *local,
				    uint64_t address, uint32_t rkey)
{
	struct ibv_send_wr *bad, wr = {
		.sg_list = (struct ibv_sge *)local,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = address, .rkey = rkey },
	};
	struct ibv_wc wc;

	need(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
	while (!ibv_poll_cq(cq, 1, &wc))
		;
	return wc.status;
}

#endif /* PINION_EXAMPLE_LOOP_H */
