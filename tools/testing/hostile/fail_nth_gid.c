// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Addresses and groups of a network device that has an RDMA device come and go with their first,
 * second, ... allocation failing, and with allocations of the driver that fail in the workers that
 * follow (items N33 and N34). Needs a kernel with fault injection.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command.h"
#include "netlink.h"
#include "pins.h"
#include "sweep.h"
#include "undo.h"

/* Only this test uses them. */
#define NETDEV "gid-net"
#define NAME "gid0"

static struct link link_, ud;
static int netdev;

static void put_back(void)
{
	if (system("ip link del " NETDEV " 2>/dev/null"))
		return;
}

/* A device of its own, of a @type of link, which is the one under test from now on. */
static void begin(const char *type)
{
	need_root();
	fault_prepare();
	if (!dev.pinion)
		skip("not ours to add");
	need_command("ip");
	need_command("rdma");
	put_back();
	undo_at_end(put_back);
	/* No address comes by itself. */
	must_run(
		"ip link add " NETDEV
		" type veth peer name gid-peer && ip link set " NETDEV
		" addrgenmode none up && ip link set gid-peer up && ip addr add 10.0.79.1/24 dev " NETDEV
		" && rdma link add " NAME " type %s netdev " NETDEV,
		type);
	netdev = if_nametoindex(NETDEV);
	CHECK(netdev);
	opt.device = NAME;
	CHECK(!device_missing());
	device_open();
	CHECK(!strcmp(device_name(), NAME));
}

/* -------------------------------------------------------------------- addresses */

struct address {
	int family;
	const char *text;
	union ibv_gid gid;
};

static struct address address;

static size_t length_of(const struct address *a)
{
	return a->family == AF_INET ? 4 : 16;
}

static void choose(int family, const char *text)
{
	address = (struct address){ .family = family, .text = text };
	if (family == AF_INET)
		address.gid.raw[10] = address.gid.raw[11] = 0xff;
	CHECK_EQ(inet_pton(family, text,
			   address.gid.raw + 16 - length_of(&address)),
		 1);
}

static int change(int type, int flags)
{
	static char room[256] __attribute__((aligned(8)));
	const uint8_t *bytes = address.gid.raw + 16 - length_of(&address);
	struct nlmsghdr *request = mnl_nlmsg_put_header(room);
	struct ifaddrmsg *about;

	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	about = mnl_nlmsg_put_extra_header(request, sizeof(*about));
	*about = (struct ifaddrmsg){
		.ifa_family = address.family,
		.ifa_prefixlen = address.family == AF_INET ? 24 : 64,
		.ifa_flags = address.family == AF_INET6 ? IFA_F_NODAD : 0,
		.ifa_index = netdev,
	};
	mnl_attr_put(request, IFA_LOCAL, length_of(&address), bytes);
	mnl_attr_put(request, IFA_ADDRESS, length_of(&address), bytes);
	return netlink_call_by(NETLINK_ROUTE, request, NULL, NULL);
}

static bool exists(void)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "ip addr show dev " NETDEV " | grep -q ' %s/'", address.text);
	return !system(command);
}

static int try_add(void)
{
	int err = change(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);

	/* Only the answer may have failed. */
	return err && exists() ? 0 : err;
}

static int try_remove(void)
{
	int err = change(RTM_DELADDR, 0);

	return err && !exists() ? 0 : err;
}

static bool has_gid(void)
{
	struct ibv_gid_entry entries[64];
	ssize_t i, count = ibv_query_gid_table(dev.ctx, entries,
					       ARRAY_SIZE(entries), 0);

	CHECK(count >= 0);
	for (i = 0; i < count; i++) {
		if (!memcmp(&entries[i].gid, &address.gid, sizeof(address.gid)))
			return true;
	}
	return false;
}

static void await_no_gid(void)
{
	double limit = now() + patience(60);

	while (has_gid()) {
		if (now() > limit)
			FAIL("%s has gone, its GID has not", address.text);
		usleep(1000);
	}
}

static void remove_address(void)
{
	CHECK_EQ(change(RTM_DELADDR, 0), 0);
	await_no_gid();
}

static void add_again(void)
{
	if (!exists())
		CHECK_EQ(change(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL), 0);
	device_await_gid(&dev, &address.gid);
}

/* What the driver has in memory for each GID. */
static long long endpoints;

static void count_endpoints(void)
{
	endpoints = allocated_by("pinion_peers_add");
}

/* No more of it than before. What has ended is freed after some seconds. */
static void check_endpoints(void)
{
	double limit = now() + patience(20);
	long long are;

	while ((are = allocated_by("pinion_peers_add")) > endpoints) {
		if (now() > limit)
			FAIL("%lld addresses in memory, were %lld", are,
			     endpoints);
		usleep(50000);
		free_collected();
	}
}

/* The address works: messages go from it to itself. */
static void works(void)
{
	struct region a = region_new(20000, 1, ALL_ACCESS);
	struct region b = region_new(20000, 7, ALL_ACCESS);
	union ibv_gid gid = dev.gid;
	int index = dev.gid_index;
	struct link link;

	dev.gid_index = device_await_gid(&dev, &address.gid);
	dev.gid = address.gid;
	link_make(&link, NULL);
	exchange(&link, &a, &b);
	link_free(&link);
	region_free(&a);
	region_free(&b);
	dev.gid = gid;
	dev.gid_index = index;
}

static void sweep_address(int family, const char *text)
{
	choose(family, text);
	sweep(&(struct op){ "add an address", try_add, remove_address,
			    .at_least = 10 });
	CHECK_EQ(try_add(), 0);
	works();
	sweep(&(struct op){ "remove an address", try_remove, add_again,
			    .at_least = 6 });
	add_again();
	works();
	remove_address();
}

/* -------------------------------------------------- other changes of the netdev */

static int mtu = 1500;

static int change_mtu(void)
{
	struct ifreq request = { .ifr_name = NETDEV };
	int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = 0;

	if (file < 0)
		return errno;
	request.ifr_mtu = mtu ^ 1500 ^ 1400;
	if (ioctl(file, SIOCSIFMTU, &request))
		err = errno;
	else
		mtu = request.ifr_mtu;
	close(file);
	return err;
}

static const union ibv_gid group = {
	.raw = { [10] = 0xff, 0xff, 239, 3, 3, 9 }
};

static int attach(void)
{
	return ibv_attach_mcast(ud.a.qp, &group, 0);
}

static void detach(void)
{
	CHECK_EQ(ibv_detach_mcast(ud.a.qp, &group, 0), 0);
}

static int try_detach(void)
{
	return ibv_detach_mcast(ud.a.qp, &group, 0);
}

static void attach_again(void)
{
	CHECK_EQ(attach(), 0);
}

/*
 * Each allocation of adding and removing an address, a group, of another MTU: the address is there
 * or not, and in the end it works.
 */
static void n33_addresses(const void *type)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };

	begin(type);
	link_make(&ud, &cfg);
	sweeps_begin(&link_);
	count_endpoints();
	sweep_address(AF_INET, "10.0.79.7");
	sweep_address(AF_INET6, "fd00:79::7");
	check_endpoints();
	sweep(&(struct op){ "another MTU", change_mtu, NULL, .at_least = 4 });
	sweep(&(struct op){ "enter a group", attach, detach, .at_least = 2 });
	CHECK_EQ(attach(), 0);
	sweep(&(struct op){ "leave a group", try_detach, attach_again,
			    .at_least = 1 });
	attach_again();
	detach();
	sweeps_end(&link_);
}

/* ------------------------------------------------------------------- in workers */

/*
 * Waits until the core's worker has done all it was to do: it goes through changes in their order, and
 * comes to another address last.
 */
static void await_worker(void)
{
	struct address was = address;

	choose(AF_INET, "10.0.79.9");
	CHECK_EQ(change(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL), 0);
	device_await_gid(&dev, &address.gid);
	remove_address();
	address = was;
}

/* The core tells the driver of an address in a worker, and the driver has no memory for it. */
static void fail_in_worker(int family, const char *text)
{
	double limit = now() + patience(60);

	choose(family, text);
	fault_once();
	CHECK_EQ(change(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL), 0);
	while (!fault_once_hit()) {
		if (now() > limit)
			FAIL("the driver was not told of %s", text);
		usleep(1000);
	}
	await_worker();
	CHECK(!has_gid());
	remove_address();
	await_worker();
	CHECK(!has_gid());
	add_again();
	works();
	remove_address();
}

/*
 * The driver has no memory for an address that the core tells it of in a worker: there is no such
 * GID, and when the address is added again, it works.
 */
static void n34_in_workers(const void *type)
{
	int round, rounds = in_short() ? 2 : 5;
	struct region a, b;

	begin(type);
	link_make(&link_, NULL);
	a = region_new(20000, 1, ALL_ACCESS);
	b = region_new(20000, 7, ALL_ACCESS);
	fault_often_prepare("pinion");
	fault_only_in_function("pinion_peers_add");
	count_endpoints();
	/* It has been told of the new device. */
	await_worker();
	for (round = 0; round < rounds; round++) {
		fail_in_worker(AF_INET, "10.0.79.8");
		fail_in_worker(AF_INET6, "fd00:79::8");
	}
	fault_often_end();
	check_endpoints();
	exchange(&link_, &a, &b);
}

static const struct test tests[] = {
	LONG_TEST_WITH(n33_addresses, "pinion",
		       "N33 addresses, groups, MTU of a netdev", 300),
	LONG_TEST_WITH(n33_addresses, "pinion-wire",
		       "N33 the same of a device with packets", 300),
	LONG_TEST_WITH(n34_in_workers, "pinion",
		       "N34 addresses for which a worker has no memory", 300),
};

HARNESS_MAIN("addresses and groups with failing allocations", tests)
