// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random calls against a model of what they mean: regions of pinned and of on-demand
 * memory over the same buffers, changed and ended, windows, messages in several domains
 * (items MO1 and MO2). The model says which call succeeds, which status and syndrome a message
 * completes with, and what each byte is. A list that fails is shortened to the calls it
 * takes, and these are printed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "window.h"

enum {
	PDS = 2,
	LINKS = 3,
	BUFS = 4, /* the second half of them on demand */
	REGIONS = 8,
	WINDOWS = 4,
	LEN = 5 * 4096 + 77,
	MOST = 3000, /* bytes of a message */
	CALLS = 250,
	NUMBERS = 10, /* random numbers for a call */
};

enum kind { REG, DEREG, REREG, BIND, INVALIDATE, MESSAGE, FORGET, KINDS };

struct call {
	enum kind kind;
	uint32_t r[NUMBERS];
	bool left_out;
};

struct model_region {
	struct ibv_mr *mr; /* NULL: no region */
	int pd, buf, access, windows;
	bool writable; /* pinned for writing */
	uint64_t base, at, length;
	uint32_t lkey, rkey; /* the last ones, if it is gone */
};

struct model_window {
	struct ibv_mw *mw;
	int region; /* -1: not bound */
	int link, access;
	uint64_t at, length; /* offset in the region */
};

/* One side of a message: a key, an address, and what the model knows of the memory. */
struct place {
	uint64_t addr;
	uint32_t key;
	uint8_t *want; /* NULL: the access is refused */
	int syndrome; /* with which, at this side */
};

static const int rights[] = {
	IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE,
	IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_ATOMIC,
	IBV_ACCESS_MW_BIND,	IBV_ACCESS_ZERO_BASED,
};

static struct ibv_pd *pds[PDS];
static struct link links[LINKS];
static int link_pds[LINKS][2]; /* domains of ends a and b */
static struct buf *bufs[BUFS];
static struct model_region regions[REGIONS];
static struct model_window windows[WINDOWS];
static bool loud;
struct counts {
	unsigned int done[KINDS], refused[KINDS];
};

/* Sums over all lists, in shared memory. */
static struct counts *counts;

static void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	context("%s", text);
	if (loud)
		note("%s", text);
}

static bool on_demand(int buf)
{
	return buf >= BUFS / 2;
}

/* ------------------------------------------------------------------ regions */

/* Access flags; mostly useful ones. */
static int some_access(uint32_t r, int buf)
{
	int access = on_demand(buf) ? IBV_ACCESS_ON_DEMAND : 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rights); i++, r >>= 3)
		if (r % 8 < (rights[i] == IBV_ACCESS_ZERO_BASED ? 1 : 6))
			access |= rights[i];
	return access;
}

static bool access_is_good(int access)
{
	return access & IBV_ACCESS_LOCAL_WRITE ||
	       !(access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
}

static bool access_writes(int access)
{
	return access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
}

static void judge(enum kind kind, bool good, bool expected)
{
	if (good != expected)
		FAIL("%s (errno %d)", good ? "succeeded" : "failed", errno);
	good ? counts->done[kind]++ : counts->refused[kind]++;
}

static void take_memory(struct model_region *r, int buf, uint64_t at,
			uint64_t length)
{
	r->buf = buf;
	r->at = at;
	r->length = length;
	r->writable = access_writes(r->access);
	r->base = r->access & IBV_ACCESS_ZERO_BASED ?
			  0 :
			  (uintptr_t)bufs[buf]->data + at;
}

static void reg(const uint32_t *n)
{
	struct model_region *r = &regions[n[0] % REGIONS];
	int buf = n[1] % BUFS, access = some_access(n[2], buf);
	uint64_t at = n[3] % LEN, length = 1 + n[4] % (LEN - at);
	struct ibv_mr *mr;

	if (r->mr)
		return;
	tell("region %d: buffer %d from %lu, %lu bytes, access %#x, domain %d",
	     (int)(r - regions), buf, at, length, access, n[5] % PDS);
	mr = ibv_reg_mr(pds[n[5] % PDS], bufs[buf]->data + at, length, access);
	judge(REG, mr, access_is_good(access));
	if (!mr)
		return;
	*r = (struct model_region){ .mr = mr,
				    .pd = n[5] % PDS,
				    .access = access,
				    .lkey = mr->lkey,
				    .rkey = mr->rkey };
	take_memory(r, buf, at, length);
}

static void dereg(const uint32_t *n)
{
	struct model_region *r = &regions[n[0] % REGIONS];
	bool good;

	if (!r->mr)
		return;
	tell("region %d ends, %d windows", (int)(r - regions), r->windows);
	errno = ibv_dereg_mr(r->mr);
	good = !errno;
	judge(DEREG, good, !r->windows);
	if (good)
		r->mr = NULL;
}

static void rereg(const uint32_t *n)
{
	struct model_region *r = &regions[n[0] % REGIONS];
	int flags = 1 + n[1] % 7, pd = n[2] % PDS, buf, access, was = r->access;
	uint64_t at = n[3] % LEN, length = 1 + n[4] % (LEN - at);
	bool good, moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	bool allowed;

	if (!r->mr)
		return;
	/* Pinned becomes on-demand or the reverse only with a new translation and new access. */
	if (moves && !(flags & IBV_REREG_MR_CHANGE_ACCESS))
		buf = on_demand(r->buf) ? BUFS / 2 + n[5] % 2 : n[5] % 2;
	else
		buf = moves ? n[5] % BUFS : (uint32_t)r->buf;
	access = flags & IBV_REREG_MR_CHANGE_ACCESS ? some_access(n[6], buf) :
						      0;
	/* libibverbs does not call the driver in this case. */
	if (flags == IBV_REREG_MR_CHANGE_PD && pd == r->pd)
		return;
	tell("region %d, %d windows: flags %d, domain %d, buffer %d from %lu, %lu bytes, access %#x",
	     (int)(r - regions), r->windows, flags, pd, buf, at, length,
	     access);
	allowed = !r->windows;
	if (flags & IBV_REREG_MR_CHANGE_ACCESS) {
		allowed &= access_is_good(access);
		if (!moves)
			allowed &= !((access ^ was) & IBV_ACCESS_ZERO_BASED) &&
				   (r->writable || !access_writes(access));
	}
	good = !ibv_rereg_mr(r->mr, flags, pds[pd], bufs[buf]->data + at,
			     length, access);
	judge(REREG, good, allowed);
	if (!good)
		return;
	r->lkey = r->mr->lkey;
	r->rkey = r->mr->rkey;
	if (flags & IBV_REREG_MR_CHANGE_PD)
		r->pd = pd;
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		r->access = access;
	if (moves)
		take_memory(r, buf, at, length);
}

/* ------------------------------------------------------------------ windows */

static void unbind(struct model_window *w)
{
	regions[w->region].windows--;
	w->region = -1;
}

/*
 * The model does not know the state of a window that is bound to a queue pair when that is
 * reset, so such windows are replaced.
 */
static void renew(int link)
{
	struct model_window *w;

	for (w = windows; w < windows + WINDOWS; w++) {
		if (w->region < 0 || w->link != link)
			continue;
		CHECK_EQ(ibv_dealloc_mw(w->mw), 0);
		unbind(w);
		w->mw = MUST(
			ibv_alloc_mw(pds[link_pds[link][1]], IBV_MW_TYPE_2));
	}
	link_renew(&links[link]);
}

/* Binds a window, which may be bound already, in the domain of the responding end. */
static void bind(const uint32_t *n)
{
	struct model_window *w = &windows[n[0] % WINDOWS];
	struct model_region *r = &regions[n[1] % REGIONS];
	int link = n[2] % LINKS, pd = link_pds[link][1];
	int access = (n[3] & 1 ? IBV_ACCESS_REMOTE_WRITE : 0) |
		     (n[3] & 2 ? IBV_ACCESS_REMOTE_READ : 0) |
		     (n[3] & 4 ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
		     (n[3] & 24 ? 0 : IBV_ACCESS_ZERO_BASED);
	uint64_t at = n[4] % LEN, length = 1 + n[5] % MOST;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = w->mw, .rkey = ibv_inc_rkey(w->mw->rkey) },
	};
	bool good, allowed;
	int err;

	if (!r->mr || w->mw->pd != pds[pd])
		return;
	if (n[6] % 8)
		at %= r->length;
	if (n[7] % 8 && length > r->length - at % r->length)
		length = r->length - at % r->length;
	tell("window %d: region %d from %lu, %lu bytes, access %#x, link %d",
	     (int)(w - windows), (int)(r - regions), at, length, access, link);
	allowed = w->region < 0 && r->pd == pd &&
		  r->access & IBV_ACCESS_MW_BIND &&
		  !(r->access & IBV_ACCESS_ZERO_BASED) && at < r->length &&
		  length <= r->length - at &&
		  (r->access & IBV_ACCESS_LOCAL_WRITE ||
		   !(access &
		     (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)));
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){ r->mr, r->base + at,
							  length, access };
	err = try_post(&links[link].b, &wr);
	good = !err && await(links[link].b.scq).status == IBV_WC_SUCCESS;
	judge(BIND, good, allowed);
	if (good) {
		w->mw->rkey = wr.bind_mw.rkey;
		w->region = r - regions;
		w->link = link;
		w->access = access;
		w->at = at;
		w->length = length;
		r->windows++;
	} else if (!err) {
		renew(link);
	}
}

static void invalidate(const uint32_t *n)
{
	struct model_window *w = &windows[n[0] % WINDOWS];
	int link = w->link;

	if (w->region < 0)
		return;
	tell("window %d is invalidated", (int)(w - windows));
	judge(INVALIDATE,
	      window_invalidate(&links[link].b, w->mw->rkey).status ==
		      IBV_WC_SUCCESS,
	      true);
	unbind(w);
}

/* ----------------------------------------------------------------- messages */

static struct place region_place(const struct model_region *r, uint64_t off,
				 uint32_t length, int pd, int needs,
				 bool remote)
{
	struct place place = { r->base + off, remote ? r->rkey : r->lkey, NULL,
			       PINION_SYN_NONE };

	/* Who may not know that there is a key is not told what it allows. */
	if (!r->mr || r->pd != pd)
		place.syndrome = PINION_SYN_KEY_UNKNOWN;
	else if ((r->access & needs) != needs)
		place.syndrome = PINION_SYN_KEY_RIGHTS;
	else if (off > r->length || length > r->length - off)
		place.syndrome = PINION_SYN_KEY_RANGE;
	else
		place.want = bufs[r->buf]->want + r->at + off;
	return place;
}

static struct place window_place(const struct model_window *w, uint64_t off,
				 uint32_t length, int link, int needs)
{
	struct place place = { off, w->mw->rkey, NULL, PINION_SYN_NONE };
	const struct model_region *r;

	if (w->region < 0)
		return place;
	r = &regions[w->region];
	if (!(w->access & IBV_ACCESS_ZERO_BASED))
		place.addr = r->base + w->at + off;
	if (w->link == link && (w->access & needs) == needs &&
	    off <= w->length && length <= w->length - off)
		place.want = bufs[r->buf]->want + r->at + w->at + off;
	return place;
}

/* An offset within @room, in one of eight cases any; near the end more often. */
static uint64_t some_offset(uint32_t r, uint64_t room, uint32_t length)
{
	if (r % 8 == 0 || length > room)
		return r / 8 % (room + 8);
	if (r % 8 == 1)
		return room - length;
	return r / 8 % (room - length + 1);
}

static bool overlap(const uint8_t *a, const uint8_t *b, uint32_t length)
{
	return a && b && a < b + length && b < a + length;
}

static void carry_out(enum ibv_wr_opcode opcode, struct place *local,
		      struct place *remote, uint32_t length, uint64_t number,
		      uint64_t swap)
{
	uint64_t before, after;

	if (opcode == IBV_WR_RDMA_WRITE) {
		memcpy(remote->want, local->want, length);
		return;
	}
	memcpy(local->want, remote->want, length);
	if (opcode == IBV_WR_RDMA_READ)
		return;
	memcpy(&before, remote->want, sizeof(before));
	after = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? before + number :
		before == number		      ? swap :
							before;
	memcpy(remote->want, &after, sizeof(after));
}

static const struct {
	enum ibv_wr_opcode opcode;
	int local, remote;
} ops[] = {
	{ IBV_WR_RDMA_WRITE, 0, IBV_ACCESS_REMOTE_WRITE },
	{ IBV_WR_RDMA_READ, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_LOCAL_WRITE,
	  IBV_ACCESS_REMOTE_ATOMIC },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_ACCESS_LOCAL_WRITE,
	  IBV_ACCESS_REMOTE_ATOMIC },
};

/* The two sides of a message, and the link. */
struct route {
	int op, link;
	const struct model_region *from, *to;
	const struct model_window *window; /* NULL: by the region's key */
	uint32_t length;
	struct place local, remote;
};

/* Fills in both places; true if both are valid. */
static bool route_places(struct route *route, const uint32_t *n)
{
	const struct model_window *w = route->window;
	uint32_t length = route->length;
	int link = route->link;

	if (!route->from->lkey || !(w ? w->mw->rkey : route->to->rkey))
		return false;
	route->local = region_place(
		route->from, some_offset(n[6], route->from->length, length),
		length, link_pds[link][0], ops[route->op].local, false);
	route->remote =
		w ? window_place(w, some_offset(n[7], w->length, length),
				 length, link, ops[route->op].remote) :
		    region_place(route->to,
				 some_offset(n[7], route->to->length, length),
				 length, link_pds[link][1],
				 ops[route->op].remote, true);
	return route->local.want && route->remote.want;
}

/* Takes a route by random numbers or, mostly, the next one that is valid. */
static bool route_find(struct route *route, const uint32_t *n)
{
	bool as_it_comes = n[4] / 3 % 8 == 0, by_window = n[4] % 3 == 0;
	int i, most = as_it_comes ? 1 : LINKS * REGIONS * REGIONS;

	for (i = 0; i < most; i++) {
		route->link = (n[0] + i) % LINKS;
		route->from = &regions[(n[1] + i / LINKS) % REGIONS];
		route->to = &regions[(n[2] + i / LINKS / REGIONS) % REGIONS];
		if (by_window)
			route->window =
				&windows[(n[2] + i / LINKS / REGIONS) % WINDOWS];
		if (route_places(route, n))
			return true;
	}
	return as_it_comes && route->local.key && route->remote.key;
}

/* Has the key of a region that is gone been given to another one? */
static bool given_again(const struct model_region *r, uint32_t key)
{
	const struct model_region *other;

	if (r->mr)
		return false;
	for (other = regions; other < regions + REGIONS; other++)
		if (other->mr && (other->lkey == key || other->rkey == key))
			return true;
	return false;
}

static void message(const uint32_t *n)
{
	bool atomic = n[3] % 8 > 5;
	struct route route = {
		.op = atomic ? n[3] % 8 - 4 : n[3] % 2,
		.length = atomic ? sizeof(uint64_t) : 1 + n[5] % MOST,
	};
	enum ibv_wr_opcode opcode = ops[route.op].opcode;
	struct place *local = &route.local, *remote = &route.remote;
	struct end *end;
	struct ibv_sge sge;
	struct ibv_wc wc;

	if (!route_find(&route, n) ||
	    overlap(local->want, remote->want, route.length) ||
	    given_again(route.from, local->key) ||
	    (!route.window && given_again(route.to, remote->key)))
		return;
	/* Atomics only on words that are aligned both as remote addresses and in memory. */
	if (atomic && (remote->addr % 8 || (uintptr_t)remote->want % 8))
		return;
	tell("link %d, opcode %d, %u bytes: from %#lx key %#x%s, at %#lx key %#x%s",
	     route.link, opcode, route.length, local->addr, local->key,
	     local->want ? "" : " (bad)", remote->addr, remote->key,
	     remote->want ? "" : " (bad)");
	end = &links[route.link].a;
	sge = (struct ibv_sge){ local->addr, route.length, local->key };
	wc = atomic ? atomic_op(end, opcode, sge, remote->addr, remote->key,
				n[8], n[9]) :
		      rdma(end, opcode, sge, remote->addr, remote->key);
	/* The requester learns of the other side only that it refused. */
	if (!local->want)
		expect_why(wc, IBV_WC_LOC_PROT_ERR, local->syndrome);
	else if (!remote->want)
		expect_why(wc, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	else
		expect_why(wc, IBV_WC_SUCCESS, PINION_SYN_NONE);
	if (wc.status == IBV_WC_SUCCESS) {
		counts->done[MESSAGE]++;
		carry_out(opcode, local, remote, route.length, n[8], n[9]);
	} else {
		counts->refused[MESSAGE]++;
		renew(route.link);
	}
}

/* Drops pages of on-demand memory. */
static void forget(const uint32_t *n)
{
	int buf = BUFS / 2 + n[0] % (BUFS / 2);

	tell("buffer %d is forgotten", buf);
	buf_forget(bufs[buf]);
	counts->done[FORGET]++;
}

/* ------------------------------------------------------- executing a list */

static void set_up(void)
{
	int i;

	need_odp();
	for (i = 0; i < PDS; i++)
		pds[i] = i ? MUST(ibv_alloc_pd(dev.ctx)) : dev.pd;
	for (i = 0; i < LINKS; i++) {
		struct qp_cfg a = { .pd = pds[i & 1] };
		struct qp_cfg b = { .pd = pds[i > 1 ? 0 : i] };

		link_make2(&links[i], &a, &b);
		link_pds[i][0] = i & 1;
		link_pds[i][1] = i > 1 ? 0 : i;
	}
	for (i = 0; i < BUFS; i++)
		bufs[i] = buf_new(LEN, 8 * i);
	for (i = 0; i < WINDOWS; i++)
		windows[i] = (struct model_window){
			.mw = MUST(ibv_alloc_mw(pds[i % PDS], IBV_MW_TYPE_2)),
			.region = -1,
		};
}

static void play(const struct call *calls, size_t count)
{
	static void (*const functions[KINDS])(const uint32_t *n) = {
		reg, dereg, rereg, bind, invalidate, message, forget,
	};
	size_t i;
	int buf;

	set_up();
	for (i = 0; i < count; i++) {
		if (calls[i].left_out)
			continue;
		functions[calls[i].kind](calls[i].r);
		for (buf = 0; buf < BUFS; buf++)
			buf_check(bufs[buf]);
	}
	tell("the end");
}

struct list {
	struct call *calls;
	size_t count;
	bool silent;
};

static void play_list(void *arg)
{
	struct list *list = arg;
	int nowhere = open("/dev/null", O_WRONLY);

	CHECK(nowhere >= 0);
	if (list->silent)
		dup2(nowhere, STDOUT_FILENO);
	device_open();
	play(list->calls, list->count);
}

static bool fails(struct list *list)
{
	return reap(spawn(play_list, list));
}

/* Leaves out halves, quarters, ... single calls that are not needed for the failure. */
static size_t shorten(struct list *list)
{
	size_t piece, at, i, left = 0;

	list->silent = true;
	for (piece = list->count / 2; piece; piece /= 2) {
		for (at = 0; at < list->count; at += piece) {
			bool was[CALLS];

			for (i = at; i < at + piece && i < list->count; i++) {
				was[i - at] = list->calls[i].left_out;
				list->calls[i].left_out = true;
			}
			if (fails(list))
				continue;
			for (i = at; i < at + piece && i < list->count; i++)
				list->calls[i].left_out = was[i - at];
		}
	}
	for (i = 0; i < list->count; i++)
		left += !list->calls[i].left_out;
	list->silent = false;
	return left;
}

static void make_list(struct call *calls, const uint8_t *weights)
{
	size_t i, k, n;

	for (i = 0; i < CALLS; i++) {
		k = rnd_below(weights[KINDS]);
		calls[i] = (struct call){};
		while (k >= weights[calls[i].kind])
			k -= weights[calls[i].kind++];
		for (n = 0; n < NUMBERS; n++)
			calls[i].r[n] = rnd();
	}
}

/* Each call has succeeded at least once, and failed if it has a reason to. */
static bool all_seen(const uint8_t *weights)
{
	enum kind kind;

	for (kind = 0; kind < KINDS; kind++) {
		bool refusable = kind != INVALIDATE && kind != FORGET &&
				 (kind != DEREG || weights[BIND]);

		if (weights[kind] && (!counts->done[kind] ||
				      (refusable && !counts->refused[kind])))
			return false;
	}
	return true;
}

static void against_the_model(const uint8_t *weights)
{
	static const char *const names[KINDS] = {
		"reg",	      "dereg",	 "rereg",  "bind",
		"invalidate", "message", "forget",
	};
	static struct call calls[CALLS];
	struct list list = { calls, CALLS, false };
	double end = now() + opt.seconds;
	unsigned int lists;
	enum kind kind;

	need_odp();
	if (!dev.pinion)
		skip("other devices refuse other things");
	counts = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(counts != MAP_FAILED);
	for (lists = 0; go_on(end, lists >= 3 && all_seen(weights)); lists++) {
		make_list(calls, weights);
		if (!fails(&list))
			continue;
		note("%zu calls are enough:", shorten(&list));
		loud = true;
		fails(&list);
		FAIL("the model knows better");
	}
	note("%u lists of %d calls", lists, CALLS);
	for (kind = 0; kind < KINDS; kind++)
		note("%s: %u done, %u refused", names[kind], counts->done[kind],
		     counts->refused[kind]);
	CHECK(all_seen(weights));
}

/* Random operations on regions have the results that a model predicts. */
static void mo1_regions(void)
{
	static const uint8_t weights[KINDS + 1] = { 6, 2, 3, 0, 0, 12, 1, 24 };

	against_the_model(weights);
}

/* Random operations on regions and windows have the results that a model predicts. */
static void mo2_windows(void)
{
	static const uint8_t weights[KINDS + 1] = { 6, 2, 2, 6, 2, 12, 1, 31 };

	against_the_model(weights);
}

static const struct test tests[] = {
	LONG_TEST(mo1_regions, "MO1 regions against a model", 120),
	LONG_TEST(mo2_windows, "MO2 regions and windows against a model", 120),
};

HARNESS_MAIN("Random calls against a model", tests)
