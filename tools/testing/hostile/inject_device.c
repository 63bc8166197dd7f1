// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A port that goes down and a device that breaks, by order (items IN60 to IN64;
 * kernel/dev/force.c): the events, what no longer works, and that nothing is left behind.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "orders.h"
#include "unplug.h"

#define FILES "/sys/kernel/debug/pinion/" UNPLUG_DEVICE

enum { LENGTH = 4096 };

static struct link link_;
static struct region own, remote;

/* Return: 0 or an errno. */
static int force(const char *file, const char *word)
{
	return file_write(word, FILES "/%s", file);
}

static char forced(const char *file)
{
	char path[128], word = 0;
	int fd;

	snprintf(path, sizeof(path), FILES "/%s", file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_EQ(read(fd, &word, 1), 1);
	close(fd);
	return word;
}

static void begin_here(void *arg)
{
	(void)arg;
	opt.device = UNPLUG_DEVICE;
	opt.gid_index = -1;
	device_open();
}

static void begin_link(void)
{
	struct qp_cfg cfg = { .timeout = 8, .retry = 2 };

	begin_here(NULL);
	link_make(&link_, &cfg);
	own = region_new(LENGTH, 50, ALL_ACCESS);
	remote = region_new(LENGTH, 7, ALL_ACCESS);
}

static void await_event(enum ibv_event_type type)
{
	struct pollfd ready = { .fd = dev.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	/* Others come, too: of addresses, and of queue pairs that were broken before. */
	do {
		CHECK_EQ(poll(&ready, 1, patience(20) * 1000), 1);
		CHECK_EQ(ibv_get_async_event(dev.ctx, &event), 0);
		ibv_ack_async_event(&event);
	} while (event.event_type != type);
}

static enum ibv_port_state port_state(void)
{
	struct ibv_port_attr attr;

	CHECK_EQ(ibv_query_port(dev.ctx, 1, &attr), 0);
	return attr.state;
}

static struct ibv_wc write_one(void)
{
	return rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&own, 0, LENGTH),
		    remote.base, remote.rkey);
}

static void no_event(void)
{
	struct pollfd ready = { .fd = dev.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	while (poll(&ready, 1, 300) == 1) {
		CHECK_EQ(ibv_get_async_event(dev.ctx, &event), 0);
		ibv_ack_async_event(&event);
		CHECK(event.event_type != IBV_EVENT_PORT_ERR &&
		      event.event_type != IBV_EVENT_PORT_ACTIVE);
	}
}

/* The whole test runs in a child, since it opens another device than the harness. */
static void port(void *arg)
{
	(void)arg;
	begin_link();
	check_write(&link_, &own, 0, &remote, 0, LENGTH);
	CHECK_EQ(port_state(), IBV_PORT_ACTIVE);
	CHECK_EQ(force("port", "down"), 0);
	CHECK_EQ(forced("port"), 'd');
	await_event(IBV_EVENT_PORT_ERR);
	CHECK_EQ(port_state(), IBV_PORT_DOWN);
	expect(write_one(), IBV_WC_RETRY_EXC_ERR);
	/* Saying so again is nothing new. */
	CHECK_EQ(force("port", "down\n"), 0);
	no_event();
	CHECK_EQ(force("port", "up\n"), 0);
	CHECK_EQ(forced("port"), 'u');
	await_event(IBV_EVENT_PORT_ACTIVE);
	CHECK_EQ(port_state(), IBV_PORT_ACTIVE);
	link_renew(&link_);
	check_write(&link_, &own, 0, &remote, 0, LENGTH);
}

static void begin(void)
{
	orders_begin();
	unplug_begin();
}

/* A port goes down and up by order: programs are told, and wrong orders are refused. */
static void in60_port(void)
{
	begin();
	reap_ok(spawn(port, NULL));
	CHECK_EQ(force("port", "sideways"), EINVAL);
	CHECK_EQ(force("port", "down and up"), EINVAL);
	unplug_end();
}

/* The device goes with its port down: the next one of the name is up. */
static void in61_port_and_gone(void)
{
	begin();
	CHECK_EQ(force("port", "down"), 0);
	CHECK_EQ(system("rdma link del " UNPLUG_DEVICE), 0);
	unplug_add();
	CHECK_EQ(forced("port"), 'u');
	reap_ok(spawn(port, NULL));
	unplug_end();
}

static void flushed(struct ibv_cq *cq, uint64_t wr_id)
{
	struct ibv_wc wc = await(cq);

	expect(wc, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(wc.wr_id, wr_id);
}

/* What a program sees of a device that breaks, as of mlx5's. */
static void fatal(void *arg)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct buf *buf;
	struct ibv_sge sink;

	(void)arg;
	begin_link();
	check_write(&link_, &own, 0, &remote, 0, LENGTH);
	buf = buf_new(LENGTH, 0);
	sink = sge_of(&remote, 0, LENGTH);
	post_recv(&link_.b, &sink, 1, 4711);
	CHECK_EQ(force("fatal", "1"), 0);
	CHECK_EQ(forced("fatal"), '1');
	await_event(IBV_EVENT_DEVICE_FATAL);
	CHECK_EQ(port_state(), IBV_PORT_DOWN);
	flushed(link_.b.rcq, 4711);
	end_await_state(&link_.a, IBV_QPS_ERR);
	end_await_state(&link_.b, IBV_QPS_ERR);
	/* Nothing moves. */
	buf_fill(own.buf);
	expect(write_one(), IBV_WC_WR_FLUSH_ERR);
	CHECK(memcmp(own.buf->data, remote.buf->data, LENGTH));
	/* Nothing can be made or mended, nothing opened. */
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, LENGTH, ALL_ACCESS), EIO);
	MUST_NOT(ibv_create_cq(dev.ctx, 10, NULL, NULL, 0), EIO);
	MUST_NOT(ibv_alloc_pd(dev.ctx), EIO);
	MUST_NOT(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2), EIO);
	MUST_NOT(ibv_open_device(dev.ctx->device), EAGAIN);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RESET), 0);
	CHECK_EQ(ibv_modify_qp(link_.a.qp, &attr,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       IBV_QP_ACCESS_FLAGS),
		 EIO);
	CHECK_EQ(force("port", "up"), EIO);
	CHECK_EQ(force("fatal", "1\n"), 0);
	/* All that there is can be ended. */
	link_free(&link_);
	CHECK_EQ(ibv_dereg_mr(own.mr), 0);
	CHECK_EQ(ibv_dereg_mr(remote.mr), 0);
	CHECK_EQ(ibv_dealloc_pd(dev.pd), 0);
	CHECK_EQ(ibv_close_device(dev.ctx), 0);
	_exit(0);
}

/* A device breaks by order, stays broken until it is removed, and a new one works. */
static void in62_fatal(void)
{
	begin();
	reap_ok(spawn(fatal, NULL));
	CHECK_EQ(force("fatal", "0"), EINVAL);
	CHECK_EQ(system("rdma link del " UNPLUG_DEVICE), 0);
	unplug_add();
	CHECK_EQ(forced("fatal"), '0');
	reap_ok(spawn(port, NULL));
	unplug_end();
}

/* Messages go all the time while it breaks; their end is an error, and comes. */
static void traffic(void *arg)
{
	int *told = arg;
	struct ibv_wc wc;
	char byte = 1;
	int i = 0;

	begin_link();
	do {
		wc = write_one();
		if (i++ == 100)
			CHECK_EQ(write(told[1], &byte, 1), 1);
	} while (wc.status == IBV_WC_SUCCESS);
	CHECK(wc.status == IBV_WC_WR_FLUSH_ERR ||
	      wc.status == IBV_WC_RETRY_EXC_ERR);
	end_await_state(&link_.a, IBV_QPS_ERR);
}

/* A device breaks under traffic: programs are told and end. */
static void in63_fatal_in_traffic(void)
{
	int told[2], pids[2], i;
	char byte;

	begin();
	CHECK_EQ(pipe(told), 0);
	for (i = 0; i < 2; i++)
		pids[i] = spawn(traffic, told);
	for (i = 0; i < 2; i++)
		CHECK_EQ(read(told[0], &byte, 1), 1);
	CHECK_EQ(force("fatal", "1"), 0);
	for (i = 0; i < 2; i++)
		reap_ok(pids[i]);
	unplug_end();
}

static void as_nobody(void *arg)
{
	(void)arg;
	CHECK_EQ(setuid(65534), 0);
	CHECK_EQ(force("port", "down"), EACCES);
	CHECK_EQ(force("fatal", "1"), EACCES);
}

/* Only root breaks a device or its port. */
static void in64_root(void)
{
	begin();
	reap_ok(spawn(as_nobody, NULL));
	CHECK_EQ(forced("port"), 'u');
	CHECK_EQ(forced("fatal"), '0');
	unplug_end();
}

static const struct test tests[] = {
	LONG_TEST(in60_port, "IN60 a port goes down", 90),
	LONG_TEST(in61_port_and_gone,
		  "IN61 a port is down, and the device goes", 90),
	LONG_TEST(in62_fatal, "IN62 a device breaks", 90),
	LONG_TEST(in63_fatal_in_traffic, "IN63 a device breaks in traffic", 90),
	LONG_TEST(in64_root, "IN64 root's alone", 90),
};

ORDERS_MAIN("Ports and devices that fail by order", tests)
