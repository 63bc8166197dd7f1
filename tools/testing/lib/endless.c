// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Endless loops of verbs, for tests that kill or unplug a process in the middle of a verb.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "endless.h"
#include "link.h"
#include "xrc.h"

/* Bodies of struct endless: none of these functions returns. */
static void opens(void)
{
	for (;;)
		ibv_close_device(device_another());
}

static void domains(void)
{
	for (;;)
		ibv_dealloc_pd(MUST(ibv_alloc_pd(dev.ctx)));
}

static void completion_queues(void)
{
	for (;;) {
		struct ibv_cq *cq;

		cq = MUST(
			ibv_create_cq(dev.ctx, rnd_in(1, 3000), NULL, NULL, 0));
		ibv_resize_cq(cq, rnd_in(1, 3000));
		ibv_destroy_cq(cq);
	}
}

static void queue_pairs(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC,
						  IBV_QPT_UD };

	for (;;) {
		struct qp_cfg cfg = { .type = types[rnd_below(3)] };
		struct link link;

		link_make(&link, &cfg);
		link_free(&link);
	}
}

static void shared_queues(void)
{
	for (;;) {
		struct ibv_srq_init_attr init = {
			.attr = { .max_wr = rnd_in(1, 500), .max_sge = 3 },
		};
		struct ibv_srq_attr attr = { .max_wr = rnd_in(1, 500) };
		struct ibv_srq *srq = MUST(ibv_create_srq(dev.pd, &init));

		ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
		ibv_destroy_srq(srq);
	}
}

static void regions(void)
{
	struct buf *buf = buf_new(8 << 20, 5);

	for (;;) {
		struct ibv_mr *mr;
		int i;

		mr = MUST(ibv_reg_mr(dev.pd, buf->data, rnd_in(1, buf->length),
				     ALL_ACCESS));
		for (i = 0; i < 3; i++)
			ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				     buf->data, rnd_in(1, buf->length), 0);
		ibv_dereg_mr(mr);
	}
}

static void windows(void)
{
	struct region r = region_new(9000, 1, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	struct link link;

	link_make(&link, NULL);
	for (;;) {
		struct ibv_mw *mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1));
		struct ibv_mw_bind bind = {
			.send_flags = IBV_SEND_SIGNALED,
			.bind_info = { .mr = r.mr,
				       .addr = r.base,
				       .length = 9000 },
		};

		CHECK_EQ(ibv_bind_mw(link.a.qp, mw, &bind), 0);
		await(link.a.scq);
		ibv_dealloc_mw(mw);
	}
}

static void device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 65536 };

	for (;;) {
		struct ibv_dm *dm = ibv_alloc_dm(dev.ctx, &attr);
		struct ibv_mr *mr;

		if (!dm)
			continue;
		mr = ibv_reg_dm_mr(dev.pd, dm, 0, 4096,
				   ALL_ACCESS | IBV_ACCESS_ZERO_BASED);
		if (mr)
			ibv_dereg_mr(mr);
		ibv_free_dm(dm);
	}
}

static void groups(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	union ibv_gid gid = { .raw = { [10] = 0xff, 0xff, 239, 9, 9, 9 } };
	struct link link;

	link_make(&link, &cfg);
	for (;;) {
		struct ibv_ah_attr attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = gid, .sgid_index = dev.gid_index },
		};

		ibv_attach_mcast(link.a.qp, &gid, 0);
		ibv_destroy_ah(MUST(ibv_create_ah(dev.pd, &attr)));
		if (rnd() & 1)
			ibv_detach_mcast(link.a.qp, &gid, 0);
	}
}

static void large_messages(void)
{
	struct region a = region_new(8 << 20, 1, ALL_ACCESS);
	struct region b = region_new(8 << 20, 7, ALL_ACCESS);
	struct link link;

	link_make(&link, NULL);
	for (;;)
		rdma(&link.a, rnd() & 1 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
		     sge_of(&a, 0, 8 << 20), b.base, b.rkey);
}

static void waiting(void)
{
	struct qp_cfg cfg = { .rnr_timer = 1 };
	struct link links[4];
	int i;

	for (i = 0; i < 4; i++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

		link_make(&links[i], &cfg);
		if (i & 1)
			end_set_state(&links[i].b, IBV_QPS_RESET);
		post(&links[i].a, &wr);
	}
	pause();
}

static void xrc(void)
{
	for (;;) {
		struct qp_cfg cfg = { .type = IBV_QPT_XRC_RECV };
		struct end end;

		cfg.xrcd = xrcd_open(dev.ctx, -1);
		if (!cfg.xrcd)
			pause();
		end_make(&end, &cfg);
		end_free(&end);
		ibv_close_xrcd(cfg.xrcd);
	}
}

const struct endless endless[] = {
	{ "open", opens },
	{ "domains", domains },
	{ "completion queues", completion_queues },
	{ "queue pairs", queue_pairs },
	{ "shared queues", shared_queues },
	{ "regions", regions },
	{ "windows", windows },
	{ "device memory", device_memory },
	{ "groups", groups },
	{ "large messages", large_messages },
	{ "waiting", waiting },
	{ "xrc", xrc },
};

const size_t endless_count = ARRAY_SIZE(endless);
