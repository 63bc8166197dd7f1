// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The port's counters as any device has them in sysfs (items CO1 to CO3). Both ends are of one
 * device, so what is sent is also received, except when there is no receiver, or two.
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

static const struct test tests[] = {
	TEST(co1_connected, "CO1 of connections"),
	TEST(co2_datagrams, "CO2 of datagrams"),
	TEST(co3_all, "CO3 all of them"),
};

HARNESS_MAIN("the port's counters", tests)
