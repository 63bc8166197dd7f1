// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A network namespace ends that has a device, while no allocation of the driver succeeds (item N43),
 * or while its network device goes (N44). It ends in a worker: the core moves the device to the first
 * namespace, with all its clients, and then its network device goes. N43 needs a kernel with
 * fault injection.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "fault.h"
#include "link.h"
#include "rdma_tool.h"
#include "resources.h"
#include "undo.h"

/* Only this test uses them. */
#define NETNS "fault-netns"
#define NETDEV "fault-ns0"
#define NAME "faultns0"

static void put_back(void)
{
	int tries;

	CHECK(system("ip netns del " NETNS " 2>/dev/null; ip link del " NETDEV
		     " 2>/dev/null") >= 0);
	/* Refused while the namespace ends. */
	for (tries = 0; tries < 600; tries++) {
		if (!system("rdma system set netns shared 2>/dev/null"))
			return;
		usleep(100000);
	}
}

static bool netdev_exists(void)
{
	return !access("/sys/class/net/" NETDEV, F_OK);
}

/* Of the devices that stay. */
static int parents;

/*
 * In this mode a device is in the namespace of its network device. The other end of that is in the first
 * namespace, and goes with it.
 */
static void make(const char *type)
{
	must_run("ip netns add " NETNS " && ip link add " NETDEV
		 " type veth peer name in netns " NETNS
		 " && ip link set " NETDEV " up");
	must_run("ip -n " NETNS " link set in up && ip -n " NETNS
		 " addr add 10.0.81.1/24 dev in && ip netns exec " NETNS
		 " rdma link add " NAME " type %s netdev in",
		 type);
	CHECK(device_parents() > parents);
}

/* The namespace ends some time after its name, and a device some time after its network device. */
static void await_end(void)
{
	double limit = now() + patience(60);

	while (netdev_exists() || device_parents() != parents) {
		if (now() > limit)
			FAIL("the namespace has gone; %d parents of devices, were %d; the network device is %s",
			     device_parents(), parents,
			     netdev_exists() ? "there" : "not");
		usleep(5000);
	}
}

static void end_namespace(void)
{
	must_run("ip netns del " NETNS);
	await_end();
}

static void begin(void)
{
	need_rdma_tool();
	need_command("ip");
	put_back();
	undo_at_end(put_back);
	if (rdma_does("system set netns exclusive"))
		skip("there is another namespace");
	parents = device_parents();
}

/*
 * The driver has no memory while the namespace of a device ends: the device goes all the same, and
 * nothing of it is left.
 */
static void n43_namespace(const void *type)
{
	int round, rounds = in_short() ? 2 : 10;
	uint64_t hits, least = UINT64_MAX;
	struct region a, b;
	struct link link;

	if (!dev.pinion)
		skip("not ours to add");
	fault_often_prepare("pinion");
	begin();
	link_make(&link, NULL);
	a = region_new(20000, 1, ALL_ACCESS);
	b = region_new(20000, 7, ALL_ACCESS);
	for (round = 0; round < rounds; round++) {
		fault_often_prepare("pinion");
		make(type);
		fault_often(100);
		end_namespace();
		hits = fault_often_end();
		/* That of the queue pair of a client, at least. */
		CHECK(hits > 0);
		least = hits < least ? hits : least;
	}
	note("%llu allocations failed each time, or more",
	     (unsigned long long)least);
	make(type);
	end_namespace();
	exchange(&link, &a, &b);
}

/*
 * While the namespace of a device ends, its network device goes, which is asked for outside: at any time,
 * also when the core has taken the device out of one namespace and has not yet put it into the other. Then
 * nobody finds the device; but the kernel says again each second that the network device goes.
 */
static void n44_netdev(void)
{
	int round, least = in_short() ? 10 : 200, late = 0;
	unsigned int delay = 40000; /* microseconds, at most */

	if (!dev.pinion)
		skip("not ours to add");
	begin();
	/* The few times of a short run may all be of one kind: then there are more. */
	for (round = 0;
	     round < least || ((!late || late == round) && round < 200);
	     round++) {
		make("pinion");
		must_run("ip netns del " NETNS);
		usleep(rnd_below((uint64_t)delay * slow()));
		late += !!system("ip link del " NETDEV " 2>/dev/null");
		await_end();
		/* The namespace ends sooner or later than on other machines? */
		if (!late && delay < 2000000)
			delay *= 2;
		else if (late > round && delay > 1000)
			delay /= 2;
	}
	note("%d times of %d the namespace had taken it along", late, round);
	CHECK(late > 0 && late < round);
}

static const struct test tests[] = {
	LONG_TEST_WITH(n43_namespace, "pinion",
		       "N43 the end of a namespace with a device", 300),
	LONG_TEST_WITH(n43_namespace, "pinion-mlx5",
		       "N43 with one that speaks mlx5's ABI", 300),
	LONG_TEST_WITH(n43_namespace, "pinion-wire",
		       "N43 with one that has packets", 300),
	LONG_TEST(n44_netdev, "N44 a network device goes meanwhile", 300),
};

HARNESS_MAIN("namespaces that end while allocations fail", tests)
