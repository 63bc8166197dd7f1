// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Each verb with its first, second, ... allocation or copy failing, until none fails: each time
 * there is an error, nothing leaks, and the device still works (items N1 to N14). Needs a kernel
 * with fault injection.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "memory.h"
#include "orders.h"
#include "pins.h"
#include "raw.h"
#include "sweep.h"
#include "window.h"
#include "xrc.h"

static void *made;

static struct buf *buf;
static struct link link_;

static void begin(void)
{
	buf = buf_new(600000, 77);
	sweeps_begin(&link_);
}

static void end(void)
{
	sweeps_end(&link_);
}

#define POINTER(call) ((made = (call)) ? 0 : errno)

static int open_context(void)
{
	return POINTER(ibv_open_device(dev.ctx->device));
}

static void close_context(void)
{
	CHECK_EQ(ibv_close_device(made), 0);
}

static int alloc_pd(void)
{
	return POINTER(ibv_alloc_pd(dev.ctx));
}

static void dealloc_pd(void)
{
	CHECK_EQ(ibv_dealloc_pd(made), 0);
}

/* Each allocation of opening a context and making a domain fails once. */
static void n1_context(void)
{
	begin();
	sweep(&(struct op){ "open", open_context, close_context, .at_least = 18,
			    .lasting = 1 });
	sweep(&(struct op){ "PD", alloc_pd, dealloc_pd, .at_least = 4,
			    .lasting = 1 });
	end();
}

static int create_cq(void)
{
	return POINTER(ibv_create_cq(dev.ctx, 500, NULL, NULL, 0));
}

static void destroy_cq(void)
{
	CHECK_EQ(ibv_destroy_cq(made), 0);
}

static int create_channel(void)
{
	return POINTER(ibv_create_comp_channel(dev.ctx));
}

static void destroy_channel(void)
{
	CHECK_EQ(ibv_destroy_comp_channel(made), 0);
}

static struct ibv_cq *cq;

static int resize_cq(void)
{
	return ibv_resize_cq(cq, cq->cqe > 1000 ? 10 : 3000);
}

/* Each allocation of completion queues, channels and resizes. */
static void n2_cq(void)
{
	begin();
	cq = MUST(ibv_create_cq(dev.ctx, 10, NULL, NULL, 0));
	sweep(&(struct op){ "CQ", create_cq, destroy_cq, .at_least = 8,
			    .lasting = 1 });
	sweep(&(struct op){ "channel", create_channel, destroy_channel,
			    .at_least = 3, .lasting = 1 });
	sweep(&(struct op){ "resize CQ", resize_cq, NULL, .at_least = 10,
			    .lasting = 1 });
	end();
}

static enum ibv_qp_type type;

static int create_qp(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = type,
		.cap = { .max_send_wr = 50,
			 .max_recv_wr = 50,
			 .max_send_sge = 3,
			 .max_recv_sge = 3,
			 .max_inline_data = 200 },
	};

	return POINTER(ibv_create_qp(dev.pd, &init));
}

static void destroy_qp(void)
{
	CHECK_EQ(ibv_destroy_qp(made), 0);
}

/* Each allocation of queue pairs of each service. */
static void n3_qp(void)
{
	begin();
	cq = MUST(ibv_create_cq(dev.ctx, 10, NULL, NULL, 0));
	for (type = IBV_QPT_RC; type <= IBV_QPT_UD; type++)
		sweep(&(struct op){ "QP", create_qp, destroy_qp, .at_least = 15,
				    .lasting = 1, SWEEP_NO_RESTRACK });
	end();
}

static int to_init(void)
{
	return end_try_init(&link_.a);
}

static void to_reset(void)
{
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RESET), 0);
}

static int to_rtr(void)
{
	struct peer peer = end_peer(&link_.b);

	return end_to_rtr(&link_.a, &peer);
}

static void back_to_init(void)
{
	to_reset();
	end_init(&link_.a);
}

static int to_rts(void)
{
	return end_to_rts(&link_.a);
}

static void back_to_rtr(void)
{
	back_to_init();
	CHECK_EQ(to_rtr(), 0);
}

static int to_error(void)
{
	return end_set_state(&link_.a, IBV_QPS_ERR);
}

static int query(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(link_.a.qp, &attr, IBV_QP_STATE | IBV_QP_AV, &init);
}

/* Each allocation of changes and queries of a queue pair's state. */
static void n4_modify(void)
{
	begin();
	to_reset();
	sweep(&(struct op){ "to INIT", to_init, to_reset, .at_least = 3 });
	end_init(&link_.a);
	sweep(&(struct op){ "to RTR", to_rtr, back_to_init, .at_least = 4 });
	CHECK_EQ(to_rtr(), 0);
	sweep(&(struct op){ "to RTS", to_rts, back_to_rtr, .at_least = 3 });
	sweep(&(struct op){ "to ERR", to_error, back_to_rtr, .at_least = 3 });
	sweep(&(struct op){ "query", query, NULL, .at_least = 3 });
	end();
}

static struct ibv_srq *srq;

static int create_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { 100, 3, 0 } };

	return POINTER(ibv_create_srq(dev.pd, &init));
}

static void destroy_srq(void)
{
	CHECK_EQ(ibv_destroy_srq(made), 0);
}

static int resize_srq(void)
{
	static uint32_t size = 100;
	struct ibv_srq_attr attr = { .max_wr = size ^= 300 };

	return ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
}

/* Each allocation of shared receive queues and resizes. */
static void n5_srq(void)
{
	begin();
	CHECK_EQ(create_srq(), 0);
	srq = made;
	sweep(&(struct op){ "SRQ", create_srq, destroy_srq, .at_least = 10,
			    .lasting = 1 });
	sweep(&(struct op){ "resize SRQ", resize_srq, NULL, .at_least = 8,
			    .lasting = 1 });
	end();
}

static int create_ah(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = dev.gid, .sgid_index = dev.gid_index },
	};

	return POINTER(ibv_create_ah(dev.pd, &attr));
}

static void destroy_ah(void)
{
	CHECK_EQ(ibv_destroy_ah(made), 0);
}

/* Each allocation of address handles. */
static void n6_ah(void)
{
	begin();
	sweep(&(struct op){ "AH", create_ah, destroy_ah, .at_least = 5,
			    .lasting = 1 });
	end();
}

static uint8_t *start_;
static size_t length_;
static int access_;

static int reg_mr(void)
{
	return POINTER(ibv_reg_mr(dev.pd, start_, length_, access_));
}

static void dereg_mr(void)
{
	CHECK_EQ(ibv_dereg_mr(made), 0);
}

/*
 * The same with one entry in each leaf of the table: each leaf is one more allocation. If pages were
 * contiguous, a table of the best page size would have fewer entries.
 */
static void reg_mr_of_leaves(void)
{
	/* A table of one leaf has a fifth of that. */
	enum { LEAST = 81, PAGES = 147 };

	length_ = PAGES * PAGE;
	start_ = memory_of_one_page(length_);
	order("leaf pid %d value 1 count 0", getpid());
	sweep(&(struct op){ "reg MR of many leaves", reg_mr, dereg_mr,
			    .at_least = LEAST });
	orders_off();
	munmap(start_, length_);
}

/* Each allocation of registrations, short and long, and of a table of several leaves. */
static void n7_reg_mr(void)
{
	static const size_t lengths[] = { 1, 5000, 600000 };
	size_t i;

	begin();
	start_ = buf->data;
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		length_ = lengths[i];
		access_ = i & 1 ? 0 : ALL_ACCESS;
		sweep(&(struct op){ "reg MR", reg_mr, dereg_mr, .at_least = 8,
				    .lasting = 1 });
	}
	if (dev.pinion)
		reg_mr_of_leaves();
	end();
}

static struct region changed;
static struct ibv_pd *pds[2];

/* Alternates between two places of the same size, so the number of pinned pages stays. */
static int rereg_mr(void)
{
	static int round;
	uint8_t *to = buf->data + (round & 1) * 40 * PAGE;
	int err;

	err = ibv_rereg_mr(changed.mr, length_, pds[round & 1], to, 30 * PAGE,
			   length_ & IBV_REREG_MR_CHANGE_ACCESS ? ALL_ACCESS :
								  0);
	if (err)
		return err == IBV_REREG_MR_ERR_CMD ? errno : -1;
	round++;
	return 0;
}

/* Each allocation of ibv_rereg_mr() with each combination of changes. */
static void n8_rereg(void)
{
	begin();
	pds[0] = MUST(ibv_alloc_pd(dev.ctx));
	pds[1] = MUST(ibv_alloc_pd(dev.ctx));
	changed.mr = MUST(ibv_reg_mr(dev.pd, buf->data, 30 * PAGE, ALL_ACCESS));
	for (length_ = 1; length_ < 8; length_++)
		sweep(&(struct op){ "rereg MR", rereg_mr, NULL, .at_least = 3,
				    .lasting = 1 });
	CHECK_EQ(ibv_dereg_mr(changed.mr), 0);
	CHECK_EQ(vm_pin(0), 0);
	end();
}

/* ibv_dereg_mr() must not fail. */
static int dereg_only(void)
{
	int err = ibv_dereg_mr(made);

	if (!err)
		made = NULL;
	return err;
}

static void reg_again(void)
{
	if (!made)
		made = MUST(ibv_reg_mr(dev.pd, buf->data, 30000, ALL_ACCESS));
}

/* Each allocation of ibv_dereg_mr(), which must not fail for good. */
static void n9_dereg(void)
{
	begin();
	reg_again();
	sweep(&(struct op){ "dereg MR", dereg_only, reg_again, .at_least = 1 });
	end();
}

static int alloc_mw(void)
{
	return POINTER(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1));
}

static void dealloc_mw(void)
{
	CHECK_EQ(ibv_dealloc_mw(made), 0);
}

static struct ibv_mw *mw;

/* If a doorbell failed, its request stays posted: the next doorbell executes it. */
static int performed(int err)
{
	if (err)
		CHECK_EQ(raw_doorbell(dev.ctx->cmd_fd, link_.a.qp->handle), 0);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	return err;
}

static int bind_mw(void)
{
	uint32_t next = ibv_inc_rkey(mw->rkey);
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = changed.mr,
			       .addr = changed.base,
			       .length = 100 },
	};
	int err = performed(ibv_bind_mw(link_.a.qp, mw, &bind));

	mw->rkey = next;
	return err;
}

static int bind_type2(void)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = mw,
			     .rkey = ibv_inc_rkey(mw->rkey),
			     .bind_info = window_part(&changed, 0, 100, 0) },
	};
	int err = performed(try_post(&link_.a, &wr));

	mw->rkey = wr.bind_mw.rkey;
	return err;
}

static int invalidate(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV,
				  .send_flags = IBV_SEND_SIGNALED,
				  .invalidate_rkey = mw->rkey };

	return performed(try_post(&link_.a, &wr));
}

/* Both are executed, also if one doorbell failed. */
static int bind_and_invalidate(void)
{
	int err = bind_type2();

	return invalidate() ?: err;
}

/* Each allocation of windows, binds and invalidations. */
static void n10_mw(void)
{
	begin();
	sweep(&(struct op){ "MW", alloc_mw, dealloc_mw, .at_least = 4,
			    .lasting = 1 });
	changed = region_new(9000, 1, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1));
	sweep(&(struct op){ "bind MW", bind_mw, NULL, .at_least = 1 });
	mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2));
	sweep(&(struct op){ "bind and invalidate MW of type 2",
			    bind_and_invalidate, NULL, .at_least = 2 });
	end();
}

static struct ibv_dm *dm;

static int alloc_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 100000 };

	return POINTER(ibv_alloc_dm(dev.ctx, &attr));
}

static void free_dm(void)
{
	CHECK_EQ(ibv_free_dm(made), 0);
}

static int reg_dm_mr(void)
{
	return POINTER(ibv_reg_dm_mr(dev.pd, dm, 8, 90000,
				     ALL_ACCESS | IBV_ACCESS_ZERO_BASED));
}

/* Each allocation of device memory and its regions. */
static void n11_dm(void)
{
	if (!dev.attr.max_dm_size)
		lacks("no device memory");
	begin();
	sweep(&(struct op){ "DM", alloc_dm, free_dm, .at_least = 7,
			    .lasting = 1 });
	CHECK_EQ(alloc_dm(), 0);
	dm = made;
	sweep(&(struct op){ "DM MR", reg_dm_mr, dereg_mr, .at_least = 6,
			    .lasting = 1 });
	end();
}

static struct link ud;
static const union ibv_gid group = {
	.raw = { [10] = 0xff, 0xff, 239, 3, 3, 3 }
};

static int attach(void)
{
	return ibv_attach_mcast(ud.a.qp, &group, 0);
}

static void detach(void)
{
	CHECK_EQ(ibv_detach_mcast(ud.a.qp, &group, 0), 0);
}

/* Each allocation of entering and leaving a group. */
static void n12_mcast(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };

	link_make(&ud, &cfg);
	begin();
	sweep(&(struct op){ "multicast", attach, detach, .at_least = 2,
			    .lasting = 1 });
	end();
}

static int open_xrcd(void)
{
	return POINTER(xrcd_open(dev.ctx, -1));
}

static void close_xrcd(void)
{
	CHECK_EQ(ibv_close_xrcd(made), 0);
}

/* Each allocation of XRC domains. */
static void n13_xrcd(void)
{
	begin();
	sweep(&(struct op){ "XRCD", open_xrcd, close_xrcd, .at_least = 4,
			    .lasting = 1 });
	end();
}

static struct region from, to;

/* The data path allocates nothing: only copying the arguments of the doorbell can fail. */
static int send_data(void)
{
	struct ibv_sge sge = sge_of(&from, 1, 19000);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { to.base, to.rkey },
	};
	return performed(try_post(&link_.a, &wr));
}

static void check_sent(void)
{
	CHECK_EQ(memcmp(to.buf->data, from.buf->data + 1, 19000), 0);
	rnd_fill(from.buf->data, 20000);
}

/* Each allocation of posting and sending: data arrive, or the post is refused. */
static void n14_data(void)
{
	begin();
	from = region_new(20000, 5, ALL_ACCESS);
	to = region_new(20000, 5, ALL_ACCESS);
	sweep(&(struct op){ "post", send_data, check_sent, .at_least = 1,
			    .others = true });
	end();
}

static const struct test tests[] = {
	LONG_TEST(n1_context, "N1 contexts, domains", 300),
	LONG_TEST(n2_cq, "N2 completion queues", 300),
	LONG_TEST(n3_qp, "N3 queue pairs", 300),
	LONG_TEST(n4_modify, "N4 states of queue pairs", 300),
	LONG_TEST(n5_srq, "N5 shared receive queues", 300),
	LONG_TEST(n6_ah, "N6 address handles", 300),
	LONG_TEST(n7_reg_mr, "N7 registration", 300),
	LONG_TEST(n8_rereg, "N8 rereg, all combinations", 300),
	LONG_TEST(n9_dereg, "N9 dereg", 300),
	LONG_TEST(n10_mw, "N10 memory windows", 300),
	LONG_TEST(n11_dm, "N11 device memory", 300),
	LONG_TEST(n12_mcast, "N12 multicast", 300),
	LONG_TEST(n13_xrcd, "N13 XRC domains", 300),
	LONG_TEST(n14_data, "N14 posting", 300),
};

ORDERS_MAIN("Each verb with each allocation failing", tests)
