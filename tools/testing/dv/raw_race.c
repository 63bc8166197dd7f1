// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Threads that create, connect, change, ring and destroy the same raw queues at random, each call
 * in the middle of the others, on memory that they overwrite and unmap meanwhile (items VH13,
 * VH14). The calls are made without a library, as its objects may not be destroyed twice.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "killed.h"
#include "pins.h"
#include "raw.h"
#include "raw_queue.h"
#include "victim.h"

enum { ARENA = 1 << 18, THREADS = 4, SLOTS = 6 };

enum kind { UMEM, UAR, CQ, QP, RMP, MKEY, KINDS };

/* An object that any thread may destroy at any time. 0: none; else its handle + 1. */
struct slot {
	uint64_t handle;
	uint32_t number;
	uint32_t ring, record, log, state;
	uint16_t posted;
};

struct counts {
	unsigned long made[KINDS], ended[KINDS], busy, refused, changed;
	unsigned long posted, events, answers;
};

static struct slot slots[KINDS][SLOTS];
static struct counts *counts;
static uint8_t *arena;
static uint32_t lkey, rkey, pdn, eqn;
static int channel, answers, bell_fd, fd;
static bool over;
static struct prm_path self;

static uint64_t pick(uint64_t *seed, uint64_t end)
{
	return rnd_next(seed) % end;
}

static void count(unsigned long *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

static struct slot *any(uint64_t *seed, enum kind kind)
{
	return &slots[kind][pick(seed, SLOTS)];
}

static uint64_t handle_of(const struct slot *slot)
{
	return __atomic_load_n(&slot->handle, __ATOMIC_ACQUIRE) - 1;
}

static void destroy(enum kind kind, uint64_t handle)
{
	static const struct {
		uint16_t object, method, attr;
	} of[] = {
		[UMEM] = { MLX5_IB_OBJECT_DEVX_UMEM,
			   MLX5_IB_METHOD_DEVX_UMEM_DEREG,
			   MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE },
		[UAR] = { MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY,
			  MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE },
		[CQ] = { MLX5_IB_OBJECT_DEVX_OBJ,
			 MLX5_IB_METHOD_DEVX_OBJ_DESTROY,
			 MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE },
	};
	int i = kind < CQ ? (int)kind : CQ, err;
	struct raw raw;

	raw_begin(&raw, of[i].object, of[i].method);
	raw_handle(&raw, of[i].attr, handle);
	err = raw_call(fd, &raw);
	/*
	 * EBUSY: others use it, or another thread makes a call with it. ENOENT, EINVAL: another
	 * thread has destroyed it, and the handle may be that of an object of another kind.
	 */
	if (err && err != EBUSY && err != ENOENT && err != EINVAL)
		FAIL("destroying an object of kind %d: %d", kind, err);
	count(err ? &counts->busy : &counts->ended[kind]);
}

/* Put an object into a slot; what was there is destroyed, now or when it is no longer used. */
static void put(struct slot *slot, enum kind kind, struct slot fresh)
{
	uint64_t old = __atomic_exchange_n(&slot->handle, 0, __ATOMIC_ACQ_REL);

	slot->number = fresh.number;
	slot->ring = fresh.ring;
	slot->record = fresh.record;
	slot->log = fresh.log;
	slot->state = 0;
	slot->posted = 0;
	__atomic_store_n(&slot->handle, fresh.handle, __ATOMIC_RELEASE);
	count(&counts->made[kind]);
	if (old)
		destroy(kind, old - 1);
}

static void make_umem(uint64_t *seed)
{
	uint64_t at = pick(seed, ARENA / PAGE) * PAGE;
	uint32_t handle, id;

	if (pick(seed, 2))
		at = 0;
	if (!raw_reg_umem(fd, arena + at, ARENA - at, &handle, &id))
		put(any(seed, UMEM), UMEM,
		    (struct slot){ .handle = handle + 1ULL,
				   .number = id,
				   .ring = at });
	else
		count(&counts->refused);
}

static void make_uar(uint64_t *seed)
{
	uint64_t type = pick(seed, 2), offset;
	struct ib_uverbs_attr *handle;
	uint32_t id, length;
	struct raw raw;
	void *map;

	raw_begin(&raw, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
	handle = raw_handle(&raw, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0);
	raw_in(&raw, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, &type, 8);
	raw_out(&raw, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &id, 4);
	raw_out(&raw, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, 8);
	raw_out(&raw, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length, 4);
	if (raw_call(fd, &raw)) {
		count(&counts->refused);
		return;
	}
	map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   offset);
	if (map != MAP_FAILED) {
		memset((uint8_t *)map + 0x600, pick(seed, 256), 8);
		munmap(map, length);
	}
	put(any(seed, UAR), UAR,
	    (struct slot){ .handle = handle->data + 1, .number = id });
}

static void make(uint64_t *seed, enum kind kind, const void *in, size_t length,
		 struct slot fresh)
{
	uint8_t out[PRM_HEAD] = {};
	struct ib_uverbs_attr *handle;
	struct raw raw;
	int err;

	raw_begin(&raw, MLX5_IB_OBJECT_DEVX_OBJ,
		  MLX5_IB_METHOD_DEVX_OBJ_CREATE);
	handle = raw_handle(&raw, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, 0);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, in, length);
	raw_out(&raw, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, out, sizeof(out));
	err = raw_call(fd, &raw);
	if (err) {
		if (err != EREMOTEIO)
			FAIL("creating an object of kind %d: %d", kind, err);
		count(&counts->refused);
		return;
	}
	fresh.handle = handle->data + 1;
	fresh.number = prm_number(out);
	put(any(seed, kind), kind, fresh);
}

static void make_cq(uint64_t *seed)
{
	struct slot *umem = any(seed, UMEM);
	struct prm_cq cq = {
		.umem_id = umem->number,
		.record_umem_id = umem->number,
		.eqn = eqn,
		.offset = pick(seed, ARENA / 2 / 64) * 64,
		.record = pick(seed, ARENA / 2 / 8) * 8,
		.log_size = pick(seed, 7),
		.stride = pick(seed, 2),
		.overruns = pick(seed, 3) == 0,
	};
	uint8_t in[PRM_CQ];

	prm_create_cq(in, &cq);
	make(seed, CQ, in, sizeof(in),
	     (struct slot){ .ring = umem->ring + cq.offset,
			    .record = umem->ring + cq.record,
			    .log = cq.log_size });
}

static void make_qp(uint64_t *seed)
{
	struct slot *umem = any(seed, UMEM);
	struct prm_qp qp = {
		.umem_id = umem->number,
		.record_umem_id = umem->number,
		.pdn = pdn,
		.send_cqn = any(seed, CQ)->number,
		.recv_cqn = any(seed, CQ)->number,
		.offset = pick(seed, ARENA / 2 / 64) * 64,
		.record = pick(seed, ARENA / 2 / 8) * 8,
		.log_sq = pick(seed, 7),
		.log_rq = pick(seed, 5),
		.log_stride = pick(seed, 4),
		.service = pick(seed, 3),
		.rq = pick(seed, 4) ? PRM_RQ_OWN : PRM_RQ_SHARED,
		.rmpn = any(seed, RMP)->number,
		.no_send_record = !pick(seed, 4),
		.uar = any(seed, UAR)->number,
	};
	uint64_t receives = (uint64_t)SEGMENT << (qp.log_rq + qp.log_stride);
	uint8_t in[PRM_QP];

	if (qp.rq == PRM_RQ_SHARED)
		receives = 0;
	prm_create_qp(in, &qp);
	make(seed, QP, in, sizeof(in),
	     (struct slot){ .ring = umem->ring + qp.offset + receives,
			    .record = umem->ring + qp.record,
			    .log = qp.log_sq });
}

static void make_rmp(uint64_t *seed)
{
	struct slot *umem = any(seed, UMEM);
	struct prm_rmp rmp = {
		.umem_id = umem->number,
		.record_umem_id = umem->number,
		.pdn = pdn,
		.offset = pick(seed, ARENA / 2 / 64) * 64,
		.record = pick(seed, ARENA / 2 / 8) * 8,
		.log_size = pick(seed, 6),
		.log_stride = 5 + pick(seed, 4),
		.limit = pick(seed, 3),
		.cyclic = pick(seed, 2),
	};
	uint8_t in[PRM_RMP];

	prm_create_rmp(in, &rmp);
	make(seed, RMP, in, sizeof(in),
	     (struct slot){ .record = umem->ring + rmp.record });
}

static void make_mkey(uint64_t *seed)
{
	struct slot *umem = any(seed, UMEM);
	struct prm_mkey mkey = {
		.pdn = pdn,
		.tag = pick(seed, 256),
		.length = 1 + pick(seed, ARENA),
		.octwords = 1 + pick(seed, ARENA / PAGE),
		.log_page = 12,
		.umem_id = umem->number,
	};
	uint8_t in[PRM_MKEY + PRM_MAX_KLMS * 16];
	size_t length = prm_create_mkey(in, &mkey);

	make(seed, MKEY, in, length, (struct slot){});
}

static void modify(uint64_t handle, const void *in, size_t length)
{
	uint8_t out[PRM_HEAD];
	struct raw raw;

	raw_begin(&raw, MLX5_IB_OBJECT_DEVX_OBJ,
		  MLX5_IB_METHOD_DEVX_OBJ_MODIFY);
	raw_handle(&raw, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, handle);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, in, length);
	raw_out(&raw, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, out, sizeof(out));
	if (!raw_call(fd, &raw))
		count(&counts->changed);
}

static void change(uint64_t *seed)
{
	static const uint16_t others[] = { PRM_2RST_QP, PRM_2ERR_QP,
					   PRM_RTS2RTS_QP, PRM_SQERR2RTS_QP,
					   PRM_INIT2INIT_QP };
	static const uint16_t steps[] = { PRM_RST2INIT_QP, PRM_INIT2RTR_QP,
					  PRM_RTR2RTS_QP };
	struct slot *qp = any(seed, QP);
	struct prm_path path = self;
	uint8_t in[PRM_QP];
	unsigned int i;

	path.remote_qpn = any(seed, QP)->number;
	path.qkey = QKEY;
	if (!pick(seed, 3)) {
		prm_change_qp(in, others[pick(seed, ARRAY_SIZE(others))],
			      qp->number, &path);
		modify(handle_of(qp), in, sizeof(in));
		qp->posted = 0;
		return;
	}
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		prm_change_qp(in, steps[i], qp->number, &path);
		modify(handle_of(qp), in, sizeof(in));
	}
}

static void change_rmp(uint64_t *seed)
{
	struct slot *rmp = any(seed, RMP);
	uint8_t in[PRM_RMP];

	prm_modify_rmp(in, rmp->number, pick(seed, 3));
	modify(handle_of(rmp), in, sizeof(in));
}

static void query(uint64_t *seed)
{
	static const uint16_t opcodes[] = { [CQ] = PRM_QUERY_CQ,
					    [QP] = PRM_QUERY_QP,
					    [RMP] = PRM_QUERY_RMP,
					    [MKEY] = PRM_QUERY_MKEY };
	enum kind kind = CQ + pick(seed, KINDS - CQ);
	struct slot *slot = any(seed, kind);
	uint8_t in[PRM_HEAD], out[PRM_QP_OUT + PRM_RMP_OUT];
	uint64_t out_length = PRM_QP_OUT, cookie = 7;
	struct raw raw;

	prm_head(in, opcodes[kind], slot->number);
	if (pick(seed, 2)) {
		raw_begin(&raw, MLX5_IB_OBJECT_DEVX_OBJ,
			  MLX5_IB_METHOD_DEVX_OBJ_QUERY);
		raw_handle(&raw, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE,
			   handle_of(slot));
		raw_in(&raw, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, in,
		       sizeof(in));
		raw_out(&raw, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, out,
			sizeof(out));
		raw_call(fd, &raw);
		return;
	}
	raw_begin(&raw, MLX5_IB_OBJECT_DEVX_OBJ,
		  MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY);
	raw_handle(&raw, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE,
		   handle_of(slot));
	raw_in(&raw, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN, in, sizeof(in));
	raw_in(&raw, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, &out_length, 8);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, &cookie, 8);
	raw_handle(&raw, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, answers);
	raw_call(fd, &raw);
	if (read(answers, out, sizeof(out)) > 0)
		count(&counts->answers);
}

static void subscribe(uint64_t *seed)
{
	struct slot *slot = pick(seed, 2) ? any(seed, CQ) : any(seed, QP);
	uint16_t types[] = { slot < slots[QP] ? 0 : 0x05 };
	uint64_t cookie = 1 + pick(seed, 1000), told[16];
	struct raw raw;

	raw_begin(&raw, MLX5_IB_OBJECT_DEVX,
		  MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT);
	raw_handle(&raw, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, channel);
	raw_handle(&raw, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE,
		   handle_of(slot));
	raw_in(&raw, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, types,
	       sizeof(types));
	if (pick(seed, 3))
		raw_in(&raw, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, &cookie,
		       8);
	else
		raw_in(&raw, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, &bell_fd,
		       4);
	raw_call(fd, &raw);
	while (read(channel, told, sizeof(told)) > 0)
		count(&counts->events);
}

static void word(uint32_t at, uint32_t value)
{
	/* A slot may change while it is read, so it may name any place. */
	if (at <= ARENA - 4)
		__atomic_store_n((uint32_t *)(arena + (at & ~3U)),
				 htobe32(value), __ATOMIC_RELEASE);
}

/* A request between random places of the arena, where the rings are, too. */
static void send_any(uint64_t *seed)
{
	static const uint8_t opcodes[] = { RAW_NOP,	  RAW_WRITE,
					   RAW_WRITE_IMM, RAW_SEND,
					   RAW_SEND_IMM,  RAW_READ,
					   RAW_FETCH_ADD, RAW_SEND_INV };
	struct slot *qp = any(seed, QP);
	uint16_t index = qp->posted;
	uint32_t at = qp->ring + (index & ((1U << qp->log) - 1)) * BLOCK;
	uint8_t opcode = opcodes[pick(seed, ARRAY_SIZE(opcodes))];
	uint64_t mask = opcode == RAW_FETCH_ADD ? ~7ULL : ~0ULL, i;

	word(at, index << 8 | opcode);
	word(at + 4, qp->number << 8 | (opcode == RAW_NOP ? 1 : 3));
	word(at + 8, RAW_SIGNALED);
	word(at + 12, pick(seed, 1 << 20));
	for (i = 1; i < 4; i++) {
		uint64_t place = ((uintptr_t)arena + pick(seed, ARENA / 2)) &
				 mask;
		bool address = i == 1 && opcode >= RAW_WRITE &&
			       opcode != RAW_SEND && opcode != RAW_SEND_IMM;

		word(at + i * 16, address ? place >> 32 : 1 + pick(seed, 3000));
		word(at + i * 16 + 4, address ? (uint32_t)place : lkey);
		word(at + i * 16 + 8, address ? rkey : place >> 32);
		word(at + i * 16 + 12, (uint32_t)place);
	}
	qp->posted = index + 1;
	word(qp->record, pick(seed, 100));
	word(qp->record + 4, qp->posted);
	count(&counts->posted);
	/* All that may have been polled, was; and arm. */
	word(any(seed, CQ)->record, pick(seed, 1 << 8));
	word(any(seed, CQ)->record + 4, pick(seed, 1 << 8));
	word(any(seed, RMP)->record, pick(seed, 40));
}

static void unmap(uint64_t *seed)
{
	uint8_t *at = arena + pick(seed, ARENA / PAGE) * PAGE;

	switch (pick(seed, 3)) {
	case 0:
		madvise(at, PAGE, MADV_DONTNEED);
		break;
	case 1:
		CHECK(mmap(at, PAGE, PROT_READ | PROT_WRITE,
			   MAP_FIXED | MAP_ANONYMOUS | MAP_PRIVATE, -1,
			   0) == at);
		break;
	default:
		rnd_next(seed);
		memset(at, *seed, PAGE);
	}
}

static void act(uint64_t *seed)
{
	enum kind kind = pick(seed, KINDS);
	struct slot *slot = any(seed, kind);
	uint64_t handle = __atomic_load_n(&slot->handle, __ATOMIC_ACQUIRE);

	switch (pick(seed, 32)) {
	case 0:
		make_umem(seed);
		break;
	case 1:
		make_uar(seed);
		break;
	case 2:
	case 3:
		make_cq(seed);
		break;
	case 4:
	case 5:
	case 6:
		make_qp(seed);
		break;
	case 7:
		make_rmp(seed);
		break;
	case 8:
		make_mkey(seed);
		break;
	case 9:
	case 10:
	case 11:
	case 12:
	case 13:
		change(seed);
		break;
	case 14:
		change_rmp(seed);
		break;
	case 15:
	case 16:
		query(seed);
		break;
	case 17:
		subscribe(seed);
		break;
	case 18:
		if (handle)
			destroy(kind, handle - 1);
		break;
	case 19:
		if (!pick(seed, 8))
			unmap(seed);
		break;
	default:
		send_any(seed);
	}
}

static void *run(void *arg)
{
	uint64_t seed = (uintptr_t)arg;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		act(&seed);
	return NULL;
}

static int file(uint16_t object, uint16_t method, uint16_t attr, int flags_attr)
{
	struct ib_uverbs_attr *handle;
	uint32_t flags = 0;
	struct raw raw;

	raw_begin(&raw, object, method);
	handle = raw_handle(&raw, attr, 0);
	if (flags_attr >= 0)
		raw_in(&raw, flags_attr, &flags, sizeof(flags));
	CHECK_EQ(raw_call(fd, &raw), 0);
	CHECK_EQ(fcntl(handle->data_s64, F_SETFL, O_NONBLOCK), 0);
	return handle->data_s64;
}

/* Shared with the child that is killed. */
static void share_counts(void)
{
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(counts != MAP_FAILED);
}

static void prepare(void)
{
	struct ibv_mr *mr;
	uint64_t seed = rnd();
	int i;

	dv_begin_queues();
	if (!dev.pinion)
		skip("the calls are for pinion");
	fd = dev.ctx->cmd_fd;
	arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(arena != MAP_FAILED);
	mr = MUST(ibv_reg_mr(dev.pd, arena, ARENA, ALL_ACCESS));
	lkey = mr->lkey;
	rkey = mr->rkey;
	pdn = dv_pdn(dev.pd);
	CHECK_EQ(mlx5dv_devx_query_eqn(dev.ctx, 0, &eqn), 0);
	self = raw_path(0, 0x123456);
	channel = file(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD,
		       MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC,
		       MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE,
		       MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS);
	answers = file(MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD,
		       MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC,
		       MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE, -1);
	bell_fd = eventfd(0, EFD_NONBLOCK);
	for (i = 0; i < SLOTS; i++) {
		make_umem(&seed);
		make_uar(&seed);
	}
}

static void start(pthread_t threads[THREADS])
{
	int i;

	for (i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, run,
					(void *)(uintptr_t)rnd()),
			 0);
}

static bool enough(void)
{
	return counts->made[CQ] > 20 && counts->made[QP] > 20 &&
	       counts->made[RMP] > 5 && counts->made[MKEY] > 5 &&
	       counts->changed > 50 && counts->posted > 500 && counts->events &&
	       counts->answers && counts->busy;
}

static void tell(void)
{
	note("umems %lu, pages %lu, cqs %lu, qps %lu, pools %lu, keys %lu made; %lu refused, %lu busy",
	     counts->made[UMEM], counts->made[UAR], counts->made[CQ],
	     counts->made[QP], counts->made[RMP], counts->made[MKEY],
	     counts->refused, counts->busy);
	note("%lu changed, %lu posted, %lu events, %lu answers",
	     counts->changed, counts->posted, counts->events, counts->answers);
}

/* Threads make, change, ring and end the same queues: nobody else notices. */
static void vh13_threads(void)
{
	volatile struct victim *victim = victim_start();
	double end = now() + opt.seconds;
	pthread_t threads[THREADS];
	int i;

	share_counts();
	prepare();
	start(threads);
	while (go_on(end, enough()))
		usleep(10000);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	tell();
	CHECK(enough());
	victim_end(victim);
}

static void race_until_killed(void *arg)
{
	pthread_t threads[THREADS];

	rnd_seed((uintptr_t)arg);
	/* A context of its own, which ends with this process. */
	device_open();
	prepare();
	start(threads);
	for (;;)
		pause();
}

/* Processes are killed while their threads do that: nothing stays pinned. */
static void vh14_killed(void)
{
	volatile struct victim *victim = victim_start();
	double end = now() + opt.seconds;
	long long pinned = pinned_pages();
	int kills = 0;

	share_counts();
	while (go_on(end, kills >= 5 && enough())) {
		int pid = spawn(race_until_killed, (void *)(uintptr_t)rnd());

		usleep(patience(0.02) * 1e6 + rnd_below(300000));
		killed(pid);
		kills++;
	}
	tell();
	note("%d killed", kills);
	CHECK(enough());
	CHECK_EQ(pinned_pages(), pinned);
	victim_end(victim);
}

static const struct test tests[] = {
	LONG_TEST(vh13_threads,
		  "VH13 threads make, change, ring and end the same queues",
		  300),
	LONG_TEST(vh14_killed, "VH14 killed in the middle of that", 300),
};

HARNESS_MAIN("mlx5dv: raw queues that several threads use at once", tests)
