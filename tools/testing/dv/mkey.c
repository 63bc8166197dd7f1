// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keys made by DEVX commands, over umems and over pieces of other keys: traffic, bounds, rights,
 * and that a key keeps its umem, regions and domain from being destroyed (D14, D15, D18 and more).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "keys.h"
#include "pins.h"

enum { LEN = 300011, AT = 1234 };

static struct link link_;
static struct buf *buf;
static umem_t umem;

static void begin(void)
{
	dv_begin();
	link_make(&link_, NULL);
	buf = buf_new(LEN, AT);
	umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
}

static void end(void)
{
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	CHECK_EQ(vm_pin(0), 0);
}

/* Messages between keys of two umems. */
static void d14_traffic(void)
{
	struct buf *other = buf_new(LEN, 77);
	struct region a, b;
	obj_t obj_a, obj_b;
	umem_t umem_b;

	begin();
	umem_b = MUST(dv_umem(other->data, LEN, UMEM_ACCESS, 4096));
	obj_a = dv_region(buf, umem, &a);
	obj_b = dv_region(other, umem_b, &b);
	exchange(&link_, &a, &b);
	exchange(&link_, &b, &a);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj_a), 0);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj_b), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem_b), 0);
	end();
}

/* Bytes of the umem outside of the key's range cannot be reached by the key. */
static void d14_bounds(void)
{
	struct region local = region_new(LEN, 0, ALL_ACCESS);
	struct prm_mkey mkey = {
		.pdn = dv_pdn(dev.pd),
		.base = 0x7000 + AT % 4096,
		.length = 10000,
	};
	uint32_t key;
	obj_t obj;
	int i;

	begin();
	mkey.umem_id = umem->umem_id;
	obj = dv_key(&mkey, &key);
	for (i = 0; i < 4; i++) {
		static const struct {
			int from;
			uint32_t length;
			bool good;
		} cases[] = { { 0, 10000, true },
			      { -1, 2, false },
			      { 9999, 2, false },
			      { 9999, 1, true } };
		uint64_t addr = mkey.base + cases[i].from;
		struct ibv_sge sge = sge_of(&local, 0, cases[i].length);

		context("case %d", i);
		if (cases[i].good)
			expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge, addr, key),
			       IBV_WC_SUCCESS);
		else
			refused(&link_, IBV_WR_RDMA_READ, sge, addr, key,
				IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	}
	CHECK(!memcmp(local.buf->data + 1, buf->data + 1, 9999));
	/* A wrong low byte is a wrong key. */
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&local, 0, 1), mkey.base,
		key ^ 1, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&local, 0, 1), mkey.base, key,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	region_free(&local);
	end();
}

/* Each right of a key permits its operation alone. */
static void d14_rights(void)
{
	static const struct {
		uint32_t right;
		enum ibv_wr_opcode opcode;
	} cases[] = {
		{ PRM_RR, IBV_WR_RDMA_READ },
		{ PRM_RW, IBV_WR_RDMA_WRITE },
		{ PRM_A, IBV_WR_ATOMIC_FETCH_AND_ADD },
	};
	struct region local = region_new(LEN, 0, ALL_ACCESS);
	struct prm_mkey mkey = { .base = AT % 4096, .length = 5000 };
	uint32_t key;
	size_t i, j;
	obj_t obj;

	begin();
	mkey.pdn = dv_pdn(dev.pd);
	mkey.umem_id = umem->umem_id;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		mkey.rights = PRM_LR | PRM_LW | cases[i].right;
		obj = dv_key(&mkey, &key);
		for (j = 0; j < ARRAY_SIZE(cases); j++) {
			uint64_t addr = (mkey.base + 7) & ~7ULL;
			struct ibv_sge sge = sge_of(&local, 0, 8);
			struct ibv_wc wc;

			context("right %zu, operation %zu", i, j);
			wc = j == 2 ? atomic_op(&link_.a, cases[j].opcode, sge,
						addr, key, 1, 0) :
				      rdma(&link_.a, cases[j].opcode, sge, addr,
					   key);
			expect(wc,
			       i == j ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
			if (i != j)
				link_renew(&link_);
		}
		CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	}
	context("%s", "");
	buf_accept(buf);
	region_free(&local);
	end();
}

/* A umem that was pinned for reading cannot be written, whatever rights a key has. */
static void d14_read_only(void)
{
	uint8_t *map = mmap(NULL, 4 * PAGE, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct prm_mkey mkey = { .length = 100 };
	umem_t readable;
	uint32_t key;
	obj_t obj;

	begin();
	readable = MUST(dv_umem(map, 4 * PAGE, IBV_ACCESS_REMOTE_READ, ~0ULL));
	mkey.pdn = dv_pdn(dev.pd);
	mkey.umem_id = readable->umem_id;
	mkey.rights = PRM_LR | PRM_LW;
	dv_key_refused(&mkey, PRM_UMEM_RIGHTS);
	mkey.rights = PRM_LR | PRM_RW;
	dv_key_refused(&mkey, PRM_UMEM_RIGHTS);
	mkey.rights = PRM_LR | PRM_A;
	dv_key_refused(&mkey, PRM_UMEM_RIGHTS);
	mkey.rights = PRM_LR | PRM_RR;
	obj = dv_key(&mkey, &key);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(readable), 0);
	end();
}

/* A umem is busy as long as it has a key, and the key still works. */
static void d15_busy(void)
{
	struct region region, other = region_new(LEN, 7, ALL_ACCESS);
	obj_t obj, again;
	struct ibv_pd *pd;
	long pins;
	int i;

	begin();
	pins = vm_pin(0);
	obj = dv_region(buf, umem, &region);
	again = dv_region(buf, umem, &region);
	for (i = 0; i < 3; i++)
		CHECK_EQ(mlx5dv_devx_umem_dereg(umem), EBUSY);
	CHECK_EQ(vm_pin(0), pins);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), EBUSY);
	/* The key that was refused to go still works. */
	exchange(&link_, &other, &region);
	/* The domain of a key cannot be deallocated. */
	pd = dev.pd;
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(mlx5dv_devx_obj_destroy(again), 0);
	region_free(&other);
	end();
}

/*
 * An offset counts from the umem's first byte; the base address must have the same offset in a
 * page.
 */
static void d18_offsets(void)
{
	struct region local = region_new(LEN, 0, ALL_ACCESS);
	struct prm_mkey mkey = { .length = 1000 };
	uint32_t key;
	int i;

	begin();
	mkey.pdn = dv_pdn(dev.pd);
	mkey.umem_id = umem->umem_id;
	for (i = 0; i < 200; i++) {
		uint64_t at = rnd_below(LEN);
		uint64_t in_page = (AT + at) % PAGE;
		uint64_t left = LEN - at;
		obj_t obj;

		context("offset %llu", (unsigned long long)at);
		mkey.umem_offset = at;
		mkey.length = 1 + rnd_below(left);
		/* A base with another offset in a page is refused. */
		mkey.base = 0x5000 + (in_page + 1 + rnd_below(PAGE - 1)) % PAGE;
		if (in_page)
			dv_key_refused(&mkey, PRM_UMEM_PLACE);
		mkey.base = 0x5000 + in_page;
		obj = dv_key(&mkey, &key);
		expect(rdma(&link_.a, IBV_WR_RDMA_READ,
			    sge_of(&local, 0, mkey.length), mkey.base, key),
		       IBV_WC_SUCCESS);
		CHECK(!memcmp(local.buf->data, buf->data + at, mkey.length));
		CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
		mkey.length = left + 1;
		dv_key_refused(&mkey, PRM_UMEM_PLACE);
	}
	context("%s", "");
	mkey.length = 1;
	mkey.base = (AT + LEN) % PAGE;
	mkey.umem_offset = LEN;
	dv_key_refused(&mkey, PRM_UMEM_PLACE);
	mkey.umem_offset = UINT64_MAX;
	dv_key_refused(&mkey, PRM_UMEM_PLACE);
	region_free(&local);
	end();
}

/* --------------------------------------------------------- keys made of keys */

enum { PIECES = 40 };

/* A key of pieces: what is written and read is in the pieces, in order. */
static void vk1_pieces(void)
{
	struct region parts[3], all, local = region_new(LEN, 9, ALL_ACCESS);
	struct prm_klm klms[PIECES];
	struct prm_mkey mkey = {
		.mode = PRM_KLM,
		.base = 0x123456789,
		.klms = klms,
		.num_klms = PIECES,
	};
	uint8_t *from[PIECES];
	uint32_t key;
	obj_t obj, part;
	int i, j;

	begin();
	part = dv_region(buf, umem, &parts[0]);
	parts[1] = region_new(LEN, 99, ALL_ACCESS);
	parts[2] = region_new(LEN, 999, IBV_ACCESS_LOCAL_WRITE);
	for (i = 0; i < PIECES; i++) {
		struct region *r = &parts[i % 3];
		uint32_t at = i * (LEN / PIECES) + rnd_below(100);

		from[i] = r->buf->data + at;
		klms[i].length = 1 + rnd_below(LEN / PIECES - 100);
		klms[i].key = r->lkey;
		klms[i].addr = r->base + at;
		mkey.length += klms[i].length;
	}
	mkey.pdn = dv_pdn(dev.pd);
	obj = dv_key(&mkey, &key);
	all = (struct region){ .base = mkey.base, .lkey = key, .rkey = key };
	for (j = 0; j < 20; j++) {
		uint64_t at = rnd_below(mkey.length);
		uint64_t length = 1 + rnd_below(mkey.length - at), done = 0;

		/* Write through the list, and expect the bytes piece by piece. */
		rnd_fill(local.buf->data, LEN);
		expect(rdma(&link_.a, IBV_WR_RDMA_WRITE,
			    sge_of(&local, 0, length), all.base + at, all.rkey),
		       IBV_WC_SUCCESS);
		for (i = 0; i < PIECES && done < length; i++) {
			uint64_t n = klms[i].length;

			if (at >= n) {
				at -= n;
				continue;
			}
			n = n - at < length - done ? n - at : length - done;
			CHECK(!memcmp(from[i] + at, local.buf->data + done, n));
			done += n;
			at = 0;
		}
		CHECK_EQ(done, length);
	}
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&local, 0, 2),
		all.base + mkey.length - 1, all.rkey, IBV_WC_REM_ACCESS_ERR,
		PINION_SYN_REMOTE);
	/* Keys and regions in the list can neither be destroyed nor changed. */
	CHECK_EQ(ibv_dereg_mr(parts[1].mr), EBUSY);
	CHECK_EQ(mlx5dv_devx_obj_destroy(part), EBUSY);
	CHECK_EQ(ibv_rereg_mr(parts[2].mr, IBV_REREG_MR_CHANGE_ACCESS, dev.pd,
			      NULL, 0, 0),
		 IBV_REREG_MR_ERR_CMD);
	CHECK_EQ(errno, EBUSY);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	CHECK_EQ(mlx5dv_devx_obj_destroy(part), 0);
	for (i = 1; i < 3; i++)
		region_free(&parts[i]);
	region_free(&local);
	end();
}

/* An atomic whose word is in two pieces is refused. */
static void vk1_words(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP
	};
	struct region local = region_new(LEN, 0, ALL_ACCESS);
	struct region target = region_new(LEN, 0, ALL_ACCESS);
	struct prm_klm klms[] = {
		{ 8, target.lkey, target.base + 64 },
		{ 4, target.lkey, target.base + 128 },
		{ 4, target.lkey, target.base + 256 },
		{ 8, target.lkey, target.base + 512 },
		{ 8, target.lkey, target.base + 1020 },
	};
	struct prm_mkey mkey = {
		.mode = PRM_KLM,
		.base = 0x5000,
		.length = 32,
		.klms = klms,
		.num_klms = ARRAY_SIZE(klms),
	};
	uint64_t one = 1, zero = 0, before;
	uint32_t key;
	size_t i, at;
	obj_t obj;

	begin();
	mkey.pdn = dv_pdn(dev.pd);
	obj = dv_key(&mkey, &key);
	for (i = 0; i <= ARRAY_SIZE(opcodes); i++) {
		for (at = 0; at < mkey.length; at += 8) {
			bool good = at == 0 || at == 16;
			uint64_t offset = at ? 512 : 64;
			struct ibv_wc wc;

			context("operation %zu at %zu", i, at);
			memset(target.buf->want + offset, 0, 8);
			memset(target.buf->data + offset, 0, 8);
			if (i < ARRAY_SIZE(opcodes)) {
				wc = atomic_op(&link_.a, opcodes[i],
					       sge_of(&local, 8, 8),
					       mkey.base + at, key, i ? 0 : 1,
					       1);
			} else if (link_.a.ex) {
				ibv_wr_start(link_.a.ex);
				link_.a.ex->wr_flags = IBV_SEND_SIGNALED;
				ibv_wr_atomic_write(link_.a.ex, key,
						    mkey.base + at, &one);
				CHECK_EQ(ibv_wr_complete(link_.a.ex), 0);
				wc = await(link_.a.scq);
			} else {
				continue;
			}
			if (good) {
				expect(wc, IBV_WC_SUCCESS);
				memcpy(target.buf->want + offset, &one, 8);
				if (i < ARRAY_SIZE(opcodes)) {
					memcpy(&before, local.buf->data + 8, 8);
					CHECK_EQ(before, zero);
					memcpy(local.buf->want + 8, &zero, 8);
				}
			} else {
				expect_why(wc, IBV_WC_REM_INV_REQ_ERR,
					   PINION_SYN_REMOTE);
				link_renew(&link_);
			}
			buf_check(target.buf);
			buf_check(local.buf);
		}
	}
	context("%s", "");
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	region_free(&target);
	region_free(&local);
	end();
}

/* What cannot be a piece of a key is refused, with the syndrome. */
static void vk2_bad_pieces(void)
{
	struct region good = region_new(LEN, 9, ALL_ACCESS);
	struct region readable = region_new(LEN, 9, IBV_ACCESS_REMOTE_READ);
	struct prm_klm klms[3] = {
		{ 100, good.lkey, good.base },
		{ 100, good.lkey, good.base + 1000 },
		{ 100, good.lkey, good.base + 2000 },
	};
	struct prm_mkey mkey = {
		.mode = PRM_KLM,
		.length = 300,
		.klms = klms,
		.num_klms = 3,
	};
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct region elsewhere = region_reg(pd, good.buf, ALL_ACCESS);
	uint32_t inner;
	obj_t obj;

	begin();
	mkey.pdn = dv_pdn(dev.pd);
	klms[2].key = good.lkey ^ 1;
	dv_key_refused(&mkey, PRM_NO_PIECE);
	klms[2].key = elsewhere.lkey;
	dv_key_refused(&mkey, PRM_NO_PIECE);
	klms[2].key = readable.lkey;
	klms[2].addr = readable.base;
	dv_key_refused(&mkey, PRM_PIECE_RANGE);
	mkey.rights = PRM_LR | PRM_RR;
	obj = dv_key(&mkey, &inner);
	/* A list must not contain a list. */
	klms[2].key = inner;
	klms[2].addr = 0;
	dv_key_refused(&mkey, PRM_NO_PIECE);
	klms[2].key = good.lkey;
	klms[2].addr = good.base + LEN - 99;
	dv_key_refused(&mkey, PRM_PIECE_RANGE);
	klms[2].addr = good.base;
	klms[2].length = 0;
	dv_key_refused(&mkey, PRM_PIECE_EMPTY);
	klms[2].length = 99;
	dv_key_refused(&mkey, PRM_LIST_SHORT);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	/* The failed commands hold no references. */
	CHECK_EQ(ibv_dereg_mr(elsewhere.mr), 0);
	region_free(&good);
	region_free(&readable);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	end();
}

static const struct test tests[] = {
	TEST(d14_traffic, "D14-data-flows-through-a-key-over-a-umem"),
	TEST(d14_bounds, "D14-and-not-beyond-it"),
	TEST(d14_rights, "D14-each-right-by-itself"),
	TEST(d14_read_only, "D14-memory-pinned-to-be-read-is-not-written"),
	TEST(d15_busy, "D15-dereg-is-refused-while-in-use"),
	TEST(d18_offsets, "D18-offsets-count-from-the-first-byte"),
	TEST(vk1_pieces, "VK1-pieces-of-other-keys"),
	TEST(vk1_words, "VK1-atomics-on-pieces"),
	TEST(vk2_bad_pieces, "VK2-what-cannot-be-a-piece"),
};

HARNESS_MAIN("keys made by DEVX commands", tests)
