// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Each kind of failure, ordered by pinionctl (items CT70 to CT72): it happens once, as ordered,
 * and afterwards all works. hostile/inject*.c tests each kind in all cases.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "dmabuf.h"
#include "link.h"
#include "orders.h"
#include "resources.h"
#include "tool.h"

enum { LENGTH = 5 * PAGE };

static struct link link_;
static struct region own, remote, paged;

/* ------------------------------------------------------------------ what can fail */

/* A system call that can fail. Returns its errno, or 0. */
static int register_(int access)
{
	struct ibv_mr *mr = ibv_reg_mr(dev.pd, own.buf->data, LENGTH, access);

	if (!mr)
		return errno;
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	return 0;
}

static int register_pinned(void)
{
	return register_(ALL_ACCESS);
}

static int register_on_demand(void)
{
	return register_(ODP_ALL);
}

static int make_cq(void)
{
	struct ibv_cq *cq = ibv_create_cq(dev.ctx, 10, NULL, NULL, 0);

	if (!cq)
		return errno;
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	return 0;
}

static int register_dmabuf(void)
{
	struct dmabuf dmabuf;
	struct ibv_mr *mr;
	int err = 0;

	need_exporter();
	dmabuf = dmabuf_own(LENGTH, 0);
	mr = ibv_reg_dmabuf_mr(dev.pd, 0, LENGTH, 0, dmabuf.fd, ALL_ACCESS);
	if (mr)
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	else
		err = errno;
	dmabuf_check_unused(&dmabuf);
	dmabuf_free(&dmabuf);
	return err;
}

/* A message that can fail. Returns the status of its completion. */
static int write_to(const struct region *region)
{
	return rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&own, 3, LENGTH - 100),
		    region->base, region->rkey)
		.status;
}

static int write_(void)
{
	return write_to(&remote);
}

static int write_what_is_there(void)
{
	CHECK_EQ(write_to(&paged), IBV_WC_SUCCESS);
	return write_to(&paged);
}

static int write_what_is_not_there(void)
{
	buf_forget(paged.buf);
	return write_to(&paged);
}

static int overflow(void)
{
	struct ibv_async_event event;

	post_rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&own, 0, 100),
		  remote.base, remote.rkey, 0);
	/* Events of queue pairs that broke earlier may come first. */
	do {
		CHECK_EQ(ibv_get_async_event(dev.ctx, &event), 0);
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_CQ_ERR);
	end_await_state(&link_.a, IBV_QPS_ERR);
	return event.event_type;
}

/* Make a new region, because orders for sizes of tables or spans affect only new ones. */
static int make_and_write(int access)
{
	struct region region = region_new(LENGTH, 100, access);
	int status = write_to(&region);

	CHECK(!memcmp(region.buf->data, own.buf->data + 3, LENGTH - 100));
	region_free(&region);
	return status;
}

static int make_pinned(void)
{
	return make_and_write(ALL_ACCESS);
}

static int make_on_demand(void)
{
	need_odp();
	return make_and_write(ODP_ALL);
}

/* ------------------------------------------------------------------ the kinds */

enum { OF_MESSAGES = 1, OF_PACKETS = 2, ON_DEMAND = 4, BREAKS_CQ = 8 };

static const struct knob {
	const char *words; /* of the order, without the pid or number */
	int (*act)(void);
	int result;
	int flags;
} knobs[] = {
	{ "pin errno EIO", register_pinned, EIO, 0 },
	{ "watch errno ENODEV", register_on_demand, ENODEV, ON_DEMAND },
	{ "table", register_pinned, ENOMEM, 0 },
	{ "key errno ENFILE", register_pinned, ENFILE, 0 },
	{ "copy-out", make_cq, EFAULT, 0 },
	{ "attach", register_dmabuf, ENODEV, 0 },
	{ "map errno EBUSY", register_dmabuf, EBUSY, 0 },
	{ "fault", write_what_is_not_there, IBV_WC_REM_ACCESS_ERR, ON_DEMAND },
	{ "fault errno EAGAIN", write_what_is_not_there, IBV_WC_SUCCESS,
	  ON_DEMAND },
	{ "fault-delay us 1000", write_what_is_not_there, IBV_WC_SUCCESS,
	  ON_DEMAND },
	{ "invalidate", write_what_is_there, IBV_WC_SUCCESS, ON_DEMAND },
	{ "leaf size 2", make_pinned, IBV_WC_SUCCESS, 0 },
	{ "span size 2", make_on_demand, IBV_WC_SUCCESS, ON_DEMAND },
	{ "batch size 1", make_on_demand, IBV_WC_SUCCESS, ON_DEMAND },
	{ "status status remote-operation-error", write_, IBV_WC_REM_OP_ERR,
	  OF_MESSAGES },
	{ "fatal", write_, IBV_WC_WR_FLUSH_ERR, OF_MESSAGES },
	{ "late us 1000", write_, IBV_WC_SUCCESS, OF_MESSAGES },
	{ "loss", write_, IBV_WC_SUCCESS, OF_MESSAGES },
	{ "rnr", write_, IBV_WC_SUCCESS, OF_MESSAGES },
	{ "corrupt", write_, IBV_WC_SUCCESS, OF_PACKETS },
	{ "duplicate", write_, IBV_WC_SUCCESS, OF_PACKETS },
	{ "reorder", write_, IBV_WC_SUCCESS, OF_PACKETS },
	{ "hold ms 20", write_, IBV_WC_SUCCESS, OF_MESSAGES },
	{ "overflow", overflow, IBV_EVENT_CQ_ERR, OF_MESSAGES | BREAKS_CQ },
};

static void make_link(void)
{
	struct qp_cfg cfg = { .timeout = 8, .retry = 7 };

	link_make(&link_, &cfg);
}

static void begin(void)
{
	orders_begin();
	make_link();
	own = region_new(LENGTH, 50, ALL_ACCESS);
	remote = region_new(LENGTH, 7, ALL_ACCESS);
	if (dev.attr.odp_caps.general_caps & IBV_ODP_SUPPORT)
		paged = region_new(LENGTH, 7, ODP_ALL);
}

static bool is_here(const struct knob *knob)
{
	if (knob->flags & OF_PACKETS)
		return dev.packets;
	if (knob->act == register_dmabuf)
		return !access("/dev/pinion_exporter", F_OK);
	return !(knob->flags & ON_DEMAND) || paged.mr;
}

static void try_knob(const struct knob *knob)
{
	struct resources before;

	resources_read(&before);
	if (knob->flags & (OF_MESSAGES | OF_PACKETS))
		tool_says("inject %s qp %u", knob->words, link_.a.qp->qp_num);
	else
		tool_says("inject %s pid %d", knob->words, getpid());
	context("%s", knob->words);
	CHECK_EQ(knob->act(), knob->result);
	if (!strstr(tool_says("-j inject"), "\"failed\":1}"))
		FAIL("%s", tool_says("-j inject"));
	CHECK_EQ(tool("inject off").status, 0);
	CHECK_EQ(tool_lines(tool_says("inject")), 1);
	resources_await(&before);
	if (knob->flags & BREAKS_CQ) {
		link_free(&link_);
		make_link();
	} else {
		link_renew(&link_);
	}
	/* Without the order the same works: errno and status are 0. */
	CHECK_EQ(knob->act == overflow ? write_() : knob->act(), 0);
	exchange(&link_, &own, &remote);
}

/* Each kind of order does what its page says. */
static void ct70_knobs(void)
{
	size_t i;
	int tried = 0;

	begin();
	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		if (!is_here(&knobs[i]))
			continue;
		try_knob(&knobs[i]);
		tried++;
	}
	note("%d of %zu kinds", tried, ARRAY_SIZE(knobs));
	CHECK(tried > 10);
}

/* A message is copied in many short stretches. */
static void ct71_stretch(void)
{
	begin();
	tool_says("inject stretch size 16 count 0");
	CHECK_EQ(write_(), IBV_WC_SUCCESS);
	CHECK(ordered("failed") >= (LENGTH - 100) / 16);
	CHECK_EQ(tool("inject off").status, 0);
	CHECK(!memcmp(remote.buf->data, own.buf->data + 3, LENGTH - 100));
}

static int lines_of_map(void)
{
	return tool_lines(
		tool_says("mr map %s %#x", device_name(), paged.lkey));
}

static void as_nobody(void *arg)
{
	(void)arg;
	CHECK_EQ(setuid(65534), 0);
	CHECK_EQ(tool("mr invalidate %s %#x", device_name(), paged.lkey).status,
		 2);
}

/* mr invalidate drops pages of regions on demand, and refuses what cannot be. */
static void ct72_invalidate(void)
{
	struct said said;

	need_odp();
	begin();
	CHECK_EQ(write_what_is_there(), IBV_WC_SUCCESS);
	CHECK(lines_of_map() > 1);
	tool_says("mr invalidate %s %#x", device_name(), paged.lkey);
	CHECK_EQ(lines_of_map(), 1);
	CHECK_EQ(write_what_is_there(), IBV_WC_SUCCESS);
	/* A range that touches all pages which the message has made present. */
	tool_says("mr invalidate %s key %#x 0 %d", device_name(), paged.lkey,
		  LENGTH - 100);
	CHECK_EQ(lines_of_map(), 1);
	CHECK(!memcmp(paged.buf->data, own.buf->data + 3, LENGTH - 100));

	said = tool("mr invalidate %s %#x", device_name(), own.lkey);
	CHECK_EQ(said.status, 2);
	CHECK(strstr(said.out, "is pinned"));
	CHECK_EQ(
		tool("mr invalidate %s %#x", device_name(), own.lkey ^ 1).status,
		1);
	CHECK_EQ(tool("mr invalidate %s %#x %d 1", device_name(), paged.lkey,
		      LENGTH)
			 .status,
		 2);
	CHECK_EQ(
		tool("mr invalidate %s %#x 0", device_name(), paged.lkey).status,
		2);
	CHECK_EQ(tool("mr invalidate %s %#x 0 -1", device_name(), paged.lkey)
			 .status,
		 2);
	CHECK_EQ(tool("mr invalidate %s", device_name()).status, 2);
	CHECK_EQ(tool("mr invalidate nothing 1").status, 2);
	reap_ok(spawn(as_nobody, NULL));
}

static const struct test tests[] = {
	TEST(ct70_knobs, "CT70 inject: every kind"),
	TEST(ct71_stretch, "CT71 inject: stretch"),
	TEST(ct72_invalidate, "CT72 mr invalidate"),
};

HARNESS_MAIN("pinionctl: each kind of failure", tests)
