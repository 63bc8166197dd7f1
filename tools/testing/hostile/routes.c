// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Where messages are packets, a connection keeps its route. It must lose it when the routing of the
 * host, or its own address, changes (items RO1 to RO3).
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>

#include "command.h"
#include "link.h"

enum { LEN = 50000 };

static struct link link_;
static struct region out, in;
static char address[INET6_ADDRSTRLEN], netdev[IF_NAMESIZE];

/* Use the address of this family for what is connected from now on. */
static void use_family(int family)
{
	struct ibv_gid_entry entry =
		device_use_address(&dev, family == AF_INET6);

	inet_ntop(family, entry.gid.raw + (family == AF_INET ? 12 : 0), address,
		  sizeof(address));
	CHECK(if_indextoname(entry.ndev_ifindex, netdev));
}

static void begin(int family, int timeout)
{
	struct qp_cfg cfg = { .timeout = timeout };

	device_open();
	need_root();
	if (!dev.packets)
		skip("no packets to peers on this host");
	use_family(family);
	link_make(&link_, &cfg);
	out = region_new(LEN, 77, ALL_ACCESS);
	in = region_new(LEN, 1234, ALL_ACCESS);
	/* Both ends have a route then. */
	check_write(&link_, &out, 0, &in, 0, LEN);
}

/*
 * Add or delete (@verb) the route by which the device reaches itself. Without it packets leave by
 * the netdev, where nobody has the address.
 */
static void route(const char *verb)
{
	must_run("ip route %s table local local %s dev %s proto kernel", verb,
		 address, netdev);
}

/* A route goes, and comes back while the packets are still sent again. */
static void ro1_comes_back(int family)
{
	begin(family, 17);
	route("del");
	post_rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&out, 3, 777), in.base,
		  in.rkey, 0);
	expect_none(link_.a.scq, 0.05);
	route("add");
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	memcpy(in.buf->want, out.buf->want + 3, 777);
	buf_check(in.buf);
	check_read(&link_, &out, 5, &in, 0, LEN - 5);
}

/* A route goes for good: no answer comes. A later connection has a route again. */
static void ro2_stays_away(int family)
{
	begin(family, 10);
	route("del");
	expect_why(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&out, 3, 777),
			in.base, in.rkey),
		   IBV_WC_RETRY_EXC_ERR, PINION_SYN_NO_RESPONSE);
	buf_check(out.buf);
	route("add");
	link_renew(&link_);
	check_read(&link_, &out, 5, &in, 0, LEN - 5);
}

/* Queue pairs that are connected anew, by addresses of the other family. */
static void ro3_other_family(void)
{
	int i;

	begin(AF_INET, 14);
	for (i = 0; i < 4; i++) {
		use_family(i & 1 ? AF_INET : AF_INET6);
		link_renew(&link_);
		check_write(&link_, &out, 0, &in, 0, LEN);
		check_read(&link_, &out, 5, &in, 0, LEN - 5);
	}
}

static const struct test tests[] = {
	TEST_OF(ro1_comes_back, AF_INET, "RO1 a route goes and comes back"),
	TEST_OF(ro1_comes_back, AF_INET6,
		"RO1 a route goes and comes back, IPv6"),
	TEST_OF(ro2_stays_away, AF_INET, "RO2 a route goes"),
	TEST_OF(ro2_stays_away, AF_INET6, "RO2 a route goes, IPv6"),
	TEST(ro3_other_family, "RO3 another family of addresses"),
};

HARNESS_MAIN("Routes of connections", tests)
