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

/* Kinds of attributes of the driver's methods. */
enum takes {
	END,
	NEW,
	HANDLE,
	NUMBER,
	FLAGS,
	KIND,
	COMMAND,
	PAYLOAD,
	ANSWER,
	FILE_,
	ZERO
};

struct attribute {
	uint16_t id;
	uint8_t takes;
	uint16_t length;
};

#define UMEM(name) MLX5_IB_ATTR_DEVX_UMEM_##name
#define OBJ(name) MLX5_IB_ATTR_DEVX_OBJ_##name
#define UAR(name) MLX5_IB_ATTR_UAR_OBJ_##name

static const struct method {
	uint16_t object, method;
	struct attribute attribute[10];
} methods[] = {
	{ MLX5_IB_OBJECT_DEVX_UMEM,
	  MLX5_IB_METHOD_DEVX_UMEM_REG,
	  { { UMEM(REG_HANDLE), NEW, 0 },
	    { UMEM(REG_ADDR), NUMBER, 8 },
	    { UMEM(REG_LEN), NUMBER, 8 },
	    { UMEM(REG_ACCESS), FLAGS, 4 },
	    { UMEM(REG_OUT_ID), ANSWER, 4 },
	    { UMEM(REG_PGSZ_BITMAP), FLAGS, 8 },
	    { UMEM(REG_DMABUF_FD), FILE_, 0 } } },
	{ MLX5_IB_OBJECT_DEVX_UMEM,
	  MLX5_IB_METHOD_DEVX_UMEM_DEREG,
	  { { UMEM(DEREG_HANDLE), HANDLE, 0 } } },
	{ MLX5_IB_OBJECT_DEVX_OBJ,
	  MLX5_IB_METHOD_DEVX_OBJ_CREATE,
	  { { OBJ(CREATE_HANDLE), NEW, 0 },
	    { OBJ(CREATE_CMD_IN), COMMAND, 0 },
	    { OBJ(CREATE_CMD_OUT), ANSWER, 16 } } },
	{ MLX5_IB_OBJECT_DEVX_OBJ,
	  MLX5_IB_METHOD_DEVX_OBJ_QUERY,
	  { { OBJ(QUERY_HANDLE), HANDLE, 0 },
	    { OBJ(QUERY_CMD_IN), COMMAND, 0 },
	    { OBJ(QUERY_CMD_OUT), ANSWER, 0x110 } } },
	{ MLX5_IB_OBJECT_DEVX_OBJ,
	  MLX5_IB_METHOD_DEVX_OBJ_MODIFY,
	  { { OBJ(MODIFY_HANDLE), HANDLE, 0 },
	    { OBJ(MODIFY_CMD_IN), COMMAND, 0 },
	    { OBJ(MODIFY_CMD_OUT), ANSWER, 16 } } },
	{ MLX5_IB_OBJECT_DEVX_OBJ,
	  MLX5_IB_METHOD_DEVX_OBJ_DESTROY,
	  { { OBJ(DESTROY_HANDLE), HANDLE, 0 } } },
	{ MLX5_IB_OBJECT_DEVX,
	  MLX5_IB_METHOD_DEVX_OTHER,
	  { { MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, COMMAND, 0 },
	    { MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, ANSWER, 512 } } },
	{ UVERBS_OBJECT_PD,
	  PINION_METHOD_PD_QUERY,
	  { { PINION_ATTR_PD_QUERY_HANDLE, HANDLE, 0 },
	    { PINION_ATTR_PD_QUERY_RESP, ANSWER, 8 } } },
	{ UVERBS_OBJECT_DM,
	  PINION_METHOD_DM_QUERY,
	  { { PINION_ATTR_DM_QUERY_HANDLE, HANDLE, 0 },
	    { PINION_ATTR_DM_QUERY_RESP, ANSWER, 24 } } },
	{ UVERBS_OBJECT_DM,
	  PINION_METHOD_DM_EXPORT,
	  { { PINION_ATTR_DM_EXPORT_HANDLE, HANDLE, 0 },
	    { PINION_ATTR_DM_EXPORT_FD, ANSWER, 4 } } },
	{ MLX5_IB_OBJECT_UAR,
	  MLX5_IB_METHOD_UAR_OBJ_ALLOC,
	  { { UAR(ALLOC_HANDLE), NEW, 0 },
	    { UAR(ALLOC_TYPE), KIND, 8 },
	    { UAR(ALLOC_PAGE_ID), ANSWER, 4 },
	    { UAR(ALLOC_MMAP_LENGTH), ANSWER, 4 },
	    { UAR(ALLOC_MMAP_OFFSET), ANSWER, 8 } } },
	{ MLX5_IB_OBJECT_UAR,
	  MLX5_IB_METHOD_UAR_OBJ_DESTROY,
	  { { UAR(DESTROY_HANDLE), HANDLE, 0 } } },
	{ MLX5_IB_OBJECT_UAR,
	  PINION_METHOD_UAR_EXPORT,
	  { { PINION_ATTR_UAR_EXPORT_HANDLE, HANDLE, 0 },
	    { PINION_ATTR_UAR_EXPORT_FD, ANSWER, 4 } } },
	{ UVERBS_OBJECT_QP,
	  PINION_METHOD_QP_DOORBELL,
	  { { PINION_ATTR_QP_DOORBELL_HANDLE, HANDLE, 0 } } },
	/* data direct's path, by its number: older headers have no name for it */
	{ UVERBS_OBJECT_DEVICE, PINION_NS + 1, { { PINION_NS, ANSWER, 100 } } },
	{ UVERBS_OBJECT_MR,
	  UVERBS_METHOD_REG_DMABUF_MR,
	  { { UVERBS_ATTR_REG_DMABUF_MR_HANDLE, NEW, 0 },
	    { UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, HANDLE, 0 },
	    { UVERBS_ATTR_REG_DMABUF_MR_OFFSET, NUMBER, 8 },
	    { UVERBS_ATTR_REG_DMABUF_MR_LENGTH, NUMBER, 8 },
	    { UVERBS_ATTR_REG_DMABUF_MR_IOVA, NUMBER, 8 },
	    { UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, FLAGS, 4 },
	    { UVERBS_ATTR_REG_DMABUF_MR_FD, FILE_, 4 },
	    { UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, ANSWER, 4 },
	    { UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, ANSWER, 4 },
	    { PINION_NS, FLAGS, 4 } } },
	{ UVERBS_OBJECT_CQ,
	  UVERBS_METHOD_CQ_CREATE,
	  { { UVERBS_ATTR_CREATE_CQ_HANDLE, NEW, 0 },
	    { UVERBS_ATTR_CREATE_CQ_CQE, FLAGS, 4 },
	    { UVERBS_ATTR_CREATE_CQ_USER_HANDLE, NUMBER, 8 },
	    { UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, ZERO, 4 },
	    { UVERBS_ATTR_CREATE_CQ_RESP_CQE, ANSWER, 4 },
	    { UVERBS_ATTR_UHW_IN, PAYLOAD, 24 } } },
	{ UVERBS_OBJECT_SRQ,
	  UVERBS_METHOD_SRQ_CREATE,
	  { { UVERBS_ATTR_CREATE_SRQ_HANDLE, NEW, 0 },
	    { UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, HANDLE, 0 },
	    { UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, NUMBER, 8 },
	    { UVERBS_ATTR_CREATE_SRQ_MAX_WR, FLAGS, 4 },
	    { UVERBS_ATTR_CREATE_SRQ_MAX_SGE, FLAGS, 4 },
	    { UVERBS_ATTR_CREATE_SRQ_LIMIT, FLAGS, 4 },
	    { UVERBS_ATTR_CREATE_SRQ_TYPE, ZERO, 8 },
	    { UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, ANSWER, 4 },
	    { UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, ANSWER, 4 },
	    { UVERBS_ATTR_UHW_IN, PAYLOAD, 16 } } },
};

/* Must a call of this method succeed for the test to be meaningful? */
static bool has_to_succeed(const struct method *m)
{
	switch (m->object) {
	case MLX5_IB_OBJECT_DEVX_OBJ:
		/* Nothing can be modified. */
		return m->method != MLX5_IB_METHOD_DEVX_OBJ_MODIFY;
	case UVERBS_OBJECT_MR:
	case UVERBS_OBJECT_SRQ:
		/* Has so many arguments that random ones are hardly ever all valid. */
		return false;
	}
	return true;
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
	static struct pinion_create_cq_req req;
	struct pinion_ring_place *place = (void *)&req;

	memset(&req, 0, sizeof(req));
	if (length == sizeof(req))
		place = &req.place;
	place->umem_id = rnd_below(6);
	place->offset = rnd() & 3 ? 64 * rnd_below(64) : rnd();
	while (!rnd_below(4))
		((uint8_t *)&req)[rnd_below(sizeof(req))] ^= 1 << rnd_below(8);
	raw_in(raw, id, &req, rnd_below(8) ? length : rnd_below(sizeof(req)));
}

static void add_nearly(struct raw *raw, const struct attribute *a)
{
	uint64_t zero = 0, number;

	switch (a->takes) {
	case NEW:
		raw_handle(raw, a->id, 0);
		return;
	case HANDLE:
		raw_handle(raw, a->id, rnd_below(24));
		return;
	case FILE_:
		number = rnd_below(12) - 1;
		if (a->length)
			raw_in(raw, a->id, &number, a->length);
		else if (!rnd_below(4))
			raw_handle(raw, a->id, number);
		return;
	case NUMBER:
		number = rnd() & 1 ? some_address() : rnd_below(20000);
		raw_in(raw, a->id, &number, a->length);
		return;
	case FLAGS:
		number = some_flags();
		raw_in(raw, a->id, &number, a->length);
		return;
	case KIND:
		number = rnd_below(12) ? rnd() & 1 : rnd();
		raw_in(raw, a->id, &number, a->length);
		return;
	case COMMAND:
		command(raw, a->id);
		return;
	case PAYLOAD:
		payload(raw, a->id, a->length);
		return;
	case ANSWER:
		if (makes_key(raw) && rnd() & 1) {
			raw_out(raw, a->id, made, sizeof(made));
			return;
		}
		raw_out(raw, a->id, (void *)(uintptr_t)some_pointer(),
			rnd_below(12) ? a->length : rnd_below(600));
		return;
	default:
		raw_in(raw, a->id, &zero, a->length);
	}
}

static void nearly_right(void)
{
	const struct method *m = &methods[rnd_below(ARRAY_SIZE(methods))];
	const struct attribute *end = m->attribute + ARRAY_SIZE(m->attribute);
	const struct attribute *a;
	struct raw raw;
	bool good;

	raw_begin(&raw, m->object, m->method);
	for (a = m->attribute; a < end && a->takes; a++) {
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

	for (i = 0; kind->each_method && i < ARRAY_SIZE(methods); i++) {
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
	for (i = 0; kind.each_method && i < ARRAY_SIZE(methods); i++) {
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
