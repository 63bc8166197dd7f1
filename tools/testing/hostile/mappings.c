// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mmap of the command fd: only the offsets given out, whole, shared, and not executable; and
 * mappings whose object is destroyed (items M1 to M9).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "raw.h"
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
};

HARNESS_MAIN("Mappings of the command fd", tests)
