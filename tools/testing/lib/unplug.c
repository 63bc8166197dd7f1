// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Adds and removes a device, and keeps it busy in between.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command.h"
#include "undo.h"
#include "unplug.h"

/* Names of a network device and an RDMA device that only this test uses. */
#define NETDEV "unplug-net"

void unplug_add(void)
{
	must_run("rdma link add " UNPLUG_DEVICE " type pinion netdev " NETDEV);
}

static void put_back(void)
{
	if (!system("ip link del " NETDEV " 2>/dev/null"))
		note("its network device was left");
}

void unplug_begin(void)
{
	need_root();
	if (!dev.pinion)
		skip("not ours to remove");
	need_command("ip");
	need_command("rdma");
	put_back();
	undo_at_end(put_back);
	must_run(
		"ip link add " NETDEV
		" type veth peer name unplug-peer && ip link set " NETDEV
		" up && ip link set unplug-peer up && ip addr add 10.0.77.1/24 dev " NETDEV);
	unplug_add();
}

void unplug_end(void)
{
	must_run("ip link del " NETDEV);
}

/* Memory shared with the process that uses the device. */
struct shared {
	bool busy; /* messages have been moved */
	bool going; /* it is being removed; until then no message fails */
	bool gone; /* set by the process that removed it */
};

static struct shared *shared;
static struct link link_;
static struct region all, target;

static bool is_gone(void)
{
	return __atomic_load_n(&shared->gone, __ATOMIC_ACQUIRE);
}

static bool is_going(void)
{
	return __atomic_load_n(&shared->going, __ATOMIC_ACQUIRE);
}

/* Returns false if the device is gone. */
static bool one_message(uint64_t number)
{
	struct ibv_sge sge = sge_of(&all, 0, UNPLUG_LENGTH);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = number & 1 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { target.base, target.rkey },
	};
	struct ibv_wc wc;
	int n;

	if (try_post(&link_.a, &wr)) {
		CHECK(is_going());
		return false;
	}
	do {
		n = ibv_poll_cq(link_.a.scq, 1, &wc);
	} while (!n && !is_gone());
	if (n == 1 && !is_going())
		expect(wc, IBV_WC_SUCCESS);
	return n == 1 && wc.status == IBV_WC_SUCCESS;
}

static void *traffic(void *arg)
{
	unsigned long *messages = arg;

	while (one_message(*messages)) {
		++*messages;
		__atomic_store_n(&shared->busy, true, __ATOMIC_RELEASE);
	}
	if (!*messages)
		FAIL("there never was a message");
	return NULL;
}

static void change(const struct unplug_kind *kind)
{
	if (kind->change)
		kind->change(&target);
	usleep(rnd_below(2000));
}

static void user(void *arg)
{
	const struct unplug_kind *kind = arg;
	unsigned long messages = 0, changes = 0;
	pthread_t thread;
	double until;

	opt.device = UNPLUG_DEVICE;
	device_open();
	link_make(&link_, NULL);
	all = region_new(UNPLUG_LENGTH, 0, ALL_ACCESS);
	kind->make(&target);
	CHECK_EQ(pthread_create(&thread, NULL, traffic, &messages), 0);
	for (; !is_gone(); changes++)
		change(kind);
	pthread_join(thread, NULL);
	/* No driver watches the memory any more. Changing it must still work. */
	for (until = now() + 0.2; now() < until;)
		change(kind);
	kind->end(&target);
	note("%lu messages, %lu changes", messages, changes);
}

void unplug(const struct unplug_kind *kind)
{
	int round, rounds = in_short() ? 2 : 5, pid;

	unplug_begin();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	for (round = 0; round < rounds; round++) {
		memset(shared, 0, sizeof(*shared));
		pid = spawn(user, (void *)kind);
		while (!__atomic_load_n(&shared->busy, __ATOMIC_ACQUIRE))
			usleep(1000);
		usleep(rnd_below(200000));
		__atomic_store_n(&shared->going, true, __ATOMIC_RELEASE);
		must_run("rdma link del " UNPLUG_DEVICE);
		__atomic_store_n(&shared->gone, true, __ATOMIC_RELEASE);
		reap_ok(pid);
		unplug_add();
	}
	unplug_end();
}
