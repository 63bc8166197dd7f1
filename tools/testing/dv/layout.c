// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Layouts: keys whose ranges are set by requests (UMR) on queue pairs made by command. Traffic by
 * such keys, the end of a region that has a range in one, and invalid requests (items VL1 to VL8).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "raw_queue.h"

enum { LEN = 30000, MOST = 28, UMR = 0x25, HEAD = 7, FREE = 1 << 6 };

/* Bits for rights in the third byte of the key's context. */
enum { WRITES = 1 << 3, PEER_READS = 1 << 4, PEER_WRITES = 1 << 5 };

static struct raw_queue a, b;
static struct region from, to;
static uint32_t key;
static obj_t key_obj;

/* A UMR request: its segments behind the control segment, and the ranges added so far. */
struct umr {
	uint8_t segments[(HEAD + 2 * MOST) * SEGMENT];
	uint32_t ranges;
	uint64_t length;
};

static obj_t make_key(bool peers_invalidate, uint32_t *number)
{
	uint8_t in[PRM_MKEY] = {}, out[PRM_HEAD] = {};
	obj_t obj;

	prm_put32(in, 0, PRM_CREATE_MKEY << 16);
	prm_put32(in, 0x10, 1 << 30 | 1 << 15 | 1 << 10 | 2 << 8);
	prm_put32(in, 0x14, 0xffffff00);
	prm_put32(in, 0x1c, (uint32_t)peers_invalidate << 24 | dv_pdn(dev.pd));
	prm_put32(in, 0x44, MOST);
	obj = MUST(mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out,
					  sizeof(out)));
	*number = prm_number(out) << 8;
	return obj;
}

static void begin(bool peers_invalidate)
{
	dv_begin();
	from = region_new(LEN, 3, ALL_ACCESS);
	to = region_new(LEN, 5, ALL_ACCESS);
	raw_make_pair(&a, &b, false);
	key_obj = make_key(peers_invalidate, &key);
}

static void end(void)
{
	raw_free(&a);
	raw_free(&b);
	CHECK_EQ(mlx5dv_devx_obj_destroy(key_obj), 0);
	region_free(&from);
	region_free(&to);
}

static struct umr umr_new(uint8_t rights)
{
	struct umr umr = {};

	umr.segments[0] = 0x80;
	/* Mask of changes: free, tag, rights, length. */
	prm_put64(umr.segments, 8, 1 << 29 | 1 << 13 | 0xf << 18 | 1);
	umr.segments[48 + 2] = rights;
	prm_put32(umr.segments, 48 + 4, 0xffffff00 | (key & 0xff));
	return umr;
}

static void umr_add(struct umr *umr, uint32_t lkey, uint64_t addr,
		    uint32_t length)
{
	uint8_t *klm = umr->segments + (HEAD + umr->ranges++) * SEGMENT;

	prm_put32(klm, 0, length);
	prm_put32(klm, 4, lkey);
	prm_put64(klm, 8, addr);
	umr->length += length;
}

/* Adds the head of an interleaved list, of @times rounds; then its @num ranges must be added. */
static void umr_add_round(struct umr *umr, uint32_t times, uint16_t num)
{
	uint8_t *round = umr->segments + (HEAD + umr->ranges++) * SEGMENT;

	prm_put32(round, 4, 0x400);
	prm_put32(round, 8, times);
	prm_put32(round, 12, num);
}

static void umr_post(struct umr *umr)
{
	prm_put32(umr->segments, 4, umr->ranges << 16);
	prm_put64(umr->segments, 48 + 24, umr->length);
	raw_post(&a, UMR, RAW_SIGNALED, key, umr->segments, HEAD + umr->ranges);
	raw_ring(&a);
}

static void umr_done(struct umr *umr)
{
	struct raw_cqe cqe;

	umr_post(umr);
	cqe = raw_await(&a);
	CHECK_EQ(cqe.opcode, REQUEST);
	CHECK_EQ(cqe.sent, UMR);
}

/* Transfers @length bytes between offset @at of the key, used as an lkey, and region @r. */
static struct raw_cqe move(uint8_t opcode, const struct region *r, uint64_t at,
			   uint32_t length)
{
	uint8_t segments[2 * SEGMENT];

	raw_address(segments, r, 0);
	prm_put32(segments, SEGMENT, length);
	prm_put32(segments, SEGMENT + 4, key);
	prm_put64(segments, SEGMENT + 8, at);
	raw_post(&a, opcode, RAW_SIGNALED, 0, segments, 2);
	raw_ring(&a);
	return raw_await(&a);
}

/* The same, with the key used as an rkey. */
static struct raw_cqe move_remote(uint8_t opcode, const struct region *r,
				  uint64_t at, uint32_t length)
{
	uint8_t segments[2 * SEGMENT];

	prm_put64(segments, 0, at);
	prm_put32(segments, 8, key);
	prm_put32(segments, 12, 0);
	raw_data(segments + SEGMENT, r, 0, length);
	raw_post(&a, opcode, RAW_SIGNALED, 0, segments, 2);
	raw_ring(&a);
	return raw_await(&a);
}

/* Adds random ranges of @from. Stores for each byte of the key its offset in @from in @bytes. */
static uint32_t any_ranges(struct umr *umr, uint32_t *bytes)
{
	uint32_t num = rnd_in(1, MOST), i, k, n = 0;

	for (i = 0; i < num; i++) {
		uint32_t length = rnd_in(1, LEN / MOST);
		uint32_t at = rnd_in(0, LEN - length);

		umr_add(umr, from.lkey, from.base + at, length);
		for (k = 0; k < length; k++)
			bytes[n++] = at + k;
	}
	return n;
}

static uint32_t any_rounds(struct umr *umr, uint32_t *bytes)
{
	uint32_t num = rnd_in(1, 6), times = rnd_in(1, 20), i, k, t, n = 0;
	uint32_t length[6], at[6], stride[6], each = 0;

	umr_add_round(umr, times, num);
	for (i = 0; i < num; i++) {
		length[i] = rnd_in(1, 200);
		stride[i] = rnd_in(0, 1000);
		at[i] = rnd_in(0, LEN - 200 - 20 * 1000);
		umr_add(umr, from.lkey, from.base + at[i], length[i]);
		prm_put32(umr->segments + (HEAD + umr->ranges - 1) * SEGMENT, 0,
			  stride[i] << 16 | length[i]);
		each += length[i];
	}
	umr->length = times * each;
	for (t = 0; t < times; t++)
		for (i = 0; i < num; i++)
			for (k = 0; k < length[i]; k++)
				bytes[n++] = at[i] + t * stride[i] + k;
	return n;
}

/* A key of random ranges: each byte is read from and written to where a model says. */
static void scattered(int rounds)
{
	static uint32_t bytes[LEN];
	static uint8_t before[LEN];
	uint32_t n, i, at, length;
	struct umr umr;
	int round;

	begin(false);
	for (round = 0; round < 60; round++) {
		umr = umr_new(WRITES | PEER_READS | PEER_WRITES);
		n = rounds ? any_rounds(&umr, bytes) : any_ranges(&umr, bytes);
		CHECK(n <= LEN);
		umr_done(&umr);
		at = rnd_below(n);
		length = rnd_in(1, n - at);
		/* Read from the key, by its owner and by a peer. */
		rnd_fill(from.buf->data, LEN);
		rnd_fill(to.buf->data, LEN);
		if (round & 1)
			CHECK_EQ(move(RAW_WRITE, &to, at, length).opcode,
				 REQUEST);
		else
			CHECK_EQ(move_remote(RAW_READ, &to, at, length).opcode,
				 REQUEST);
		for (i = 0; i < length; i++)
			CHECK_EQ(to.buf->data[i],
				 from.buf->data[bytes[at + i]]);
		/* Write to the key. If ranges overlap, the last write counts. */
		rnd_fill(to.buf->data, LEN);
		memcpy(before, from.buf->data, LEN);
		for (i = 0; i < length; i++)
			before[bytes[at + i]] = to.buf->data[i];
		if (round & 2)
			CHECK_EQ(move(RAW_READ, &to, at, length).opcode,
				 REQUEST);
		else
			CHECK_EQ(move_remote(RAW_WRITE, &to, at, length).opcode,
				 REQUEST);
		CHECK(!memcmp(before, from.buf->data, LEN));
	}
	end();
}

/* A refused request breaks the queue pair, so make a new one. */
static void again(void)
{
	raw_free(&a);
	raw_free(&b);
	raw_make_pair(&a, &b, false);
}

static void denied(struct raw_cqe cqe, uint8_t syndrome)
{
	CHECK_EQ(cqe.opcode, BAD_REQUEST);
	CHECK_EQ(cqe.syndrome, syndrome);
	again();
}

/*
 * A region that has a range in a key can be deregistered like any other. Then the key does not
 * give access to its memory any more; ranges of other regions still work.
 */
static void vl3_a_region_ends(void)
{
	struct region other;
	struct umr umr;
	uint8_t *kept;

	begin(false);
	other = region_new(4096, 7, ALL_ACCESS);
	umr = umr_new(WRITES | PEER_READS | PEER_WRITES);
	umr_add(&umr, from.lkey, from.base, 100);
	umr_add(&umr, other.lkey, other.base + 1, 100);
	umr_done(&umr);
	CHECK_EQ(move_remote(RAW_READ, &to, 50, 100).opcode, REQUEST);
	CHECK(!memcmp(to.buf->data + 50, other.buf->data + 1, 50));
	CHECK_EQ(ibv_dereg_mr(other.mr), 0);
	kept = MUST(malloc(4096));
	memcpy(kept, other.buf->data, 4096);
	denied(move(RAW_WRITE, &to, 100, 1), 0x04);
	denied(move_remote(RAW_WRITE, &to, 100, 1), 0x13);
	denied(move_remote(RAW_WRITE, &to, 99, 2), 0x13);
	CHECK(!memcmp(kept, other.buf->data, 4096));
	CHECK_EQ(move_remote(RAW_READ, &to, 0, 100).opcode, REQUEST);
	CHECK(!memcmp(to.buf->data, from.buf->data, 100));
	/* Nor does its range in the key delay deregistration of this region. */
	CHECK_EQ(ibv_dereg_mr(from.mr), 0);
	denied(move_remote(RAW_READ, &to, 0, 1), 0x13);
	from.mr = MUST(ibv_reg_mr(dev.pd, from.buf->data, LEN, ALL_ACCESS));
	free(kept);
	buf_free(other.buf);
	end();
}

/* The rights of both the key and the region are required; the key's can be changed alone. */
static void vl4_rights(void)
{
	struct region readable;
	struct umr umr;

	begin(false);
	readable = region_new(4096, 7, IBV_ACCESS_REMOTE_READ);
	umr = umr_new(PEER_READS);
	umr_add(&umr, from.lkey, from.base, 100);
	umr_done(&umr);
	CHECK_EQ(move_remote(RAW_READ, &to, 0, 100).opcode, REQUEST);
	denied(move_remote(RAW_WRITE, &to, 0, 100), 0x13);
	denied(move(RAW_READ, &to, 0, 100), 0x04);
	umr = umr_new(WRITES | PEER_WRITES);
	prm_put64(umr.segments, 8, 1 << 29 | 0xf << 18);
	umr_done(&umr);
	CHECK_EQ(move_remote(RAW_WRITE, &to, 0, 100).opcode, REQUEST);
	CHECK(!memcmp(to.buf->data, from.buf->data, 100));
	denied(move_remote(RAW_READ, &to, 0, 100), 0x13);
	/* One byte more than the key has. */
	denied(move_remote(RAW_WRITE, &to, 0, 101), 0x13);
	/* A range of a read-only region, whatever rights the key has. */
	umr = umr_new(WRITES | PEER_READS | PEER_WRITES);
	umr_add(&umr, readable.lkey, readable.base, 100);
	umr_done(&umr);
	CHECK_EQ(move_remote(RAW_READ, &to, 0, 100).opcode, REQUEST);
	denied(move_remote(RAW_WRITE, &to, 0, 100), 0x13);
	region_free(&readable);
	end();
}

/* A peer can invalidate a key if it was created so. Afterwards its ranges can be set again. */
static void invalidated(bool by_peers)
{
	uint8_t segment[SEGMENT];
	struct umr umr;

	begin(by_peers);
	umr = umr_new(PEER_READS);
	umr_add(&umr, from.lkey, from.base, 100);
	umr_done(&umr);
	raw_data(segment, &from, 0, 8);
	raw_post_recv(&a, segment, 1);
	raw_data(segment, &to, 0, 8);
	raw_post(&b, RAW_SEND_INV, RAW_SIGNALED, key, segment, 1);
	raw_ring(&b);
	if (by_peers) {
		CHECK_EQ(raw_await(&b).opcode, REQUEST);
		CHECK_EQ(raw_await(&a).imm, key);
		denied(move_remote(RAW_READ, &to, 0, 100), 0x13);
		umr_done(&umr);
	} else {
		CHECK_EQ(raw_await(&b).opcode, BAD_REQUEST);
		again();
	}
	CHECK_EQ(move_remote(RAW_READ, &to, 0, 100).opcode, REQUEST);
	/* Its owner can always invalidate it. */
	umr = umr_new(0);
	umr.segments[0] |= 8;
	umr.segments[48] = FREE;
	prm_put64(umr.segments, 8, 1 << 29);
	umr_done(&umr);
	denied(move_remote(RAW_READ, &to, 0, 100), 0x13);
	end();
}

/* Such a key is invalidated by a peer, and by its owner, and is refused from then on. */
static void vl5_invalidated(void)
{
	invalidated(true);
	invalidated(false);
}

/* Makes the valid request @umr invalid. */
static void lie(struct umr *umr, int kind)
{
	switch (kind) {
	case 0: /* longer than its ranges */
		umr->length = 101;
		break;
	case 1:
		umr->length = ~0ULL;
		break;
	case 2: /* no rounds */
		umr->ranges = 0;
		umr_add_round(umr, 0, 1);
		umr_add(umr, from.lkey, from.base, 100);
		break;
	case 3: /* no bytes */
		umr->length = 0;
		prm_put32(umr->segments, HEAD * SEGMENT, 0);
		break;
	case 4: /* too many ranges */
		while (umr->ranges < MOST + 4)
			umr_add(umr, from.lkey, from.base, 1);
		break;
	case 5: /* an unknown key */
		key ^= 0x100;
		break;
	case 6: /* a key that is no layout */
		key = from.lkey;
		break;
	}
}

/* Invalid requests are refused, and the key is unchanged. Random bytes do no harm. */
static void vl6_lies(void)
{
	uint32_t mine;
	struct umr good, bad;
	int i, accepted = 0;

	begin(false);
	mine = key;
	good = umr_new(PEER_READS);
	umr_add(&good, from.lkey, from.base, 100);
	umr_done(&good);
	for (i = 0; i <= 6; i++) {
		context("lie %d", i);
		bad = good;
		lie(&bad, i);
		umr_post(&bad);
		key = mine;
		CHECK_EQ(raw_await(&a).opcode, BAD_REQUEST);
		again();
		CHECK_EQ(move_remote(RAW_READ, &to, 0, 100).opcode, REQUEST);
		CHECK(!memcmp(to.buf->data, from.buf->data, 100));
	}
	for (i = 0; i < 40; i++) {
		context("any %d", i);
		bad = umr_new(PEER_READS);
		bad.ranges = rnd_in(1, MOST);
		bad.length = rnd_below(2) ? rnd_below(1000) : rnd();
		rnd_fill(bad.segments + HEAD * SEGMENT, bad.ranges * SEGMENT);
		if (rnd_below(2))
			prm_put32(bad.segments, HEAD * SEGMENT + 4, 0x400);
		umr_post(&bad);
		if (raw_await(&a).opcode == REQUEST) {
			accepted++;
			denied(move_remote(RAW_READ, &to, 0, 1), 0x13);
		} else {
			again();
		}
	}
	context(" ");
	note("%d of %d accepted", accepted, i);
	CHECK(accepted && accepted < i);
	end();
}

/*
 * The owner invalidates the key on a UD queue pair. Where other requests have an address, this one
 * has arbitrary bytes.
 */
static void vl7_by_datagrams(void)
{
	struct raw_queue c;
	uint8_t out[PRM_HEAD];
	struct raw_cqe cqe;
	struct umr umr;

	begin(false);
	umr = umr_new(PEER_READS);
	umr_add(&umr, from.lkey, from.base, 100);
	umr_done(&umr);
	raw_places(&c, false);
	c.asked.service = PRM_UD;
	c.qp = MUST(raw_try_qp(&c, out));
	c.qpn = prm_number(out);
	raw_connect(&c, 0);
	umr = umr_new(0);
	umr.segments[0] |= 8;
	umr.segments[48] = FREE;
	prm_put64(umr.segments, 8, 1 << 29);
	memset(umr.segments + 16, 0xff, 32);
	raw_post(&c, UMR, RAW_SIGNALED, key, umr.segments, HEAD);
	raw_ring(&c);
	cqe = raw_await(&c);
	CHECK_EQ(cqe.opcode, REQUEST);
	denied(move_remote(RAW_READ, &to, 0, 100), 0x13);
	raw_free(&c);
	end();
}

/* A region under a key alternates between two buffers. */
struct alternating {
	struct ibv_mr *mr;
	struct buf *bufs[2];
	_Atomic bool stop;
	unsigned long changes;
};

enum { LONG = 1000000, PATH_MTU = 1024 };

static void *alternate(void *arg)
{
	struct alternating *r = arg;

	while (!r->stop) {
		CHECK_EQ(ibv_rereg_mr(r->mr,
				      IBV_REREG_MR_CHANGE_TRANSLATION |
					      IBV_REREG_MR_CHANGE_ACCESS,
				      NULL, r->bufs[++r->changes & 1]->data,
				      LONG, ALL_ACCESS | IBV_ACCESS_ZERO_BASED),
			 0);
		usleep(rnd_below(500));
	}
	return NULL;
}

/*
 * All of a message is of the same memory. By packets a READ asks for 64 packets at a time, and this
 * holds for each part.
 */
static bool is_uniform(const uint8_t *data, bool is_read)
{
	return bytes_are_uniform(data, LONG,
				 is_read && dev.packets ? 64 * PATH_MTU : LONG);
}

/*
 * A region under a key is registered again for other memory, while messages by the key are longer
 * than one stay in its gate: each is from one memory, or refused.
 */
static void vl8_a_region_changes(void)
{
	unsigned long done = 0, refused = 0;
	struct alternating r = {};
	double until;
	pthread_t thread;
	struct raw_cqe cqe;
	struct region sink;
	struct umr umr;
	int i;

	begin(false);
	sink = region_new(LONG, 7, ALL_ACCESS);
	for (i = 0; i < 2; i++) {
		r.bufs[i] = buf_new(LONG, 0);
		memset(r.bufs[i]->data, i ? 0xbb : 0xaa, LONG);
	}
	r.mr = MUST(ibv_reg_mr(dev.pd, r.bufs[0]->data, LONG,
			       ALL_ACCESS | IBV_ACCESS_ZERO_BASED));
	umr = umr_new(WRITES | PEER_READS | PEER_WRITES);
	umr_add(&umr, r.mr->lkey, 0, LONG);
	umr_done(&umr);
	CHECK_EQ(pthread_create(&thread, NULL, alternate, &r), 0);
	until = now() + opt.seconds;
	for (i = 0; go_on(until, done && refused); i++) {
		cqe = i & 1 ? move(RAW_WRITE, &sink, 0, LONG) :
			      move_remote(RAW_READ, &sink, 0, LONG);
		if (cqe.opcode != REQUEST) {
			denied(cqe, i & 1 ? 0x04 : 0x13);
			refused++;
			continue;
		}
		if (!is_uniform(sink.buf->data, !(i & 1)))
			FAIL("a message has both the old and the new memory");
		done++;
	}
	r.stop = true;
	pthread_join(thread, NULL);
	note("%lu changes, %lu messages, %lu refused", r.changes, done,
	     refused);
	CHECK(done && refused);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	region_free(&sink);
	end();
}

static const struct test tests[] = {
	TEST_OF(scattered, false, "VL1 keys of lists of ranges"),
	TEST_OF(scattered, true, "VL2 keys of ranges over and over"),
	TEST(vl3_a_region_ends, "VL3 a region under a key ends (class 8)"),
	TEST(vl4_rights, "VL4 rights of both"),
	TEST(vl5_invalidated, "VL5 invalidated by a peer, and by its owner"),
	TEST(vl6_lies, "VL6 requests that lie (class 3)"),
	TEST(vl7_by_datagrams, "VL7 invalidated on a queue pair for datagrams"),
	TEST(vl8_a_region_changes,
	     "VL8 a region under a key changes (class 7)"),
};

HARNESS_MAIN("mlx5dv: keys that requests fill in", tests)
