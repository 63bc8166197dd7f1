// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * pinionctl qp, cq, srq, key, stat and caps: the values are right (items CT40 to CT59).
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "tool.h"
#include "window.h"

/* Each row of a queue pair; indices for root only. */
static void ct40_qp(void)
{
	struct region r = region_new(100, 0, ALL_ACCESS);
	struct qp_cfg cfg = { .wr = 20, .recv_wr = 30 };
	struct ibv_sge sge = sge_of(&r, 0, 10);
	struct link link;
	const char *out;
	int i;

	link_make(&link, &cfg);
	for (i = 0; i < 3; i++)
		post_recv(&link.a, &sge, 1, i);
	out = tool_says("qp show %s lqpn %u", device_name(), link.a.qp->qp_num);
	CHECK_EQ(tool_number(out, "rqpn"), link.b.qp->qp_num);
	tool_is(out, "type", "RC");
	tool_is(out, "state", "RTS");
	CHECK_EQ(tool_number(out, "pid"), getpid());
	tool_is(out, "comm", program_invocation_short_name);
	if (dev.pinion) {
		CHECK(tool_number(out, "sq_entries") >= 20);
		CHECK(tool_number(out, "rq_entries") >= 30);
		CHECK_EQ(tool_number(out, "rq_waiting"), 3);
		CHECK_EQ(tool_number(out, "sq_waiting"), 0);
	}
	if (dev.pinion && !geteuid()) {
		CHECK_EQ(tool_number(out, "rq_user_index"), 3);
		CHECK_EQ(tool_number(out, "rq_kernel_index"), 0);
		CHECK_EQ(tool_number(out, "sq_user_index"), 0);
		CHECK_EQ(tool_number(out, "begun"), 0);
		tool_is(out, "waits_for", "nothing");
		tool_is(out, "broken", "no");
	}
	out = tool_says("qp list %s pid %d", device_name(), getpid());
	CHECK_EQ(tool_lines(out), 3);
	CHECK_EQ(end_set_state(&link.a, IBV_QPS_ERR), 0);
	CHECK_EQ(tool_lines(tool_says("qp list %s pid %d state ERR",
				      device_name(), getpid())),
		 2);
	link_free(&link);
	CHECK_EQ(tool("qp list %s pid %d", device_name(), getpid()).status, 1);
}

/* Each row of a completion queue; indices for root only. */
static void ct41_cq(void)
{
	struct ibv_cq *cq = MUST(ibv_create_cq(dev.ctx, 77, NULL, NULL, 0));
	struct qp_cfg cfg = { .scq = cq };
	struct region r = region_new(100, 0, ALL_ACCESS);
	struct link link;
	const char *out;
	int i;

	link_make(&link, &cfg);
	for (i = 0; i < 5; i++)
		post_rdma(&link.a, IBV_WR_RDMA_WRITE, sge_of(&r, 0, 10), r.base,
			  r.rkey, 0);
	sleep(1);
	out = tool_says("cq show %s pid %d cqe %d", device_name(), getpid(),
			cq->cqe);
	if (dev.pinion) {
		CHECK_EQ(tool_number(out, "unpolled"), 5);
		CHECK_EQ(tool_number(out, "overflow"), 0);
		CHECK(tool_number(out, "entries") >= 77);
	}
	if (dev.pinion && !geteuid()) {
		CHECK_EQ(tool_number(out, "kernel_index"), 5);
		CHECK_EQ(tool_number(out, "user_index"), 0);
		tool_is(out, "armed", "no");
		CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
		tool_is(tool_says("cq show %s pid %d cqe %d", device_name(),
				  getpid(), cq->cqe),
			"armed", "yes");
	}
	for (i = 0; i < 5; i++)
		expect(await(cq), IBV_WC_SUCCESS);
	out = tool_says("cq show %s pid %d cqe %d", device_name(), getpid(),
			cq->cqe);
	if (dev.pinion)
		CHECK_EQ(tool_number(out, "unpolled"), 0);
}

/* Each row of a shared receive queue, until it ends. */
static void ct42_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 9,
						    .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_srq *srq = MUST(ibv_create_srq(dev.pd, &init));
	struct region r = region_new(100, 0, ALL_ACCESS);
	struct ibv_sge sge = sge_of(&r, 0, 10);
	const char *out;
	int i;

	for (i = 0; i < 4; i++)
		post_srq(srq, &sge, 1, i);
	CHECK_EQ(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
	out = tool_says("srq show %s pid %d", device_name(), getpid());
	tool_is(out, "type", "BASIC");
	if (dev.pinion) {
		CHECK(tool_number(out, "entries") >= 9);
		CHECK_EQ(tool_number(out, "waiting"), 4);
		CHECK_EQ(tool_number(out, "limit"), 2);
	}
	if (dev.pinion && !geteuid()) {
		CHECK_EQ(tool_number(out, "user_index"), 4);
		CHECK_EQ(tool_number(out, "kernel_index"), 0);
		tool_is(out, "armed", "yes");
	}
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	CHECK_EQ(tool("srq list %s pid %d", device_name(), getpid()).status, 1);
}

/* Without a receive request the first of two sends waits; then both complete. */
static void ct46_waits(void)
{
	struct region r = region_new(100, 0, ALL_ACCESS);
	struct ibv_sge sge = sge_of(&r, 0, 10);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	double limit = now() + patience(20);
	long long begun;
	struct link link;
	const char *out;
	int i;

	need_root();
	if (!dev.pinion)
		skip("of no other device is so much known");
	link_make(&link, NULL);
	for (i = 0; i < 2; i++)
		post(&link.a, &wr);
	/* Repeat: when the timer expires, it waits for nothing until the next try. */
	do {
		out = tool_says("qp show %s lqpn %u", device_name(),
				link.a.qp->qp_num);
		/* By packets the second is begun, too. */
		begun = tool_number(out, "begun");
		CHECK(begun == 1 || (begun == 2 && dev.packets));
	} while (!strstr(out, "a timer") && now() < limit);
	tool_is(out, "waits_for", "a timer");
	CHECK_EQ(tool_number(out, "sq_user_index"), 2);
	CHECK_EQ(tool_number(out, "sq_kernel_index"), 0);
	for (i = 0; i < 2; i++)
		post_recv(&link.b, &sge, 1, i);
	for (i = 0; i < 2; i++)
		expect(await(link.a.scq), IBV_WC_SUCCESS);
	out = tool_says("qp show %s lqpn %u", device_name(), link.a.qp->qp_num);
	CHECK_EQ(tool_number(out, "begun"), 0);
	tool_is(out, "waits_for", "nothing");
	CHECK_EQ(tool_number(out, "sq_kernel_index"), 2);
}

/* Keys of windows and regions as the device has them. */
static void ct43_key(void)
{
	struct link link;
	struct region r;
	struct ibv_mw *mw;
	const char *out;
	char want[64];

	need_root();
	if (!dev.pinion || access("/sys/kernel/debug/pinion", F_OK))
		skip("no list of keys");
	r = region_new(5 * PAGE, 0, BINDABLE);
	link_make(&link, NULL);
	mw = window_new(IBV_MW_TYPE_1);
	CHECK_EQ(window_bind(&link.a, mw,
			     window_part(&r, PAGE, 2 * PAGE,
					 IBV_ACCESS_REMOTE_READ))
			 .status,
		 IBV_WC_SUCCESS);
	out = tool_says("-j key %s key %#x", device_name(), mw->rkey);
	snprintf(want, sizeof(want),
		 "\"kind\":\"window\",\"state\":\"valid\",\"base\":%llu,",
		 (unsigned long long)r.base + PAGE);
	if (!strstr(out, want))
		FAIL("no %s in %s", want, out);
	CHECK(strstr(out, "\"length\":8192,\"rights\":[\"remote_read\"]}"));
	out = tool_says("-j key list %s key %#x", device_name(), r.rkey);
	CHECK(strstr(out, "\"kind\":\"region\",\"state\":\"valid\""));
	CHECK(strstr(out, "\"blocks\":"));
	CHECK_EQ(tool("key %s kind nothing", device_name()).status, 1);
}

/* Counters of the port, all or one. */
static void ct44_stat(void)
{
	struct region r = region_new(100, 0, ALL_ACCESS);
	struct link link;
	long long before, after;
	const char *out;

	if (!dev.pinion)
		skip("others count as they like");
	link_make(&link, NULL);
	before = device_counter("tx_messages");
	CHECK(before >= 0);
	expect(rdma(&link.a, IBV_WR_RDMA_WRITE, sge_of(&r, 0, 100), r.base,
		    r.rkey),
	       IBV_WC_SUCCESS);
	counter_await("tx_messages", before + 1);
	out = tool_says("-j stat %s counter tx_messages", device_name());
	out = strstr(out, "\"value\":");
	CHECK(out && sscanf(out, "\"value\":%lld", &after) == 1);
	CHECK_EQ(after, before + 1);
	CHECK_EQ(tool("stat %s counter none", device_name()).status, 1);
	out = tool_says("stat %s", device_name());
	CHECK(tool_lines(out) > 10);
}

/* Capabilities as verbs report them. */
static void ct45_caps(void)
{
	const char *out = tool_says("caps %s", device_name());

	CHECK_EQ(tool_number(out, "max_mr"), dev.attr.orig_attr.max_mr);
	CHECK_EQ(tool_number(out, "max_mr_size"),
		 dev.attr.orig_attr.max_mr_size);
	CHECK_EQ(tool_number(out, "max_qp_wr"), dev.attr.orig_attr.max_qp_wr);
	CHECK_EQ(tool_number(out, "max_dm_size"), dev.attr.max_dm_size);
	CHECK_EQ(tool_number(out, "comp_vectors"), dev.ctx->num_comp_vectors);
	if (dev.pinion) {
		tool_is(out, "odp", "explicit,implicit");
		CHECK(strstr(tool_value(out, "odp_rc"), "atomic"));
		CHECK(strstr(tool_value(out, "device_cap_flags"),
			     "mem_window_type_2b"));
	}
	CHECK_EQ(tool("caps").status, 2);
	CHECK_EQ(tool("caps nobody").status, 2);
}

static const struct test tests[] = {
	TEST(ct40_qp, "CT40 qp"),
	TEST(ct41_cq, "CT41 cq"),
	TEST(ct42_srq, "CT42 srq"),
	TEST(ct43_key, "CT43 key"),
	TEST(ct44_stat, "CT44 stat"),
	TEST(ct45_caps, "CT45 caps"),
	TEST(ct46_waits, "CT46 a queue pair that waits"),
};

HARNESS_MAIN("pinionctl: queues, keys, counters, capabilities", tests)
