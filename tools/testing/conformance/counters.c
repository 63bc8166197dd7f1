// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The port's counters as any device has them in sysfs, and those that have the names that mlx5 gives
 * them (items CO1 to CO6). Both ends are of one device, so what is sent is also received, except when
 * there is no receiver, or two.
 */
#include "link.h"

enum { MTU = 1024, LEN = 5 * MTU + 100, PACKETS = 6 };

static struct link link_;
static struct region a, b;

/*
 * Checks what was counted since @before. The counters count units of four bytes and carry the
 * rest over.
 */
static void came(const struct port_traffic *before, uint64_t xmit, uint64_t rcv,
		 uint64_t xmit_packets, uint64_t rcv_packets)
{
	struct port_traffic t = port_traffic();

	CHECK_EQ(t.xmit_packets - before->xmit_packets, xmit_packets);
	CHECK_EQ(t.rcv_packets - before->rcv_packets, rcv_packets);
	CHECK_EQ(t.xmit_data - before->xmit_data, xmit / 4);
	CHECK_EQ(t.rcv_data - before->rcv_data, rcv / 4);
}

static void begin(enum ibv_qp_type type)
{
	struct qp_cfg cfg = { .type = type, .mtu = IBV_MTU_1024 };

	if (!dev.pinion)
		skip("others count as they like");
	link_make(&link_, &cfg);
	a = region_new(LEN, 0, ALL_ACCESS);
	b = region_new(LEN + 40, 0, ALL_ACCESS);
}

/* Each kind of request of a connection adds its bytes and packets to the port's counters. */
static void co1_connected(void)
{
	struct ibv_sge sink;
	struct port_traffic t;

	begin(IBV_QPT_RC);
	t = port_traffic();
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&a, 0, LEN), b.base,
		    b.rkey),
	       IBV_WC_SUCCESS);
	came(&t, LEN, LEN, PACKETS, PACKETS);

	/* One packet of request, PACKETS of response. */
	t = port_traffic();
	expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&a, 0, LEN), b.base,
		    b.rkey),
	       IBV_WC_SUCCESS);
	came(&t, LEN, LEN, 1 + PACKETS, 1 + PACKETS);

	t = port_traffic();
	sink = sge_of(&b, 0, LEN);
	post_recv(&link_.b, &sink, 1, 1);
	expect(send_sge(&link_.a, sge_of(&a, 0, LEN)), IBV_WC_SUCCESS);
	came(&t, LEN, LEN, PACKETS, PACKETS);

	t = port_traffic();
	expect(atomic_op(&link_.a, IBV_WR_ATOMIC_FETCH_AND_ADD,
			 sge_of(&a, 0, 8), b.base, b.rkey, 1, 0),
	       IBV_WC_SUCCESS);
	came(&t, 8, 8, 1, 1);

	/* A refused request counts nothing. */
	t = port_traffic();
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&a, 0, LEN), b.base,
		    b.rkey ^ 1),
	       IBV_WC_REM_ACCESS_ERR);
	came(&t, 0, 0, 0, 0);
}

static void send_to(const union ibv_gid *gid, uint32_t qpn)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = *gid, .sgid_index = dev.gid_index },
	};

	expect(send_ud(&link_.a, sge_of(&a, 0, 100),
		       MUST(ibv_create_ah(dev.pd, &attr)), qpn, QKEY),
	       IBV_WC_SUCCESS);
}

/* Datagrams count where they leave, and once for each queue pair that receives them. */
static void co2_datagrams(void)
{
	union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 3, 1 } };
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct peer peer = { .gid = dev.gid };
	struct end ends[2];
	struct ibv_sge sink;
	struct port_traffic t;
	int i;

	begin(IBV_QPT_UD);
	t = port_traffic();
	send_to(&dev.gid, 0xfffffe);
	came(&t, 100, 0, 1, 0);

	for (i = 0; i < 2; i++) {
		sink = sge_of(&b, i * 200, 140);
		end_make(&ends[i], &cfg);
		end_init(&ends[i]);
		end_connect(&ends[i], &peer);
		CHECK_EQ(ibv_attach_mcast(ends[i].qp, &group, 0), 0);
		post_recv(&ends[i], &sink, 1, i);
	}
	t = port_traffic();
	send_to(&group, 0xffffff);
	for (i = 0; i < 2; i++)
		expect(await(ends[i].rcq), IBV_WC_SUCCESS);
	came(&t, 100, 200, 1, 2);
}

/* All counters that the core knows exist, and those of errors that cannot happen here are zero. */
static void co3_all(void)
{
	static const char *const names[] = {
		"symbol_error",
		"link_error_recovery",
		"link_downed",
		"port_rcv_errors",
		"port_rcv_remote_physical_errors",
		"port_rcv_switch_relay_errors",
		"port_xmit_discards",
		"port_xmit_constraint_errors",
		"port_rcv_constraint_errors",
		"local_link_integrity_errors",
		"excessive_buffer_overrun_errors",
		"VL15_dropped",
		"multicast_rcv_packets",
		"multicast_xmit_packets",
	};
	struct port_traffic t;
	size_t i;

	if (!dev.pinion)
		skip("others count as they like");
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		context("%s", names[i]);
		CHECK_EQ(port_counter(names[i]), 0);
	}
	context("unicast");
	t = port_traffic();
	CHECK_EQ(port_counter("unicast_rcv_packets"), t.rcv_packets);
	CHECK_EQ(port_counter("unicast_xmit_packets"), t.xmit_packets);
}

/* Requests are counted by their kinds, but for SENDs. */
static void co4_kinds(void)
{
	static const char *const names[] = { "rx_write_requests",
					     "rx_read_requests",
					     "rx_atomic_requests" };
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	long long before[ARRAY_SIZE(names)];
	struct ibv_sge sink;
	size_t i, j;

	begin(IBV_QPT_RC);
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		context("%s", names[i]);
		for (j = 0; j < ARRAY_SIZE(names); j++)
			before[j] = device_counter_now(names[j]);
		if (opcodes[i] == IBV_WR_ATOMIC_FETCH_AND_ADD)
			expect(atomic_op(&link_.a, opcodes[i], sge_of(&a, 0, 8),
					 b.base, b.rkey, 1, 0),
			       IBV_WC_SUCCESS);
		else
			expect(rdma(&link_.a, opcodes[i], sge_of(&a, 0, LEN),
				    b.base, b.rkey),
			       IBV_WC_SUCCESS);
		sink = sge_of(&b, 0, LEN);
		post_recv(&link_.b, &sink, 1, 1);
		expect(send_sge(&link_.a, sge_of(&a, 0, LEN)), IBV_WC_SUCCESS);
		for (j = 0; j < ARRAY_SIZE(names); j++)
			CHECK_EQ(device_counter_now(names[j]) - before[j],
				 i == j);
	}
}

/* The one counter of each pair is the requester's, the other the responder's. */
static void both_count(const char *req, const char *resp, long long req_before,
		       long long resp_before)
{
	context("%s, %s", req, resp);
	counter_await(req, req_before + 1);
	CHECK_EQ(device_counter_now(resp), resp_before + 1);
	link_renew(&link_);
}

/* Requests that fail count once at each end. */
static void co5_refused(void)
{
	static const char *const req = "req_remote_access_errors",
				 *const resp = "resp_remote_access_errors",
				 *const invalid = "req_remote_invalid_request",
				 *const longer = "resp_local_length_error";
	long long before[2];
	struct ibv_sge sink;

	begin(IBV_QPT_RC);
	before[0] = device_counter_now(req);
	before[1] = device_counter_now(resp);
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&a, 0, LEN), b.base,
		    b.rkey ^ 1),
	       IBV_WC_REM_ACCESS_ERR);
	both_count(req, resp, before[0], before[1]);
	before[0] = device_counter_now(invalid);
	before[1] = device_counter_now(longer);
	sink = sge_of(&b, 0, 10);
	post_recv(&link_.b, &sink, 1, 1);
	expect(send_sge(&link_.a, sge_of(&a, 0, 20)), IBV_WC_REM_INV_REQ_ERR);
	expect(await(link_.b.rcq), IBV_WC_LOC_LEN_ERR);
	both_count(invalid, longer, before[0], before[1]);
}

/* Retries that end, and what is flushed then, at each end. */
static void co6_retries(void)
{
	struct qp_cfg cfg = { .rnr_timer = 1, .rnr_retry = 2, .recv_wr = 2 };
	/* Only where nobody answers: a busy machine answers later than in 1 ms. */
	struct qp_cfg soon = { .timeout = 8, .retry = 1 };
	long long before, waits, without;
	struct ibv_sge sink;

	begin(IBV_QPT_RC);
	link_make(&link_, &cfg);
	before = device_counter_now("req_rnr_retries_exceeded");
	waits = device_counter_now("rnr_nak_retry_err");
	without = device_counter_now("out_of_buffer");
	expect(send_sge(&link_.a, sge_of(&a, 0, 20)), IBV_WC_RNR_RETRY_EXC_ERR);
	counter_await("req_rnr_retries_exceeded", before + 1);
	counter_await("rnr_nak_retry_err", waits + 2);
	counter_await("out_of_buffer", without + 3);

	before = device_counter_now("req_cqe_flush_error");
	end_await_state(&link_.a, IBV_QPS_ERR);
	expect(send_sge(&link_.a, sge_of(&a, 0, 20)), IBV_WC_WR_FLUSH_ERR);
	counter_await("req_cqe_flush_error", before + 1);
	before = device_counter_now("resp_cqe_flush_error");
	sink = sge_of(&b, 0, 10);
	post_recv(&link_.b, &sink, 1, 1);
	post_recv(&link_.b, &sink, 1, 2);
	CHECK_EQ(end_set_state(&link_.b, IBV_QPS_ERR), 0);
	counter_await("resp_cqe_flush_error", before + 2);

	link_make(&link_, &soon);
	before = device_counter_now("req_transport_retries_exceeded");
	CHECK_EQ(end_set_state(&link_.b, IBV_QPS_RESET), 0);
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&a, 0, LEN), b.base,
		    b.rkey),
	       IBV_WC_RETRY_EXC_ERR);
	counter_await("req_transport_retries_exceeded", before + 1);
}

static const struct test tests[] = {
	TEST(co1_connected, "CO1 of connections"),
	TEST(co2_datagrams, "CO2 of datagrams"),
	TEST(co3_all, "CO3 all of them"),
	TEST(co4_kinds, "CO4 requests by kind"),
	TEST(co5_refused, "CO5 requests that are refused"),
	TEST(co6_retries, "CO6 retries, and what is flushed"),
};

HARNESS_MAIN("the port's counters", tests)
