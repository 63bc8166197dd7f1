// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Allocations that the module asks for fail now and then, in whichever context they are: system
 * calls, work items, threads that fetch pages, softirqs (item N32). Messages end, right or with
 * an error; nothing else is written; and when memory is to be had again all is as before. Needs a
 * kernel with fault injection.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault.h"
#include "link.h"
#include "pins.h"
#include "resources.h"

enum { LEN = 300001, USERS = 3 };

/* What the users have seen, in memory that they share with the parent. */
struct seen {
	uint64_t right, errors, refused_calls, refused_posts;
	uint32_t statuses; /* a bit for each ibv_wc_status but success */
};

static struct seen *seen;
static bool *stop;

#define COUNT(x) __atomic_add_fetch(&(x), 1, __ATOMIC_RELAXED)

struct user {
	int number;
	struct link link;
	struct region local, remote;
};

/* A call may only fail for want of memory. */
static bool call_failed(int err)
{
	if (err && err != ENOMEM)
		FAIL("errno %d", err);
	if (err)
		COUNT(seen->refused_calls);
	return err;
}

static bool connected(struct user *u)
{
	struct end *a = &u->link.a, *b = &u->link.b;
	struct peer to_a, to_b;

	if (call_failed(end_set_state(a, IBV_QPS_RESET)) ||
	    call_failed(end_set_state(b, IBV_QPS_RESET)))
		return false;
	drain(a->scq);
	drain(a->rcq);
	drain(b->scq);
	drain(b->rcq);
	a->psn = (a->psn + 0x300000) & 0xffffff;
	b->psn = (b->psn + 0x300000) & 0xffffff;
	to_a = end_peer(a);
	to_b = end_peer(b);
	return !call_failed(end_try_init(a)) && !call_failed(end_try_init(b)) &&
	       !call_failed(end_to_rtr(a, &to_b)) &&
	       !call_failed(end_to_rtr(b, &to_a)) &&
	       !call_failed(end_to_rts(a)) && !call_failed(end_to_rts(b));
}

/* Of the users one has pinned memory, one on-demand memory, one an implicit region. */
static struct ibv_mr *try_reg(const struct user *u, const struct buf *buf)
{
	bool implicit = u->number == 2;

	return ibv_reg_mr(dev.pd, implicit ? NULL : buf->data,
			  implicit ? SIZE_MAX : buf->length,
			  u->number ? ODP_ALL : ALL_ACCESS);
}

static struct region reg(const struct user *u, struct buf *buf)
{
	struct ibv_mr *mr;

	while (!(mr = try_reg(u, buf)))
		call_failed(errno);
	return region_of(buf, mr, (uintptr_t)buf->data);
}

/* New pages, which the device has to fetch if it is on-demand memory. */
static void forget(const struct user *u, struct buf *buf)
{
	if (!u->number)
		return;
	buf_forget(buf);
	memset(buf->model, 0, buf->map_length);
}

/*
 * One write or read. If it fails, the bytes that it was to write may be old or new ones, but no
 * others.
 */
static void message(struct user *u)
{
	bool read = rnd() & 1;
	struct region *from = read ? &u->remote : &u->local;
	struct region *to = read ? &u->local : &u->remote;
	uint32_t length = rnd_in(1, rnd() & 3 ? 9000 : 100000);
	uint64_t there = rnd_below(LEN - length),
		 here = rnd_below(LEN - length);
	uint8_t *source = from->buf->want + (read ? there : here);
	uint8_t *target = to->buf->want + (read ? here : there);
	const uint8_t *is = to->buf->data + (read ? here : there);
	struct ibv_sge sge = sge_of(&u->local, here, length);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { u->remote.base + there, u->remote.rkey },
	};
	struct ibv_wc wc;
	uint32_t i;

	if (try_post(&u->link.a, &wr)) {
		COUNT(seen->refused_posts);
		wc.status = IBV_WC_GENERAL_ERR;
	} else {
		wc = await(u->link.a.scq);
		__atomic_fetch_or(&seen->statuses,
				  wc.status ? 1u << wc.status : 0,
				  __ATOMIC_RELAXED);
	}
	if (wc.status == IBV_WC_SUCCESS) {
		memcpy(target, source, length);
		COUNT(seen->right);
	} else {
		COUNT(seen->errors);
		while (!connected(u))
			;
		for (i = 0; i < length; i++) {
			if (is[i] != target[i] && is[i] != source[i])
				FAIL("byte %u of %u is neither old nor new", i,
				     length);
			target[i] = is[i];
		}
	}
	buf_check(to->buf);
	buf_check(from->buf);
}

static void use(void *arg)
{
	struct user u = { .number = *(int *)arg };
	struct qp_cfg cfg = { .timeout = 12, .retry = 7 };
	unsigned long round;

	device_open();
	link_make(&u.link, &cfg);
	u.local = reg(&u, buf_new(LEN, rnd_below(PAGE)));
	u.remote = reg(&u, buf_new(LEN, rnd_below(PAGE)));
	/* The parent waits for all of them before anything fails. */
	COUNT(seen[1].right);
	for (round = 0; !__atomic_load_n(stop, __ATOMIC_ACQUIRE); round++) {
		if (round % 16 == 0) {
			CHECK_EQ(ibv_dereg_mr(u.remote.mr), 0);
			u.remote = reg(&u, u.remote.buf);
		}
		if (round % 4 == 0) {
			forget(&u, u.remote.buf);
			buf_fill(u.local.buf);
		}
		message(&u);
	}
	region_free(&u.local);
	region_free(&u.remote);
	link_free(&u.link);
}

/* Which allocations fail, and how many in a hundred. */
struct failing {
	const char *
		function; /* in it, and in what it calls; NULL: anywhere in the module */
	unsigned int percent;
	unsigned int least; /* failures in all: ten times as many were seen */
};

static const struct failing anywhere = { NULL, 3, 10 };
/* The work item that brings a page which a message lacks. */
static const struct failing in_worker = { "fault_run", 30, 20 };

/* Allocations fail now and then under traffic: messages are right or fail. */
static void n32(const void *arg)
{
	const struct failing *failing = arg;
	static int numbers[USERS];
	struct resources before;
	struct link link;
	struct region a, b;
	long long pages;
	uint64_t hits;
	int pids[USERS], i;

	need_odp();
	if (!dev.pinion)
		skip("the module of another device");
	fault_often_prepare("pinion");
	if (failing->function)
		fault_only_in_function(failing->function);
	seen = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(seen != MAP_FAILED);
	stop = (bool *)(seen + 2);
	link_make(&link, NULL);
	a = region_new(20000, 1, ALL_ACCESS);
	b = region_new(20000, 7, ALL_ACCESS);
	resources_read(&before);
	pages = pinned_pages();
	for (i = 0; i < USERS; i++) {
		numbers[i] = i;
		pids[i] = spawn(use, &numbers[i]);
	}
	while (__atomic_load_n(&seen[1].right, __ATOMIC_ACQUIRE) < USERS)
		usleep(1000);
	fault_often(failing->percent);
	sleep(opt.seconds * slow());
	hits = fault_often_end();
	__atomic_store_n(stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < USERS; i++)
		reap_ok(pids[i]);
	note("%llu faults: %llu messages right, %llu not (statuses %#x), %llu posts and %llu calls refused",
	     (unsigned long long)hits, (unsigned long long)seen->right,
	     (unsigned long long)seen->errors, seen->statuses,
	     (unsigned long long)seen->refused_posts,
	     (unsigned long long)seen->refused_calls);
	CHECK(hits >= failing->least);
	CHECK(seen->right >= 10);
	/* Packets that are lost take a while, so there are few calls then. */
	CHECK(failing->function || seen->refused_calls || dev.packets);
	resources_await(&before);
	CHECK_EQ(pinned_pages(), pages);
	exchange(&link, &a, &b);
}

static const struct test tests[] = {
	LONG_TEST_WITH(n32, &anywhere,
		       "N32 allocations that fail in any context", 300),
	LONG_TEST_WITH(n32, &in_worker,
		       "N32 of who fetches a page for a message", 300),
};

HARNESS_MAIN("allocations of the module that fail under load", tests)
