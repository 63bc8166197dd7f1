// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A device that is removed while regions whose memory comes and goes are in use: on
 * demand, and of dma-bufs (items A50 and A72). Traffic ends, the memory may change as
 * before, nothing is left with its exporter, and there is a device again.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dmabuf.h"
#include "link.h"

enum {
	LEN = 60 * 4096,
	ODP_ALL = ALL_ACCESS | IBV_ACCESS_ON_DEMAND,
};

/* A network device and a device of our own, so that nobody misses it. */
#define NETDEV "unplug-net"
#define DEVICE "unplug0"

static void must_run(const char *command)
{
	context("%s", command);
	CHECK_EQ(system(command), 0);
	context("%s", "");
}

static void plug(void)
{
	must_run("rdma link add " DEVICE " type pinion netdev " NETDEV);
}

static void begin(void)
{
	need_root();
	if (!dev.pinion)
		skip("not ours to remove");
	if (system("command -v ip >/dev/null && command -v rdma >/dev/null"))
		skip("neither ip nor rdma here");
	/* A test that failed may have left it. */
	if (system("ip link del " NETDEV " 2>/dev/null"))
		note("a new network device");
	must_run(
		"ip link add " NETDEV
		" type veth peer name unplug-peer && ip link set " NETDEV
		" up && ip link set unplug-peer up && ip addr add 10.0.77.1/24 dev " NETDEV);
	plug();
}

static void end(void)
{
	must_run("ip link del " NETDEV);
}

/* What is shared with the process that uses the device. */
struct shared {
	bool busy; /* messages have been moved */
	bool gone; /* told by who removed it */
};

static struct shared *shared;
static struct link link_;
static struct region all, target;
static struct dmabuf dmabuf;

static bool is_gone(void)
{
	return __atomic_load_n(&shared->gone, __ATOMIC_ACQUIRE);
}

/* false: not any more. */
static bool one_message(uint64_t number)
{
	struct ibv_sge sge = sge_of(&all, 0, LEN);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = number & 1 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { target.base, target.rkey },
	};
	struct ibv_wc wc;
	int n;

	if (try_post(&link_.a, &wr))
		return false;
	do {
		n = ibv_poll_cq(link_.a.scq, 1, &wc);
	} while (!n && !is_gone());
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

static void change_memory(void)
{
	struct ibv_sge sge = sge_of(&target, 0, LEN);

	if (dmabuf.fd >= 0) {
		dmabuf_move(&dmabuf, 0);
	} else {
		CHECK_EQ(madvise(target.buf->data, LEN / 2, MADV_DONTNEED), 0);
		/* A hint that may find nothing any more. */
		ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0,
			      &sge, 1);
	}
	usleep(rnd_below(2000));
}

static void user(void *arg)
{
	const int *kind = arg;
	unsigned long messages = 0, changes = 0;
	pthread_t thread;
	double end;

	opt.device = DEVICE;
	device_open();
	link_make(&link_, NULL);
	all = region_new(LEN, 0, ALL_ACCESS);
	dmabuf.fd = -1;
	if (*kind == 2) {
		dmabuf = dmabuf_own(LEN, 0);
		target = dmabuf_region(&dmabuf, 0, LEN, 0, ALL_ACCESS);
	} else {
		target.buf = buf_new(LEN, 0);
		target = region_of(target.buf,
				   MUST(*kind ? ibv_reg_mr(dev.pd, NULL,
							   SIZE_MAX, ODP_ALL) :
						ibv_reg_mr(dev.pd,
							   target.buf->data,
							   LEN, ODP_ALL)),
				   (uintptr_t)target.buf->data);
	}
	CHECK_EQ(pthread_create(&thread, NULL, traffic, &messages), 0);
	for (; !is_gone(); changes++)
		change_memory();
	pthread_join(thread, NULL);
	/* Nobody watches it any more, and it is ours as before. */
	for (end = now() + 0.2; now() < end;)
		change_memory();
	if (*kind == 2) {
		dmabuf_check_unused(&dmabuf);
	} else {
		buf_fill(target.buf);
		usleep(20000);
		buf_check(target.buf);
	}
	/* What it says does not matter, but that it says something. */
	ibv_dereg_mr(target.mr);
	note("%lu messages, %lu changes", messages, changes);
}

static void unplug(int kind)
{
	int round, pid;

	begin();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	for (round = 0; round < 5; round++) {
		memset(shared, 0, sizeof(*shared));
		pid = spawn(user, &kind);
		while (!__atomic_load_n(&shared->busy, __ATOMIC_ACQUIRE))
			usleep(1000);
		usleep(rnd_below(200000));
		must_run("rdma link del " DEVICE);
		__atomic_store_n(&shared->gone, true, __ATOMIC_RELEASE);
		reap_ok(pid);
		plug();
	}
	end();
}

static void a50_explicit(void)
{
	need_odp();
	unplug(0);
}

static void a50_implicit(void)
{
	need_odp();
	unplug(1);
}

static void a72_dmabuf(void)
{
	need_exporter();
	unplug(2);
}

static const struct test tests[] = {
	LONG_TEST(a50_explicit, "A50 the device goes, explicit", 90),
	LONG_TEST(a50_implicit, "A50 the device goes, implicit", 90),
	LONG_TEST(a72_dmabuf, "A72 the device goes, dma-bufs", 90),
};

HARNESS_MAIN("Devices removed under regions that change", tests)
