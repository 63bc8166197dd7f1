// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random bytes for all methods of all objects, and almost valid calls of the driver's own
 * methods (items I7, I8 and I11).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "dmabuf.h"
#include "link.h"
#include "methods.h"
#include "prm.h"
#include "raw.h"
#include "victim.h"

static struct link link_;
static int fd;

static uint8_t *arena;
/* Sums over all processes, in shared memory. */
static struct {
	unsigned long processes; /* that got as far as their first call */
	unsigned long calls; /* that returned */
	unsigned long good; /* of these, succeeded */
	unsigned long good_of[64]; /* the same, of each of the methods */
} *seen;

static void count(unsigned long *what)
{
	__atomic_add_fetch(what, 1, __ATOMIC_RELAXED);
}

/* A call has returned. */
static void returned(bool good)
{
	count(&seen->calls);
	if (good)
		count(&seen->good);
}

static uint64_t some_pointer(void)
{
	switch (rnd_below(6)) {
	case 0:
		return rnd();
	case 1:
		return 8;
	case 2:
		return (uintptr_t)arena + PAGE * 4 - rnd_below(64);
	default:
		return (uintptr_t)arena + rnd_below(PAGE);
	}
}

static uint64_t some_data(size_t length)
{
	/* A handle, or another small number. */
	if (rnd() & 3)
		return rnd_below(rnd() & 1 ? 12 : 40);
	return length > 8 || rnd() & 1 ? some_pointer() : rnd();
}

static void garbage_ioctl(void)
{
	static const uint16_t lengths[] = { 0,	1,  2,	4,  8,	12,  16,
					    24, 32, 40, 64, 72, 128, 4000 };
	struct raw raw;
	/* Most calls that succeed have one attribute, a handle. */
	bool short_one = rnd() & 1;
	uint32_t i, n = short_one ? 1 : rnd_below(12);

	raw_begin(&raw, rnd_below(24), rnd_below(12));
	if (!rnd_below(10))
		raw.hdr.object_id |= PINION_NS;
	if (!rnd_below(6))
		raw.hdr.method_id = PINION_NS + 0x80;
	for (i = 0; i < n; i++) {
		size_t length = short_one && rnd() & 3 ?
					0 :
					lengths[rnd_below(ARRAY_SIZE(lengths))];
		struct ib_uverbs_attr *attr;

		attr = raw_handle(&raw, rnd() & 3 ? i : rnd_below(20),
				  some_data(length));
		attr->len = length;
		if (!rnd_below(8))
			attr->attr_id |= PINION_NS;
		if (!rnd_below(3))
			attr->flags = 0;
		if (!rnd_below(30))
			attr->flags = rnd();
	}
	if (!rnd_below(30))
		raw.hdr.length = rnd();
	if (!rnd_below(30))
		raw.hdr.driver_id = rnd();
	returned(!raw_call(fd, &raw));
}

/* Random words that are often handles, small numbers, flags or pointers. */
static void garbage_arena(void)
{
	uint32_t *word = (void *)arena;
	size_t i;

	for (i = 0; i < 64; i++) {
		word[i] = rnd() & 3 ? rnd_below(20) : rnd();
		if (!rnd_below(8)) {
			uint64_t pointer = some_pointer();

			memcpy(&word[i & ~1ULL], &pointer, 8);
		}
	}
}

static void garbage_command(void)
{
	uint32_t command = rnd_below(52);

	/* Excludes the command that makes a context. */
	if (command == IB_USER_VERBS_CMD_GET_CONTEXT)
		return;
	if (rnd() & 1) {
		returned(!raw_command(fd, command, arena, rnd_below(64) * 4,
				      arena + 1024, rnd_below(64) * 4));
		return;
	}
	/* The same by write(), whose header gives lengths in words. */
	{
		struct {
			uint32_t command;
			uint16_t in_words, out_words;
			uint8_t body[256];
		} call = { .command = command | (rnd_below(6) ? 0 : 1U << 31),
			   .in_words = 2 + rnd_below(64),
			   .out_words = rnd_below(64) };

		memcpy(call.body, arena, sizeof(call.body));
		if (!rnd_below(20))
			call.in_words = rnd();
		returned(write(fd, &call,
			       call.in_words * 4 < (int)sizeof(call) ?
				       call.in_words * 4 :
				       (int)sizeof(call)) >= 0);
	}
}

/* Must a call of this method succeed for the test to be meaningful? */
static bool has_to_succeed(const struct method *m)
{
	/* By a command with random bits, hardly anything can be modified. */
	return !m->core && (m->object != MLX5_IB_OBJECT_DEVX_OBJ ||
			    m->method != MLX5_IB_METHOD_DEVX_OBJ_MODIFY);
}

/* The place of answers with keys, and some keys' numbers. */
static uint8_t made[16];
static uint32_t numbers[4];

static bool makes_key(const struct raw *raw)
{
	return raw->hdr.object_id == MLX5_IB_OBJECT_DEVX_OBJ &&
	       raw->hdr.method_id == MLX5_IB_METHOD_DEVX_OBJ_CREATE;
}

static uint64_t some_address(void)
{
	switch (rnd_below(8)) {
	case 0:
		return rnd();
	case 1:
		return rnd_below(3) << 12;
	case 2:
		return -(uint64_t)rnd_below(9000);
	default:
		return (uintptr_t)arena + rnd_below(PAGE);
	}
}

static uint64_t some_flags(void)
{
	switch (rnd_below(6)) {
	case 0:
		return rnd();
	case 1:
		return ~0ULL << rnd_below(64);
	case 2:
		return 1ULL << rnd_below(64);
	default:
		return rnd_below(32);
	}
}

/* A command about umems and keys that probably exist, with one or two bits flipped. */
static void command(struct raw *raw, uint16_t id)
{
	static uint8_t in[PRM_MKEY + PRM_MAX_KLMS * 16];
	const struct prm_klm klms[] = {
		{ rnd_below(9000), rnd(), some_address() },
		{ 100, link_.a.qp->handle, some_address() },
	};
	struct prm_mkey mkey = {
		.mode = rnd() & 1 ? PRM_MTT : PRM_KLM,
		.rights = rnd() & PRM_ALL,
		.pdn = rnd_below(8),
		.log_page = rnd() & 1 ? 0 : rnd_below(20),
		.base = some_address(),
		.length = rnd() & 3 ? rnd_below(9000) : some_flags(),
		.umem_id = rnd_below(6),
		.umem_offset = rnd() & 3 ? rnd_below(4096) : rnd(),
		.klms = klms,
	};
	size_t length;

	if (mkey.mode == PRM_KLM)
		mkey.num_klms = rnd_below(3);
	length = prm_create_mkey(in, &mkey);
	switch (rnd_below(10)) {
	case 0:
		prm_head(in, PRM_ALLOC_PD, 0);
		break;
	case 4:
		memset(in, 0, sizeof(in));
		prm_head(in, PRM_ALLOC_FLOW_COUNTER, 0);
		break;
	case 5:
		/* The number of the counter, if the preceding handle is a counter's. */
		memset(in, 0, sizeof(in));
		prm_head(in, PRM_QUERY_FLOW_COUNTER, 0);
		prm_put32(in, 0x1c, raw->attr[0].data + 1);
		break;
	case 1:
		prm_head(in, PRM_QUERY_MKEY,
			 rnd() & 1 ? numbers[rnd_below(4)] : rnd());
		break;
	case 2:
		prm_head(in, PRM_QUERY_HCA_CAP, 0);
		break;
	case 3:
		prm_head(in, rnd(), rnd());
		break;
	}
	while (!rnd_below(3))
		in[rnd_below(length)] ^= 1 << rnd_below(8);
	if (!rnd_below(8))
		length = rnd_below(sizeof(in));
	raw_in(raw, id, in, length);
}

/* Flags or a number, then places in umems. */
static void payload(struct raw *raw, uint16_t id, size_t length)
{
	static struct {
		struct pinion_create_cq_req req;
		uint64_t more; /* the request for a queue pair is longer */
	} in;
	struct pinion_ring_place *place = (void *)&in;

	memset(&in, 0, sizeof(in));
	if (length == sizeof(in.req))
		place = &in.req.place;
	place->umem_id = rnd_below(6);
	place->offset = rnd() & 3 ? 64 * rnd_below(64) : rnd();
	while (!rnd_below(4))
		((uint8_t *)&in)[rnd_below(length)] ^= 1 << rnd_below(8);
	raw_in(raw, id, &in, rnd_below(8) ? length : rnd_below(length));
}

static void add_nearly(struct raw *raw, const struct attribute *a)
{
	uint64_t number[4] = {};

	switch (a->kind) {
	case ATTR_NEW:
		raw_handle(raw, a->id, 0);
		return;
	case ATTR_HANDLE:
		raw_handle(raw, a->id, rnd_below(24));
		return;
	case ATTR_FILE:
		number[0] = rnd_below(12) - 1;
		if (a->length)
			raw_in(raw, a->id, number, a->length);
		else if (!rnd_below(4))
			raw_handle(raw, a->id, number[0]);
		return;
	case ATTR_ADDRESS:
	case ATTR_NUMBER:
		number[0] = rnd() & 1 ? some_address() : rnd_below(20000);
		break;
	case ATTR_FLAGS:
		number[0] = some_flags();
		break;
	case ATTR_KIND:
		number[0] = rnd_below(12) ? rnd() & 1 : rnd();
		break;
	case ATTR_COMMAND:
		command(raw, a->id);
		return;
	case ATTR_PLACE:
		payload(raw, a->id, a->length);
		return;
	case ATTR_ANSWER:
		if (makes_key(raw) && rnd() & 1) {
			raw_out(raw, a->id, made, sizeof(made));
			return;
		}
		raw_out(raw, a->id, (void *)(uintptr_t)some_pointer(),
			rnd_below(12) ? a->length : rnd_below(600));
		return;
	}
	raw_in(raw, a->id, number, a->length);
}

static void nearly_right(void)
{
	const struct method *m = &methods[rnd_below(methods_count)];
	const struct attribute *end = m->attribute + METHOD_ATTRIBUTES;
	const struct attribute *a;
	struct raw raw;
	bool good;

	raw_begin(&raw, m->object, m->method);
	for (a = m->attribute; a < end && a->kind; a++) {
		/* Sometimes one attribute is missing, or there twice. */
		if (rnd_below(60))
			add_nearly(&raw, a);
		if (!rnd_below(100))
			add_nearly(&raw, a);
	}
	good = !raw_call(fd, &raw);
	returned(good);
	if (good) {
		count(&seen->good_of[m - methods]);
		if (makes_key(&raw))
			numbers[rnd_below(4)] = prm_get32(made, 8) & 0xffffff;
	}
}

/*
 * Making a process, its context and objects takes as long as a thousand calls. Two processes are
 * there at a time, so that their calls meet and none waits for a processor.
 */
enum { CALLS = 5000, CALLS_IN_SHORT = 1000, AT_ONCE = 2 };

/* One kind of calls: they go on until @least have succeeded, or at least one of each method. */
struct kind {
	void (*call)(void);
	unsigned long least;
	bool each_method;
};

static void garbage_round(void *arg)
{
	struct ibv_alloc_dm_attr some_memory = { .length = 5000 };
	const struct kind *kind = arg;
	int calls = in_short() ? CALLS_IN_SHORT : CALLS;
	int i;

	device_open();
	link_make(&link_, NULL);
	region_new(9000, 5, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1);
	MUST(ibv_alloc_dm(dev.ctx, &some_memory));
	fd = dev.ctx->cmd_fd;
	arena = mmap(NULL, 5 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(arena != MAP_FAILED);
	munmap(arena + 4 * PAGE, PAGE);
	for (i = 0; i < DMABUF_KINDS; i++) {
		if (dmabuf_there(&dmabuf_kinds[i]))
			dmabuf_new(&dmabuf_kinds[i], 4 * PAGE);
	}
	count(&seen->processes);
	/* Ends calls that wait. */
	alarm(patience(5));
	for (i = 0; i < calls; i++) {
		garbage_arena();
		kind->call();
	}
}

static bool enough(const struct kind *kind)
{
	size_t i;

	for (i = 0; kind->each_method && i < methods_count; i++) {
		if (!seen->good_of[i] && has_to_succeed(&methods[i]))
			return false;
	}
	return seen->good >= kind->least;
}

/*
 * Random calls of a kind by processes that may die of it: a bystander goes on, and enough
 * succeed.
 */
static void garbage(const void *with)
{
	struct kind kind = *(const struct kind *)with;
	volatile struct victim *v = victim_start();
	int pids[AT_ONCE] = {};
	unsigned long rounds = 0;
	double end;
	size_t i;

	if (!dev.pinion)
		skip("only pinion has these methods");
	seen = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(seen != MAP_FAILED);
	for (end = now() + opt.seconds; go_on(end, enough(&kind)); rounds++) {
		int *pid = &pids[rounds % AT_ONCE];

		/* Random calls may kill the process. */
		if (*pid)
			reap(*pid);
		rnd_seed(opt.seed + rounds);
		*pid = spawn(garbage_round, &kind);
	}
	for (i = 0; i < AT_ONCE; i++) {
		if (pids[i])
			reap(pids[i]);
	}
	/* scripts/bed/counts.sh adds these up over all runs. */
	note("calls: %lu, %lu of them succeeded, in %lu processes", seen->calls,
	     seen->good, rounds);
	/* Each one reached its first call. */
	CHECK_EQ(seen->processes, rounds);
	CHECK(seen->good >= kind.least);
	for (i = 0; kind.each_method && i < methods_count; i++) {
		if (!seen->good_of[i] && has_to_succeed(&methods[i]))
			FAIL("method %#x of object %#x never succeeded",
			     methods[i].method, methods[i].object);
	}
	victim_end(v);
}

static const struct kind ioctls = { garbage_ioctl, 30, false };
static const struct kind commands = { garbage_command, 30, false };
static const struct kind nearly = { nearly_right, 10, true };

static const struct test tests[] = {
	TEST_WITH(garbage, &ioctls, "I7 garbage for every method"),
	TEST_WITH(garbage, &commands, "I8 garbage for every command"),
	TEST_WITH(garbage, &nearly,
		  "I11 nearly right calls of the driver's own methods"),
};

HARNESS_MAIN("garbage for uverbs", tests)
