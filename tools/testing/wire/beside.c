// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two network namespaces that a cable joins. A device that is made to send no packets is reached from the
 * other namespace without them; one that could not get the UDP port is not, since messages would pass
 * filters that stop its packets (items BS1 and BS2).
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "command.h"
#include "link.h"
#include "undo.h"

enum { SIDES = 2, LEN = 9000, PORT = 4791 };

static struct device sides[SIDES];

static void put_back(void)
{
	/* Their namespaces take them along, too, but later. */
	if (system("rdma link del side0 2>/dev/null;"
		   " rdma link del side1 2>/dev/null; ip netns del beside-0 2>/dev/null;"
		   " ip netns del beside-1 2>/dev/null"))
		return;
}

static void begin(void)
{
	int i;

	device_open();
	need_root();
	if (!dev.pinion)
		skip("it chooses peers otherwise");
	need_command("ip");
	need_command("rdma");
	put_back();
	undo_at_end(put_back);
	must_run("ip netns add beside-0 && ip netns add beside-1");
	must_run("ip link add side0 netns beside-0 type veth"
		 " peer name side1 netns beside-1");
	for (i = 0; i < SIDES; i++)
		must_run("ip -n beside-%d addr add 10.9.7.%d/24 dev side%d &&"
			 " ip -n beside-%d link set side%d up",
			 i, 1 + i, i, i, i);
}

/* What a device is to be, and which peers it then reaches by packets. */
struct kind {
	const char *type;
	int wire;
};

static const struct kind loop = { "pinion-loop", 0 };
static const struct kind packets = { "pinion-auto", 1 };
static const struct kind portless = { "pinion-auto", 0 };

static const char *const nets[SIDES] = { "beside-0", "beside-1" };

/* Make a device at one side, as kinds say. */
static void make(int side, const struct kind *kind)
{
	struct device *device = &sides[side];
	char name[16], address[32];

	must_run("ip netns exec %s rdma link add side%d type %s netdev side%d",
		 nets[side], side, kind->type, side);
	snprintf(name, sizeof(name), "side%d", side);
	device_open_named(device, name, nets[side], -1);
	CHECK_EQ(device->wire, kind->wire);
	snprintf(address, sizeof(address), "::ffff:10.9.7.%d", 1 + side);
	device_use_gid(device, address);
}

/* Somebody else has the UDP port at one side, until this process ends. */
static void take_port(int side)
{
	struct device there = { .net = nets[side] };
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_port = htons(PORT) };
	int holder;

	device_enter(&there);
	holder = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK(holder >= 0);
	CHECK_EQ(bind(holder, (struct sockaddr *)&any, sizeof(any)), 0);
	device_leave(&there);
}

/* A device at each side; at the first, somebody else has the port. */
static void meet(const struct kind *first, const struct kind *second)
{
	begin();
	take_port(0);
	make(0, first);
	make(1, second);
}

/* Does what @a writes arrive at @b? If not, nobody has answered. */
static void check_reach(const struct device *a, const struct device *b,
			bool reached)
{
	struct qp_cfg of_a = { .device = a, .timeout = 10, .retry = 2 };
	struct qp_cfg of_b = { .device = b };
	struct region from, to;
	struct link link;

	link_make2(&link, &of_a, &of_b);
	from = region_reg(a->pd, buf_new(LEN, 5), ALL_ACCESS);
	to = region_reg(b->pd, buf_new(LEN, 6), ALL_ACCESS);
	if (reached) {
		check_write(&link, &from, 1, &to, 3, LEN - 7);
	} else {
		post_rdma(&link.a, IBV_WR_RDMA_WRITE, sge_of(&from, 1, LEN - 7),
			  to.base + 3, to.rkey, 1);
		expect_why(await(link.a.scq), IBV_WC_RETRY_EXC_ERR,
			   PINION_SYN_NO_RESPONSE);
	}
	buf_check(to.buf);
	link_free(&link);
}

/* One sends no packets, and the port is not its business; the other is of this kind: all reach all. */
static void bs1_made_so(const void *kind)
{
	meet(&loop, kind);
	check_reach(&sides[0], &sides[1], true);
	check_reach(&sides[1], &sides[0], true);
}

/* One could not get the port; the other is of this kind: each reaches only itself. */
static void bs2_port_taken(const void *kind)
{
	meet(&portless, kind);
	check_reach(&sides[0], &sides[1], false);
	check_reach(&sides[1], &sides[0], false);
	check_reach(&sides[0], &sides[0], true);
	check_reach(&sides[1], &sides[1], true);
}

static const struct test tests[] = {
	TEST_WITH(bs1_made_so, &loop, "BS1 two that send no packets"),
	TEST_WITH(bs1_made_so, &packets,
		  "BS1 one that sends no packets, one that does"),
	TEST_WITH(bs2_port_taken, &loop,
		  "BS2 the port is taken; the other sends no packets"),
	TEST_WITH(bs2_port_taken, &packets,
		  "BS2 the port is taken; the other has it"),
};

HARNESS_MAIN("Devices in namespaces that a cable joins", tests)
