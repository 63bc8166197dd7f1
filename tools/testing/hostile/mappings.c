// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mmap of the command fd: only the offsets given out, whole, shared, and not executable; and
 * mappings whose object is destroyed (items M1 to M11).
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rings.h"
#include "victim.h"

static struct raw_end a;

static void connect_to_itself(void)
{
	struct peer self = end_peer(&a.end);

	end_init(&a.end);
	end_connect(&a.end, &self);
}

static void begin(void)
{
	if (!dev.pinion)
		skip("only pinion has these rings");
	raw_end_make(&a, NULL);
	connect_to_itself();
}

static void *try_map(int fd, uint64_t offset, size_t length, int prot,
		     int flags)
{
	void *map = mmap(NULL, length, prot, flags, fd, offset);

	return map == MAP_FAILED ? NULL : map;
}

enum { RW = PROT_READ | PROT_WRITE };

/* A ring can be mapped again, whole, and shows the same bytes. */
static void m1_whole(void)
{
	void *map;

	begin();
	map = MUST(try_map(dev.ctx->cmd_fd, a.rq.offset, a.rq.length, RW,
			   MAP_SHARED));
	a.rq.slots[5] = 0x5a;
	CHECK(!memcmp(map, (void *)a.rq.hdr, a.rq.length));
	CHECK_EQ(munmap(map, a.rq.length), 0);
	CHECK(MUST(try_map(dev.ctx->cmd_fd, a.rq.offset, a.rq.length, PROT_READ,
			   MAP_SHARED)));
}

/* Parts of a ring, and more than it, cannot be mapped. */
static void m2_part(void)
{
	size_t length;

	begin();
	for (length = PAGE; length < a.rq.length + 4 * PAGE; length += PAGE) {
		context("%zu of %zu", length, a.rq.length);
		if (length != a.rq.length)
			CHECK(!try_map(dev.ctx->cmd_fd, a.rq.offset, length, RW,
				       MAP_SHARED));
		if (length < a.rq.length)
			CHECK(!try_map(dev.ctx->cmd_fd, a.rq.offset + length,
				       a.rq.length - length, RW, MAP_SHARED));
	}
}

/* A ring is mapped shared, not executable, and does not grow. */
static void m3_private_or_executable(void)
{
	void *map;

	begin();
	CHECK(!try_map(dev.ctx->cmd_fd, a.rq.offset, a.rq.length, RW,
		       MAP_PRIVATE));
	CHECK(!try_map(dev.ctx->cmd_fd, a.rq.offset, a.rq.length,
		       RW | PROT_EXEC, MAP_SHARED));
	map = MUST(try_map(dev.ctx->cmd_fd, a.rq.offset, a.rq.length, RW,
			   MAP_SHARED));
	CHECK(mprotect(map, a.rq.length, PROT_READ | PROT_EXEC));
	/* It cannot be enlarged, either. */
	CHECK(mremap(map, a.rq.length, a.rq.length + PAGE, MREMAP_MAYMOVE) ==
	      MAP_FAILED);
}

static bool offered(uint64_t offset, size_t length)
{
	struct ring rings[64];
	int n = rings_list(rings, 64), i;

	for (i = 0; i < n; i++)
		if (rings[i].offset == offset && rings[i].length == length)
			return true;
	return false;
}

/* Only offsets that were given out can be mapped, with their lengths. */
static void m4_everywhere(void)
{
	uint64_t offset;
	size_t length;

	begin();
	for (offset = 0; offset < 400 * PAGE; offset += PAGE) {
		for (length = PAGE; length <= 9 * PAGE; length += PAGE) {
			void *map = try_map(dev.ctx->cmd_fd, offset, length, RW,
					    MAP_SHARED);

			context("%#llx + %#zx", (unsigned long long)offset,
				length);
			CHECK_EQ(!!map, offered(offset, length));
			if (map)
				munmap(map, length);
		}
	}
	for (offset = 1ULL << 32; offset < 1ULL << 62; offset <<= 1)
		CHECK(!try_map(dev.ctx->cmd_fd, offset, PAGE, RW, MAP_SHARED));
}

/* An offset is valid only on the fd on which it was given out. */
static void m5_other_file(void)
{
	volatile struct victim *v = victim_start();
	struct ibv_context *other = device_another();
	uint64_t offset;

	begin();
	for (offset = 0; offset < 64 * PAGE; offset += PAGE) {
		CHECK(!try_map(other->cmd_fd, offset, PAGE, RW, MAP_SHARED));
		CHECK(!try_map(other->cmd_fd, offset, a.rq.length, RW,
			       MAP_SHARED));
	}
	victim_end(v);
}

/* The pages of a destroyed ring belong to the mapping alone, and cannot be mapped again. */
static void m6_object_gone(void)
{
	void *map;
	int i;

	begin();
	map = MUST(try_map(dev.ctx->cmd_fd, a.rq.offset, a.rq.length, RW,
			   MAP_SHARED));
	CHECK_EQ(ibv_destroy_qp(a.end.qp), 0);
	/* The pages belong only to the mapping now. */
	memset(map, 0x77, a.rq.length);
	CHECK(!try_map(dev.ctx->cmd_fd, a.rq.offset, a.rq.length, RW,
		       MAP_SHARED));
	for (i = 0; i < 20; i++) {
		struct raw_end other;

		raw_end_make(&other, NULL);
		memset(map, i, a.rq.length);
		CHECK_EQ(other.rq.hdr->user_idx, 0);
		CHECK_EQ(other.rq.hdr->kern_idx, 0);
	}
}

/* A mapping, and its length. */
struct mapping {
	uint8_t *bytes;
	size_t length;
};

static void fill_with_ones(void *arg)
{
	struct mapping *mapping = arg;

	memset(mapping->bytes, 1, mapping->length);
}

static void check_filled(const struct mapping *mapping, uint8_t with)
{
	size_t i;

	for (i = 0; i < mapping->length; i++)
		CHECK_EQ(mapping->bytes[i], with);
}

/*
 * A mapping outlives ibv_close_device(): this process and a child still share its pages, which
 * nobody else writes to.
 */
static void m7_device_closed(void)
{
	volatile struct victim *v = victim_start();
	struct mapping mapping;

	begin();
	mapping.length = a.rq.length;
	mapping.bytes = MUST(try_map(dev.ctx->cmd_fd, a.rq.offset, a.rq.length,
				     RW, MAP_SHARED));
	CHECK_EQ(ibv_close_device(dev.ctx), 0);
	reap_ok(spawn(fill_with_ones, &mapping));
	check_filled(&mapping, 1);
	memset(mapping.bytes, 2, mapping.length);
	usleep(1000);
	check_filled(&mapping, 2);
	CHECK_EQ(munmap(mapping.bytes, mapping.length), 0);
	victim_end(v);
}

static void touch(void *arg)
{
	(void)arg;
	/* A child shares the rings: it can break the queue pair, and nothing else. */
	memset((void *)a.sq.hdr, 0xff, a.sq.length);
	CHECK_EQ(ring_doorbell(&a), 0);
}

/* A child spoils its parent's rings: the queue pair breaks, and others do not notice. */
static void m8_fork(void)
{
	volatile struct victim *v = victim_start();
	int i;

	begin();
	for (i = 0; i < 20; i++) {
		reap_ok(spawn(touch, NULL));
		end_await_state(&a.end, IBV_QPS_ERR);
		CHECK_EQ(end_set_state(&a.end, IBV_QPS_RESET), 0);
		connect_to_itself();
	}
	victim_end(v);
}

/* A process that unmaps its part of a ring harms nobody but itself. */
static void m9_unmapped(void)
{
	begin();
	CHECK_EQ(munmap((void *)a.sq.hdr, a.sq.length), 0);
	CHECK_EQ(munmap((char *)a.rq.hdr + PAGE, PAGE), 0);
	CHECK_EQ(ring_doorbell(&a), 0);
	CHECK_EQ(end_set_state(&a.end, IBV_QPS_ERR), 0);
	CHECK_EQ(end_set_state(&a.end, IBV_QPS_RESET), 0);
	CHECK_EQ(ring_doorbell(&a), 0);
}

/* A message without payload, posted by hand. */
static void message_works(void)
{
	struct pinion_sq_wqe *wqe = ring_wqe(&a.sq);

	wqe->opcode = PINION_OP_RDMA_WRITE;
	wqe->flags = PINION_WQE_SIGNALED;
	ring_publish(&a.sq, 1);
	CHECK_EQ(ring_doorbell(&a), 0);
	expect(await(a.end.scq), IBV_WC_SUCCESS);
}

/* The pages of a mapping may be gone. But what can be read of them is the ring. */
static void read_ring(void *arg)
{
	/* Also where a sanitizer has a handler. */
	signal(SIGBUS, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	CHECK(!memcmp(arg, (void *)a.sq.hdr, a.sq.length));
}

static void ring_or_nothing(void *map)
{
	int status = reap(spawn(read_ring, map));
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	CHECK(!status || signal == SIGBUS || signal == SIGSEGV);
}

static void *second_mapping(void)
{
	return MUST(try_map(dev.ctx->cmd_fd, a.sq.offset, a.sq.length, RW,
			    MAP_SHARED));
}

/* Room at a random address for a mapping that is moved. */
static void *room(void)
{
	void *map = mmap(NULL, a.sq.length, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(map != MAP_FAILED);
	return map;
}

enum { MOVE, FORBID, LOCK, SYNC, SHRINK, SHUFFLE, WAYS };

/* Do something to a mapping. Return: where it is now. */
static void *disturb(void *map, int way)
{
	size_t length = a.sq.length;
	void *moved;

	switch (way) {
	case MOVE:
		moved = mremap(map, length, length,
			       MREMAP_MAYMOVE | MREMAP_FIXED, room());
		CHECK(moved != MAP_FAILED);
		return moved;
	case FORBID:
		CHECK_EQ(mprotect(map, PAGE, PROT_NONE), 0);
		break;
	case LOCK:
		mlock(map, length);
		munlock(map, length);
		break;
	case SYNC:
		msync(map, length, MS_SYNC);
		break;
	case SHRINK:
		CHECK(mremap(map, length, PAGE, 0) == map);
		CHECK_EQ(munmap(map, PAGE), 0);
		return second_mapping();
	case SHUFFLE:
		/* It would map another ring here, if there is one at this offset. */
		remap_file_pages(map, PAGE, 0, a.rq.offset / PAGE, 0);
		break;
	}
	return map;
}

/* Advice up to here is for pages of a process; the one that poisons them is beyond. */
enum { ADVICE = 64 };

/* Whatever is done to a mapping of a ring in use, the ring itself is as it was. */
static void m10_disturbed(void)
{
	int advice, way;
	void *map;

	begin();
	for (advice = 0; advice < ADVICE; advice++) {
		context("advice %d", advice);
		map = second_mapping();
		madvise(map, a.sq.length, advice);
		message_works();
		ring_or_nothing(map);
		CHECK_EQ(munmap(map, a.sq.length), 0);
	}
	for (way = 0; way < WAYS; way++) {
		context("way %d", way);
		map = disturb(second_mapping(), way);
		message_works();
		ring_or_nothing(map);
		madvise(map, a.sq.length, MADV_DONTNEED);
		message_works();
		ring_or_nothing(map);
		CHECK_EQ(munmap(map, a.sq.length), 0);
	}
}

/*
 * A region on demand of a ring's mapping has the ring's bytes, and none when the mapping has lost
 * them; it does not keep the queue pair from ending.
 */
static void m11_on_demand(void)
{
	struct raw_end other;
	struct region to;
	struct link link;
	struct ibv_mr *mr;
	uint8_t *map;

	begin();
	need_odp();
	link_make(&link, NULL);
	to = region_new(PAGE, 0, ALL_ACCESS);
	raw_end_make(&other, NULL);
	map = MUST(try_map(dev.ctx->cmd_fd, other.rq.offset, other.rq.length,
			   RW, MAP_SHARED));
	mr = MUST(ibv_reg_mr(dev.pd, map, other.rq.length,
			     ALL_ACCESS | IBV_ACCESS_ON_DEMAND));
	rnd_fill(other.rq.slots, 100);
	memcpy(to.buf->want, other.rq.slots, 100);
	expect(rdma(&link.a, IBV_WR_RDMA_READ, sge_of(&to, 0, 100),
		    (uintptr_t)map + sizeof(struct pinion_ring_hdr), mr->rkey),
	       IBV_WC_SUCCESS);
	buf_check(to.buf);
	CHECK_EQ(madvise(map, other.rq.length, MADV_DONTNEED), 0);
	expect(rdma(&link.a, IBV_WR_RDMA_READ, sge_of(&to, 0, 100),
		    (uintptr_t)map + sizeof(struct pinion_ring_hdr), mr->rkey),
	       IBV_WC_REM_ACCESS_ERR);
	raw_end_free(&other);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(munmap(map, PAGE), 0);
}

static const struct test tests[] = {
	TEST(m1_whole, "M1 a ring, whole"),
	TEST(m2_part, "M2 a part of a ring, or more"),
	TEST(m3_private_or_executable, "M3 private, executable, growing"),
	TEST(m4_everywhere, "M4 every offset and length"),
	TEST(m5_other_file, "M5 offsets of another file"),
	TEST(m6_object_gone, "M6 the object is gone"),
	TEST(m7_device_closed, "M7 the device is closed"),
	TEST(m8_fork, "M8 a child with the same rings"),
	TEST(m9_unmapped, "M9 a ring that is unmapped"),
	TEST(m10_disturbed, "M10 whatever is done to a mapping"),
	TEST(m11_on_demand, "M11 a ring in a region on demand"),
};

HARNESS_MAIN("Mappings of the command fd", tests)
