// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What follows from an address, and from queue pair numbers, for the headers of packets that leave,
 * which are captured (items HE1 to HE3). For devices that send packets to peers on this host.
 */
#define _GNU_SOURCE
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "command.h"
#include "link.h"

enum {
	LEN = 5000,
	LABEL = 0x5a5a7,
	VLAN = 77,
	NOBODYS = 9, /* the last byte of his address */
};

/* Of both numbers, in whatever order: the core's, and hardware's. */
static uint32_t label_of(uint32_t a, uint32_t b)
{
	uint64_t v = (uint64_t)a * b;

	v ^= v >> 20;
	v ^= v >> 40;
	return v & 0xfffff;
}

static void check_flow(const struct captured *seen, uint32_t label)
{
	uint32_t first = get16(seen->ip) << 16 | get16(seen->ip + 2);

	if (seen->v6)
		CHECK_EQ(first & 0xfffff, label);
	CHECK_EQ(get16(seen->udp), 0xc000 | ((label & 0x3fff) ^ (label >> 14)));
}

static void begin(bool v6)
{
	device_open();
	need_root();
	if (!dev.packets)
		skip("no packets to peers on this host");
	device_use_address(&dev, v6);
}

/* A connection's packets have the flow of its queue pairs, those of both ends the same. */
static void he1_connection(int v6)
{
	struct qp_cfg cfg = { 0 };
	static struct captured seen;
	struct region a, b;
	struct link link;
	uint32_t label;
	int i, fd;

	begin(v6);
	link_make(&link, &cfg);
	a = region_new(LEN, 3, ALL_ACCESS);
	b = region_new(LEN, 4, ALL_ACCESS);
	fd = capture_open("lo");
	check_write(&link, &a, 0, &b, 0, LEN);
	label = label_of(link.a.qp->qp_num, link.b.qp->qp_num);
	capture_next(fd, &seen, link.b.qp->qp_num);
	CHECK_EQ(seen.v6, v6);
	check_flow(&seen, label);
	/* Requests and answers, one of several packets. */
	check_read(&link, &a, 0, &b, 0, LEN);
	for (i = 0; i < 2; i++) {
		capture_next(fd, &seen, link.a.qp->qp_num);
		check_flow(&seen, label);
	}
	close(fd);
}

/* A datagram's have that of its address, or of the queue pairs if there is none. */
static void he2_datagrams(int v6)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	static struct captured seen;
	struct region a, b;
	struct ibv_ah *ah;
	struct link link;
	int i, fd;

	begin(v6);
	link_make(&link, &cfg);
	a = region_new(LEN, 3, ALL_ACCESS);
	b = region_new(LEN, 4, ALL_ACCESS);
	attr.grh.dgid = dev.gid;
	attr.grh.sgid_index = dev.gid_index;
	attr.grh.hop_limit = 64;
	fd = capture_open("lo");
	for (i = 0; i < 2; i++) {
		struct ibv_sge sink = sge_of(&b, 0, LEN);

		attr.grh.flow_label = i ? LABEL : 0;
		ah = MUST(ibv_create_ah(dev.pd, &attr));
		post_recv(&link.b, &sink, 1, 1);
		expect(send_ud(&link.a, sge_of(&a, 0, 300), ah,
			       link.b.qp->qp_num, QKEY),
		       IBV_WC_SUCCESS);
		expect(await(link.b.rcq), IBV_WC_SUCCESS);
		CHECK(!memcmp(b.buf->data + 40, a.buf->data, 300));
		capture_next(fd, &seen, link.b.qp->qp_num);
		check_flow(&seen,
			   i ? LABEL :
			       label_of(link.a.qp->qp_num, link.b.qp->qp_num));
		CHECK_EQ(ibv_destroy_ah(ah), 0);
	}
	close(fd);
}

/* -------------------------------------------------------------- priorities */

static char netdev[IF_NAMESIZE];

static void vlan_goes(void)
{
	must_run("ip link del vlan77 2>/dev/null || :");
}

/* Makes a VLAN whose tags have the priority of the packet, and a neighbour there that is nobody. */
static void vlan_comes(void)
{
	struct ibv_gid_entry entry = device_address(&dev, false);
	char command[200];

	CHECK(if_indextoname(entry.ndev_ifindex, netdev));
	vlan_goes();
	snprintf(command, sizeof(command),
		 "ip link add link %s name vlan77 type vlan id %d"
		 " egress-qos-map 1:1 2:2 3:3 4:4 5:5 6:6 7:7 2>/dev/null",
		 netdev, VLAN);
	if (system(command))
		skip("no VLANs in this kernel");
	must_run(
		"ip addr add 10.77.0.1/24 dev vlan77 && ip link set vlan77 up");
	must_run("ip neigh replace 10.77.0.%d lladdr 02:00:00:00:00:77"
		 " dev vlan77 nud permanent",
		 NOBODYS);
}

/*
 * The priority of a packet, as a VLAN writes it into its tag, follows from the traffic class as with a
 * socket (IP_TOS), or without one from the service level.
 */
static void he3_priority(void)
{
	/* The kernel's priorities: 0x10 is interactive, 0x08 bulk. */
	static const struct {
		uint8_t traffic_class, sl;
		int priority;
	} cases[] = {
		{ 0, 0, 0 },	{ 0, 3, 3 },	{ 0, 7, 7 },
		{ 0x10, 0, 6 }, { 0x08, 0, 2 }, { 0x10, 3, 6 },
	};
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh.dgid.raw = { [10] = 255, 255, 10, 77, 0, 1 },
	};
	struct qp_cfg ud = { .type = IBV_QPT_UD };
	struct qp_cfg rc = { .timeout = 10, .retry = 1, .traffic_class = 0x10 };
	struct peer nobody = { .qpn = 0x345678 };
	static struct captured seen;
	struct region a;
	struct ibv_ah *ah;
	struct link link;
	struct end end;
	size_t i;
	int fd;

	begin(false);
	vlan_comes();
	attr.grh.sgid_index = device_await_gid(&dev, &attr.grh.dgid);
	attr.grh.dgid.raw[15] = NOBODYS;
	attr.grh.hop_limit = 64;
	nobody.gid = attr.grh.dgid;
	link_make(&link, &ud);
	a = region_new(LEN, 3, ALL_ACCESS);
	fd = capture_open(netdev);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		context("traffic class %#x, service level %u",
			cases[i].traffic_class, cases[i].sl);
		attr.grh.traffic_class = cases[i].traffic_class;
		attr.sl = cases[i].sl;
		ah = MUST(ibv_create_ah(dev.pd, &attr));
		expect(send_ud(&link.a, sge_of(&a, 0, 100), ah, nobody.qpn,
			       QKEY),
		       IBV_WC_SUCCESS);
		capture_next(fd, &seen, nobody.qpn);
		CHECK_EQ(seen.ip[1], cases[i].traffic_class);
		CHECK_EQ(seen.tag, cases[i].priority << 13 | VLAN);
		CHECK_EQ(ibv_destroy_ah(ah), 0);
	}
	context("%s", "a connection");
	dev.gid_index = attr.grh.sgid_index;
	end_make(&end, &rc);
	end_init(&end);
	end_connect(&end, &nobody);
	post_rdma(&end, IBV_WR_RDMA_WRITE, sge_of(&a, 0, LEN), 0x1000, 1, 0);
	capture_next(fd, &seen, nobody.qpn);
	CHECK_EQ(seen.tag, 6 << 13 | VLAN);
	expect(await(end.scq), IBV_WC_RETRY_EXC_ERR);
	end_free(&end);
	close(fd);
	link_free(&link);
	vlan_goes();
}

static const struct test tests[] = {
	TEST_OF(he1_connection, false, "HE1 the flow of a connection"),
	TEST_OF(he1_connection, true, "HE1 the flow of a connection, IPv6"),
	TEST_OF(he2_datagrams, false, "HE2 the flow of datagrams"),
	TEST_OF(he2_datagrams, true, "HE2 the flow of datagrams, IPv6"),
	TEST(he3_priority, "HE3 the priority of packets"),
};

HARNESS_MAIN("Headers of packets that leave", tests)
