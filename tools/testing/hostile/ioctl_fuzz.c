// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random bytes for all methods of all objects, and almost valid calls of the driver's own
 * methods (items I7, I8 and I11).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "dmabuf.h"
#include "fuzz.h"
#include "link.h"
#include "methods.h"
#include "prm.h"
#include "raw.h"

static struct link link_;
static int fd;

static uint8_t *arena;
/* A call of no particular method has returned. */
static void returned(int err)
{
	fuzz_returned(-1, err);
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
	returned(raw_call(fd, &raw));
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
		returned(raw_command(fd, command, arena, rnd_below(64) * 4,
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
				       (int)sizeof(call)) < 0 ?
				 errno :
				 0);
	}
}

/* The place of answers with keys, and some keys' numbers. */
static uint8_t made[16];
static uint32_t numbers[4];

static bool makes_key(const struct raw *raw)
{
	return raw->hdr.object_id == MLX5_IB_OBJECT_DEVX_OBJ &&
	       raw->hdr.method_id == MLX5_IB_METHOD_DEVX_OBJ_CREATE;
}

/* Objects that each process begins with, as long as no call destroys them. */
static struct {
	uint32_t umem, dm, mr, mw;
	uint32_t pool, pool_number; /* a shared receive queue by command */
	int dmabuf, dmabuf_uses;
} first;

/* Is the call to be one that a well-behaved program could make? */
static bool is_usual;

static bool usual_now(void)
{
	return is_usual ? rnd_below(12) : !rnd_below(8);
}

static bool modifies(const struct raw *raw)
{
	return raw->hdr.object_id == MLX5_IB_OBJECT_DEVX_OBJ &&
	       raw->hdr.method_id == MLX5_IB_METHOD_DEVX_OBJ_MODIFY;
}

static uint32_t usual_handle(uint16_t object)
{
	switch (object) {
	case UVERBS_OBJECT_PD:
		return dev.pd->handle;
	case UVERBS_OBJECT_CQ:
		return link_.a.scq->handle;
	case UVERBS_OBJECT_QP:
		return link_.a.qp->handle;
	case UVERBS_OBJECT_MR:
		return first.mr;
	case UVERBS_OBJECT_MW:
		return first.mw;
	case UVERBS_OBJECT_DM:
		return first.dm;
	case MLX5_IB_OBJECT_DEVX_UMEM:
		return first.umem;
	case MLX5_IB_OBJECT_DEVX_OBJ:
		return first.pool;
	}
	return rnd_below(24);
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
	if (modifies(raw) && rnd() & 3) {
		prm_modify_rmp(in, first.pool_number, rnd_below(40));
		length = PRM_RMP;
	}
	while (!usual_now() && !rnd_below(3))
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

/* As a well-behaved program would have it. False: as add_nearly() does. */
static bool add_usual(struct raw *raw, const struct attribute *a, bool ends)
{
	struct ib_uverbs_qp_cap cap = { .max_send_wr = a->usual,
					.max_recv_wr = a->usual,
					.max_send_sge = 1,
					.max_recv_sge = 1 };
	uint64_t number = a->usual;

	switch (a->kind) {
	case ATTR_HANDLE:
		raw_handle(raw, a->id,
			   ends ? rnd_below(24) : usual_handle(a->length));
		return true;
	case ATTR_FILE:
		number = first.dmabuf;
		/* One that is optional is left out. */
		if (a->length)
			raw_in(raw, a->id, &number, a->length);
		return true;
	case ATTR_ADDRESS:
		number = (uintptr_t)arena;
		break;
	case ATTR_NUMBER:
	case ATTR_FLAGS:
	case ATTR_ZERO:
		break;
	case ATTR_KIND:
		if (a->length != sizeof(cap))
			break;
		raw_in(raw, a->id, &cap, sizeof(cap));
		return true;
	case ATTR_PLACE:
		return true;
	default:
		return false;
	}
	raw_in(raw, a->id, &number, a->length);
	return true;
}

static void add_nearly(struct raw *raw, const struct attribute *a, bool ends)
{
	uint64_t number[4] = {};

	if (usual_now() && add_usual(raw, a, ends))
		return;
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
		raw_out(raw, a->id,
			usual_now() ? arena : (void *)(uintptr_t)some_pointer(),
			usual_now() || rnd_below(12) ? a->length :
						       rnd_below(600));
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
	int err;

	is_usual = rnd() & 1;
	raw_begin(&raw, m->object, m->method);
	for (a = m->attribute; a < end && a->kind; a++) {
		/* Sometimes one attribute is missing, or there twice. */
		if (rnd_below(60))
			add_nearly(&raw, a, m->ends);
		if (!rnd_below(100))
			add_nearly(&raw, a, m->ends);
	}
	err = raw_call(fd, &raw);
	fuzz_returned(m - methods, err);
	first.dmabuf_uses += !err && m->object == UVERBS_OBJECT_MR &&
			     m->method == UVERBS_METHOD_REG_DMABUF_MR;
	if (!err && makes_key(&raw))
		numbers[rnd_below(4)] = prm_get32(made, 8) & 0xffffff;
}

static uint32_t umem_new(void)
{
	uint32_t id;

	CHECK_EQ(raw_reg_umem(fd, arena, 4 * PAGE, &first.umem, &id), 0);
	return id;
}

static uint32_t pd_number(void)
{
	struct pinion_alloc_pd_resp resp;
	struct raw raw;

	raw_begin(&raw, UVERBS_OBJECT_PD, PINION_METHOD_PD_QUERY);
	raw_handle(&raw, PINION_ATTR_PD_QUERY_HANDLE, dev.pd->handle);
	raw_out(&raw, PINION_ATTR_PD_QUERY_RESP, &resp, sizeof(resp));
	CHECK_EQ(raw_call(fd, &raw), 0);
	return resp.pdn;
}

static void pool_new(void)
{
	uint8_t in[PRM_RMP], out[PRM_HEAD] = {};
	struct prm_rmp rmp = {
		.umem_id = umem_new(),
		.pdn = pd_number(),
		.record = 2 * PAGE,
		.log_size = 5,
		.log_stride = 6,
	};
	struct ib_uverbs_attr *handle;
	struct raw raw;

	rmp.record_umem_id = rmp.umem_id;
	prm_create_rmp(in, &rmp);
	raw_begin(&raw, MLX5_IB_OBJECT_DEVX_OBJ,
		  MLX5_IB_METHOD_DEVX_OBJ_CREATE);
	handle = raw_handle(&raw, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, 0);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, in, sizeof(in));
	raw_out(&raw, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, out, sizeof(out));
	CHECK_EQ(raw_call(fd, &raw), 0);
	first.pool = handle->data;
	first.pool_number = prm_number(out);
}

/* One of each kind; the descriptors of those that were there before are closed. */
static void dmabufs_new(void)
{
	static struct dmabuf dmabufs[DMABUF_KINDS];
	int i;

	first.dmabuf = -1;
	first.dmabuf_uses = 0;
	for (i = 0; i < DMABUF_KINDS; i++) {
		if (!dmabuf_there(&dmabuf_kinds[i]))
			continue;
		if (dmabufs[i].all)
			dmabuf_free(&dmabufs[i]);
		dmabufs[i] = dmabuf_new(&dmabuf_kinds[i], 4 * PAGE);
		first.dmabuf = dmabufs[i].fd;
	}
}

/* Some objects, whose handles are small numbers. */
static void begin(void)
{
	struct ibv_alloc_dm_attr some_memory = { .length = 5000 };
	struct ibv_ah_attr ah = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = dev.gid, .sgid_index = dev.gid_index },
	};

	link_make(&link_, NULL);
	MUST(ibv_create_ah(dev.pd, &ah));
	MUST(ibv_alloc_pd(dev.ctx));
	first.mr =
		region_new(9000, 5, ALL_ACCESS | IBV_ACCESS_MW_BIND).mr->handle;
	first.mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1))->handle;
	first.dm = MUST(ibv_alloc_dm(dev.ctx, &some_memory))->handle;
	fd = dev.ctx->cmd_fd;
	arena = mmap(NULL, 5 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(arena != MAP_FAILED);
	munmap(arena + 4 * PAGE, PAGE);
	pool_new();
	dmabufs_new();
}

/* One kind of calls: they go on until @least have succeeded, or at least one of each method. */
struct kind {
	void (*call)(void);
	unsigned long least;
	bool each_method;
};

static const struct kind *kind;

static void call(void)
{
	/* The kernel's own checks of DMA count at most seven mappings of a page. */
	enum { MOST_USES = 4 };

	if (first.dmabuf_uses >= MOST_USES)
		dmabufs_new();
	garbage_arena();
	kind->call();
}

static bool some_dmabuf(void)
{
	int i;

	for (i = 0; i < DMABUF_KINDS; i++) {
		if (dmabuf_there(&dmabuf_kinds[i]))
			return true;
	}
	return false;
}

/* Can a call of this method succeed? */
static bool can_succeed(const struct method *m)
{
	return m->object != UVERBS_OBJECT_MR ||
	       m->method != UVERBS_METHOD_REG_DMABUF_MR || some_dmabuf();
}

/* A method of which no call has succeeded yet; NULL: there is none. */
static const struct method *missing(void)
{
	size_t i;

	for (i = 0; kind->each_method && i < methods_count; i++) {
		if (!fuzz_seen->good_of[i] && can_succeed(&methods[i]))
			return &methods[i];
	}
	return NULL;
}

static bool enough(void)
{
	return fuzz_seen->good >= kind->least && !missing();
}

/*
 * Random calls of a kind by processes that may die of it: a bystander goes on, and enough
 * succeed.
 */
static void garbage(const void *with)
{
	static const struct fuzz fuzz = {
		.word = "calls",
		.begin = begin,
		.call = call,
		.enough = enough,
		.calls = 5000,
		.calls_in_short = 1000,
	};

	if (!dev.pinion)
		skip("only pinion has these methods");
	kind = with;
	fuzz_run(&fuzz);
	CHECK(fuzz_seen->good >= kind->least);
	if (missing())
		FAIL("%s never succeeded", missing()->name);
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
