// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams to multicast groups (items U11 and U14 to U19).
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "link.h"

enum { GRH = 40, LEN = 20000 };

static struct link link_;
static struct region a, b;

static void begin(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };

	link_make(&link_, &cfg);
	a = region_new(LEN, 1003, ALL_ACCESS);
	b = region_new(LEN, 2017, ALL_ACCESS);
}

static union ibv_gid group(int number)
{
	/* 239.x, as an IPv4 GID. */
	union ibv_gid gid = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, number } };

	return gid;
}

static struct ibv_ah *group_ah(struct ibv_pd *pd, const union ibv_gid *gid,
			       int index)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = *gid, .sgid_index = index },
	};

	return MUST(ibv_create_ah(pd, &attr));
}

static struct ibv_wc send_by(struct end *end, struct ibv_ah *ah,
			     struct ibv_sge sge)
{
	return send_ud(end, sge, ah, 0xffffff, QKEY);
}

static struct ibv_wc group_wc(const union ibv_gid *gid, struct ibv_sge sge)
{
	struct ibv_ah *ah = group_ah(dev.pd, gid, dev.gid_index);
	struct ibv_wc wc = send_by(&link_.a, ah, sge);

	CHECK_EQ(ibv_destroy_ah(ah), 0);
	return wc;
}

static void send_to_group(const union ibv_gid *gid, uint32_t length)
{
	expect(group_wc(gid, sge_of(&a, 0, length)), IBV_WC_SUCCESS);
}

/* A datagram to a group arrives at each member once, and not at those who have left. */
static void u11_multicast(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	union ibv_gid one = group(1), two = group(2);
	struct end ends[5];
	long long drops;
	int i;

	begin();
	for (i = 0; i < 5; i++) {
		struct ibv_sge sink = sge_of(&b, i * 2000, 1500);
		struct peer peer = { .gid = dev.gid };

		end_make(&ends[i], &cfg);
		end_init(&ends[i]);
		end_connect(&ends[i], &peer);
		if (i < 4)
			CHECK_EQ(ibv_attach_mcast(ends[i].qp, &one, 0), 0);
		CHECK_EQ(ibv_attach_mcast(ends[i].qp, &two, 0), 0);
		post_recv(&ends[i], &sink, 1, i);
	}
	CHECK_EQ(ibv_attach_mcast(ends[0].qp, &one, 0), 0);
	CHECK_EQ(ibv_detach_mcast(ends[3].qp, &one, 0), 0);
	CHECK(ibv_detach_mcast(ends[3].qp, &one, 0));
	send_to_group(&one, 1201);
	for (i = 0; i < 3; i++) {
		struct ibv_wc wc = await(ends[i].rcq);

		expect(wc, IBV_WC_SUCCESS);
		CHECK_EQ(wc.byte_len, 1201 + GRH);
		CHECK_EQ(wc.src_qp, link_.a.qp->qp_num);
		memcpy(b.buf->want + i * 2000 + GRH, a.buf->want, 1201);
		memcpy(b.buf->want + i * 2000, b.buf->data + i * 2000, GRH);
	}
	expect_none(ends[3].rcq, 0.02);
	expect_none(ends[4].rcq, 0);
	buf_check(b.buf);
	drops = dev.pinion ? device_counter("ud_drops") : 0;
	send_to_group(&two, 1);
	CHECK_EQ(await(ends[3].rcq).byte_len, 1 + GRH);
	CHECK_EQ(await(ends[4].rcq).byte_len, 1 + GRH);
	/* The other three members have no receive request left. */
	if (dev.pinion)
		counter_await("ud_drops", drops + 3);
	/* A group without members; then GIDs that are no groups. */
	one = group(3);
	send_to_group(&one, 1);
	CHECK(ibv_attach_mcast(ends[0].qp, &dev.gid, 0));
	end_make(&ends[0], NULL);
	CHECK(ibv_attach_mcast(ends[0].qp, &two, 0));
}

/*
 * A datagram to a group whose memory is half gone fails, uses up no receive, and the next
 * arrives.
 */
static void u14_half_to_a_group(void)
{
	union ibv_gid gid = group(4);
	struct ibv_sge sink;
	struct ibv_wc wc;

	begin();
	sink = sge_of(&b, 0, 140);
	post_recv(&link_.b, &sink, 1, 3);
	CHECK_EQ(ibv_attach_mcast(link_.b.qp, &gid, 0), 0);
	expect(group_wc(&gid, sge_half_gone()), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(end_state(&link_.a), IBV_QPS_SQE);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RTS), 0);
	send_to_group(&gid, 100);
	wc = await(link_.b.rcq);
	expect(wc, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, 3);
}

static void join(struct end *end, const struct qp_cfg *cfg,
		 const union ibv_gid *gid)
{
	struct peer peer = { .gid = dev.gid };

	end_make(end, cfg);
	end_init(end);
	CHECK_EQ(end_to_rtr(end, &peer), 0);
	CHECK_EQ(ibv_attach_mcast(end->qp, gid, 0), 0);
}

/* The limit of members counts per device. First and last member both receive. */
static void u15_two_devices(void)
{
	struct qp_cfg near = { .type = IBV_QPT_UD }, far = near;
	int i, most = dev.attr.orig_attr.max_mcast_qp_attach;
	union ibv_gid gid = group(5);
	struct region r;
	struct ibv_sge sink;
	struct end end, others[2];

	begin();
	far.ctx = device_beside();
	if (!dev.pinion || !far.ctx)
		skip("needs two pinion devices");
	far.pd = MUST(ibv_alloc_pd(far.ctx));
	near.scq = near.rcq = MUST(ibv_create_cq(dev.ctx, 1, NULL, NULL, 0));
	join(&others[0], &far, &gid);
	for (i = 0; i < most; i++)
		join(&end, &near, &gid);
	join(&others[1], &far, &gid);
	r = region_reg(far.pd, buf_new(2 * 140, 3), ALL_ACCESS);
	for (i = 0; i < 2; i++) {
		sink = sge_of(&r, i * 140, 140);
		post_recv(&others[i], &sink, 1, 7);
	}
	send_to_group(&gid, 100);
	for (i = 0; i < 2; i++) {
		expect(await(others[i].rcq), IBV_WC_SUCCESS);
		memcpy(r.buf->want + i * 140 + GRH, a.buf->want, 100);
		memcpy(r.buf->want + i * 140, r.buf->data + i * 140, GRH);
	}
	buf_check(r.buf);
}

/* Sets the network device of the device under test, and with it the port, up or down. */
static void set_link(bool up)
{
	enum ibv_port_state want = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	char path[128], netdev[32];
	double limit = now() + patience(PATIENCE);
	struct ibv_port_attr port;
	FILE *file;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/0",
		 device_name());
	file = MUST(fopen(path, "r"));
	CHECK_EQ(fscanf(file, "%31s", netdev), 1);
	fclose(file);
	must_run("ip link set %s %s", netdev, up ? "up" : "down");
	do {
		CHECK(now() < limit);
		usleep(1000);
		CHECK_EQ(ibv_query_port(dev.ctx, 1, &port), 0);
	} while (port.state != want);
}

/* @to receives what @from sends to the group; it may take a moment after the link came up. */
static void hears(struct end *to, struct end *from, struct ibv_ah *ah,
		  struct ibv_sge sge)
{
	double limit = now() + patience(PATIENCE);
	struct ibv_wc wc;

	do {
		CHECK(now() < limit);
		expect(send_by(from, ah, sge), IBV_WC_SUCCESS);
	} while (!poll_one(to->rcq, &wc));
	expect(wc, IBV_WC_SUCCESS);
	CHECK_EQ(wc.byte_len, sge.length + GRH);
}

/* While the link is down nothing is sent or received; QPs stay members of the group. */
static void u16_link_down(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct region near_, far_;
	union ibv_gid gid = group(6);
	struct ibv_ah *near, *far;
	struct ibv_sge sink;
	struct end end;
	int i;

	need_root();
	begin();
	cfg.ctx = device_beside();
	if (!dev.pinion || !cfg.ctx)
		skip("needs two pinion devices");
	cfg.pd = MUST(ibv_alloc_pd(cfg.ctx));
	join(&end, &cfg, &gid);
	CHECK_EQ(end_to_rts(&end), 0);
	CHECK_EQ(ibv_attach_mcast(link_.b.qp, &gid, 0), 0);
	near_ = region_new(1000, 3, ALL_ACCESS);
	far_ = region_reg(cfg.pd, buf_new(1000, 3), ALL_ACCESS);
	near = group_ah(dev.pd, &gid, dev.gid_index);
	far = group_ah(cfg.pd, &gid, 0);
	for (i = 0; i < 8; i++) {
		sink = sge_of(&near_, 0, 140);
		post_recv(&link_.b, &sink, 1, i);
		sink = sge_of(&far_, 0, 140);
		post_recv(&end, &sink, 1, i);
	}
	hears(&end, &link_.a, near, sge_of(&near_, 500, 100));
	hears(&link_.b, &end, far, sge_of(&far_, 500, 100));
	drain(link_.b.rcq);

	set_link(false);
	expect(send_by(&link_.a, near, sge_of(&near_, 500, 100)),
	       IBV_WC_SUCCESS);
	expect(send_by(&end, far, sge_of(&far_, 500, 100)), IBV_WC_SUCCESS);
	i = drain(link_.b.rcq) + drain(end.rcq);
	set_link(true);
	CHECK_EQ(i, 0);

	hears(&end, &link_.a, near, sge_of(&near_, 500, 100));
	drain(link_.b.rcq);
	hears(&link_.b, &end, far, sge_of(&far_, 500, 100));
}

/*
 * A QP with IBV_QP_CREATE_BLOCK_SELF_MCAST_LB does not receive its own datagrams; the other
 * members do.
 */
static void u17_not_to_oneself(void)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
		.pd = dev.pd,
	};
	union ibv_gid gid = group(17);
	struct ibv_ah *ah;
	struct peer peer;
	struct end end;

	begin();
	end_make(&end, &(struct qp_cfg){ .type = IBV_QPT_UD });
	CHECK_EQ(ibv_destroy_qp(end.qp), 0);
	init.send_cq = end.scq;
	init.recv_cq = end.rcq;
	end.qp = MUST(ibv_create_qp_ex(dev.ctx, &init));
	peer = end_peer(&end);
	end_init(&end);
	end_connect(&end, &peer);
	ah = group_ah(dev.pd, &gid, dev.gid_index);
	CHECK_EQ(ibv_attach_mcast(end.qp, &gid, 0), 0);
	CHECK_EQ(ibv_attach_mcast(link_.b.qp, &gid, 0), 0);
	post_recv(&end, &(struct ibv_sge){ b.base, 200, b.lkey }, 1, 1);
	post_recv(&link_.b, &(struct ibv_sge){ b.base + 200, 200, b.lkey }, 1,
		  2);
	expect(send_by(&end, ah, sge_of(&a, 0, 100)), IBV_WC_SUCCESS);
	CHECK_EQ(await(link_.b.rcq).wr_id, 2);
	expect_none(end.rcq, 0.02);
}

/* Takes all the memberships of a group that one user may have, until told to exit. */
static void squatter(void *arg)
{
	int i, most = dev.attr.orig_attr.max_mcast_qp_attach;
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	union ibv_gid gid = group(18);
	int *pipes = arg;
	struct end end;
	char c;

	/*
	 * Closed so that read() below ends with the test: the change of uid clears
	 * PR_SET_PDEATHSIG.
	 */
	CHECK_EQ(close(pipes[3]), 0);
	CHECK_EQ(setresuid(12345, 12345, 12345), 0);
	device_open();
	cfg.scq = cfg.rcq = MUST(ibv_create_cq(dev.ctx, 1, NULL, NULL, 0));
	for (i = 0; i < most; i++)
		join(&end, &cfg, &gid);
	end_make(&end, &cfg);
	end_init(&end);
	CHECK_EQ(ibv_attach_mcast(end.qp, &gid, 0), ENOMEM);
	CHECK_EQ(write(pipes[1], "", 1), 1);
	CHECK_EQ(read(pipes[2], &c, 1), 1);
}

/*
 * A user who takes all his memberships does not keep others out; when he exits, all are free
 * again.
 */
static void u18_share(void)
{
	union ibv_gid gid = group(18);
	struct ibv_sge sink;
	struct ibv_wc wc;
	int pipes[4], pid, i;
	char c;

	need_root();
	if (!dev.pinion)
		skip("others have no shares");
	for (i = 0; i < 2; i++) {
		CHECK_EQ(pipe(pipes), 0);
		CHECK_EQ(pipe(pipes + 2), 0);
		pid = spawn(squatter, pipes);
		CHECK_EQ(close(pipes[1]), 0);
		CHECK_EQ(read(pipes[0], &c, 1), 1);
		begin();
		sink = sge_of(&b, 0, 140);
		post_recv(&link_.b, &sink, 1, 3);
		CHECK_EQ(ibv_attach_mcast(link_.b.qp, &gid, 0), 0);
		send_to_group(&gid, 100);
		wc = await(link_.b.rcq);
		expect(wc, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, 3);
		CHECK_EQ(write(pipes[3], ".", 1), 1);
		reap_ok(pid);
	}
}

/* Each member hears each message once, whichever way it comes; with receives for more. */
static void u19_once(void)
{
	enum { MEMBERS = 3, MESSAGES = 10 };
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	union ibv_gid gid = group(19);
	struct peer peer = {};
	struct end ends[MEMBERS];
	struct ibv_sge sink;
	int i, j;

	begin();
	peer.gid = dev.gid;
	sink = sge_of(&b, 0, 140);
	for (i = 0; i < MEMBERS; i++) {
		end_make(&ends[i], &cfg);
		end_init(&ends[i]);
		end_connect(&ends[i], &peer);
		CHECK_EQ(ibv_attach_mcast(ends[i].qp, &gid, 0), 0);
		for (j = 0; j < 2 * MESSAGES; j++)
			post_recv(&ends[i], &sink, 1, j);
	}
	for (j = 0; j < MESSAGES; j++) {
		send_to_group(&gid, 100);
		for (i = 0; i < MEMBERS; i++)
			CHECK_EQ(await(ends[i].rcq).wr_id, j);
	}
	expect_none(ends[0].rcq, 0.02);
	for (i = 1; i < MEMBERS; i++)
		expect_none(ends[i].rcq, 0);
}

static const struct test tests[] = {
	TEST(u11_multicast, "U11 multicast"),
	TEST(u14_half_to_a_group, "U14 a sender whose memory is gone"),
	TEST(u15_two_devices, "U15 a group with members of two devices"),
	TEST(u16_link_down, "U16 a group over a link that is down"),
	TEST(u17_not_to_oneself, "U17 not to hear oneself"),
	TEST(u18_share, "U18 a group that somebody else has filled"),
	TEST(u19_once, "U19 each hears each message once"),
};

HARNESS_MAIN("Multicast", tests)
