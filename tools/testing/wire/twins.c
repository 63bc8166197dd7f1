// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two cables to another host, whose ends have the same link-local addresses: what comes by a cable is
 * for the device at its end, and a sender is who has his address on that cable (items TW1 and TW2).
 */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "link.h"
#include "undo.h"

enum { CABLES = 2, LEN = 30000, BYTES = 300, GRH = 40 };

#define THERE "twins-there"

/*
 * The first end here sends all as packets, the second only those to other hosts: so what the second
 * sends to a group has been delivered here, and what comes from its address on the first cable has not.
 */
static const char *const types[CABLES] = { "pinion-wire", "pinion-auto" };

static struct device here[CABLES], there[CABLES];
static struct link link_;

static void put_back(void)
{
	if (system("ip link del twin0 2>/dev/null; ip link del twin1 2>/dev/null;"
		   " ip netns del " THERE " 2>/dev/null"))
		return;
}

/* A cable: both ends have an address that is the same on each, and one of the other cable's other end. */
static void cable(int i)
{
	must_run("ip link add twin%d address 02:00:00:00:01:0%d type veth"
		 " peer name there%d address 02:00:00:00:02:0%d netns " THERE,
		 i, i, i, i);
	must_run("ip link set twin%d up && ip -n " THERE " link set there%d up",
		 i, i);
	must_run("for a in a %d; do ip addr add fe80::$a/64 dev twin%d nodad &&"
		 " ip -n " THERE " neigh add fe80::$a dev there%d nud permanent"
		 " lladdr 02:00:00:00:01:0%d; done",
		 1 + i, i, i, i);
	must_run("for a in b %d; do ip -n " THERE
		 " addr add fe80::$a/64 dev there%d nodad &&"
		 " ip neigh add fe80::$a dev twin%d nud permanent"
		 " lladdr 02:00:00:00:02:0%d; done",
		 2 - i, i, i, i);
	must_run("rdma link add twin%d type %s netdev twin%d", i, types[i], i);
	must_run("ip netns exec " THERE
		 " rdma link add there%d type pinion-auto netdev there%d",
		 i, i);
}

static void begin(void)
{
	char name[2][16];
	int i;

	device_open();
	need_root();
	if (!dev.pinion)
		skip("it chooses addresses otherwise");
	need_command("ip");
	need_command("rdma");
	put_back();
	undo_at_end(put_back);
	must_run("ip netns add " THERE);
	for (i = 0; i < CABLES; i++) {
		cable(i);
		snprintf(name[0], sizeof(name[0]), "twin%d", i);
		snprintf(name[1], sizeof(name[1]), "there%d", i);
		device_open_named(&here[i], name[0], NULL, -1);
		device_open_named(&there[i], name[1], THERE, -1);
	}
}

/* Bytes go both ways. */
static void talk(const struct device *a, const struct device *b)
{
	struct qp_cfg of_a = { .device = a }, of_b = { .device = b };
	struct region at_a, at_b;

	link_make2(&link_, &of_a, &of_b);
	at_a = region_reg(a->pd, buf_new(LEN, 5), ALL_ACCESS);
	at_b = region_reg(b->pd, buf_new(LEN, 6), ALL_ACCESS);
	check_write(&link_, &at_a, 1, &at_b, 3, LEN - 7);
	check_read(&link_, &at_a, 0, &at_b, 2, LEN - 9);
	buf_check(at_a.buf);
	buf_check(at_b.buf);
	link_free(&link_);
}

/* Connections by each cable, between addresses that both cables have. */
static void tw1_twins(void)
{
	int i;

	begin();
	for (i = 0; i < CABLES; i++) {
		context("cable %d", i);
		device_use_gid(&here[i], "fe80::a");
		device_use_gid(&there[i], "fe80::b");
		talk(&there[i], &here[i]);
		talk(&here[i], &there[i]);
	}
}

/* A device sends packets to itself, by an address that another device has, too: they find it. */
static void tw1_itself(void)
{
	begin();
	device_use_gid(&here[0], "fe80::a");
	CHECK(here[0].packets);
	talk(&here[0], &here[0]);
}

static const union ibv_gid group = { .raw = { 0xff, 0x12, [15] = 0x77 } };

struct member {
	struct end end;
	struct region in;
};

static void member_make(struct member *member, const struct device *device)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD, .device = device };
	struct ibv_sge sink;

	end_make(&member->end, &cfg);
	end_init(&member->end);
	CHECK_EQ(end_to_rtr(&member->end, &(struct peer){ .gid = group }), 0);
	CHECK_EQ(ibv_attach_mcast(member->end.qp, &group, 0), 0);
	member->in =
		region_reg(device->pd, buf_new(GRH + BYTES, 7), ALL_ACCESS);
	sink = sge_of(&member->in, 0, GRH + BYTES);
	post_recv(&member->end, &sink, 1, 1);
}

/* Sends a datagram to the group from @device, and expects it at @to and not at @other. */
static void tell(const struct device *device, struct member *to,
		 struct member *other)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD, .device = device };
	struct region out;
	struct ibv_wc wc;
	struct end end;

	end_make(&end, &cfg);
	end_init(&end);
	end_connect(&end, &(struct peer){ .gid = group });
	out = region_reg(device->pd, buf_new(BYTES, 8), ALL_ACCESS);
	expect(send_ud(&end, sge_of(&out, 0, BYTES), end.ah, 0xffffff, QKEY),
	       IBV_WC_SUCCESS);
	if (!comes_within(to->end.rcq, patience(5), &wc))
		FAIL("the member has not heard it");
	expect(wc, IBV_WC_SUCCESS);
	CHECK_EQ(wc.byte_len, GRH + BYTES);
	CHECK_EQ(wc.src_qp, end.qp->qp_num);
	CHECK(!memcmp(to->in.buf->data + GRH, out.buf->data, BYTES));
	expect_none(to->end.rcq, 0.1);
	expect_none(other->end.rcq, 0);
}

/* Somebody has an address on one cable that our device has on the other: his datagrams are his. */
static void tw2_group(int i)
{
	struct member members[CABLES];

	begin();
	member_make(&members[i], &here[i]);
	member_make(&members[!i], &here[!i]);
	device_use_gid(&there[i], i ? "fe80::1" : "fe80::2");
	tell(&there[i], &members[i], &members[!i]);
}

/*
 * A device sends as packets what is to a group, from an address that another device has, too, which
 * would not: it is delivered, once.
 */
static void tw2_itself(void)
{
	struct member members[CABLES];

	begin();
	member_make(&members[0], &here[0]);
	member_make(&members[1], &here[1]);
	device_use_gid(&here[0], "fe80::a");
	tell(&here[0], &members[0], &members[1]);
}

static const struct test tests[] = {
	TEST(tw1_twins, "TW1 two cables with the same addresses"),
	TEST(tw1_itself, "TW1 packets to itself by such an address"),
	TEST_OF(tw2_group, 0,
		"TW2 a group's datagram from an address of ours on another cable"),
	TEST_OF(tw2_group, 1,
		"TW2 a group's datagram from such an address that sends packets only"),
	TEST(tw2_itself, "TW2 a group's datagram to itself"),
};

HARNESS_MAIN("Two cables with the same addresses", tests)
