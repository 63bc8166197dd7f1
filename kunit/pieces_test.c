// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory in pieces, against a list of its bytes; and which regions may have a piece in a list.
 */
#include <linux/unaligned.h>

#include "../kernel/mem/pieces.c"
#include "keys.h"
#include "random.h"

#define REGIONS		4
#define REGION_LENGTH	0x3000u
#define MAX_PIECES	20
#define BASE		0x7f0000000123ULL

struct pieces_test {
	struct pinion_key *regions[REGIONS];
	u8 klms[MAX_PIECES * 16];
	struct pinion_devx_mkey asked;
};

/* Each block of each region has a unique address; the first two blocks are contiguous. */
static u64 address_of(u32 region, u32 block)
{
	return 0x10000000ULL * (region + 1) + (block < 2 ? block : block * 2) * PAGE_SIZE;
}

static struct pieces_test *new_regions(struct kunit *test, u32 rights)
{
	struct pieces_test *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	u32 i, block;

	KUNIT_ASSERT_NOT_NULL(test, p);
	for (i = 0; i < REGIONS; i++) {
		struct pinion_mtt *mtt = pinion_mtt_alloc(4, PAGE_SHIFT, 0x123);

		KUNIT_ASSERT_NOT_NULL(test, mtt);
		for (block = 0; block < 4; block++)
			*pinion_mtt_slot(mtt, block) = address_of(i, block);
		p->regions[i] = new_region(test, BASE, REGION_LENGTH, rights);
		p->regions[i]->mtt = mtt;
	}
	return p;
}

static void free_tables(struct pieces_test *p)
{
	u32 i;

	for (i = 0; i < REGIONS; i++)
		pinion_mtt_free(p->regions[i]->mtt);
}

static void add(struct pieces_test *p, u32 key, u64 addr, u32 length)
{
	u8 *klm = p->klms + p->asked.num_klms++ * 16;

	put_unaligned_be32(length, klm);
	put_unaligned_be32(key, klm + 4);
	put_unaligned_be64(addr, klm + 8);
	p->asked.length += length;
}

static int claim_all(struct kunit *test, struct pieces_test *p, bool writing,
		     struct pinion_pieces **pieces)
{
	struct keys_test *t = test->priv;

	return pinion_pieces_claim(pieces, &t->keys, &t->pd, &p->asked, p->klms, writing);
}

static void runs_lead_to_the_bytes_of_the_pieces(struct kunit *test)
{
	struct pieces_test *p = new_regions(test, 0);
	struct pinion_pieces *pieces;
	struct rnd_state rnd;
	u32 round, i;

	random_begin(&rnd, 2);
	for (round = 0; round < 200; round++) {
		u32 region[MAX_PIECES], from[MAX_PIECES], length[MAX_PIECES];
		u32 num = 1 + random_below(&rnd, MAX_PIECES);
		u64 offset = 0;

		p->asked.num_klms = 0;
		p->asked.length = 0;
		for (i = 0; i < num; i++) {
			region[i] = random_below(&rnd, REGIONS);
			from[i] = random_below(&rnd, REGION_LENGTH);
			length[i] = 1 + random_below(&rnd, REGION_LENGTH - from[i]);
			add(p, p->regions[region[i]]->value, BASE + from[i], length[i]);
		}
		KUNIT_ASSERT_EQ(test, claim_all(test, p, false, &pieces), 0);
		while (offset < p->asked.length) {
			u64 want = 1 + random_below(&rnd, 2 * PAGE_SIZE);
			u64 got, byte, before = 0;
			void *kva;

			want = min(want, p->asked.length - offset);
			got = pinion_pieces_run(pieces, offset, want, &kva);
			KUNIT_ASSERT_GT(test, got, 0ULL);
			KUNIT_ASSERT_LE(test, got, want);
			for (i = 0; before + length[i] <= offset; i++)
				before += length[i];
			/* A run is within one piece, and each byte is at the place of the piece. */
			KUNIT_ASSERT_LE(test, offset + got, before + length[i]);
			for (byte = 0; byte < got; byte++) {
				u32 at = 0x123 + from[i] + (offset + byte - before);
				u64 address = address_of(region[i], at >> PAGE_SHIFT) +
					      offset_in_page(at);

				KUNIT_ASSERT_PTR_EQ(test, kva + byte,
						    pinion_dma_to_kva(address));
			}
			offset += got;
		}
		pinion_pieces_release(pieces);
	}
	for (i = 0; i < REGIONS; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&p->regions[i]->lent), 0);
	free_tables(p);
}

static void a_region_with_a_piece_lent_lives_on(struct kunit *test)
{
	struct pieces_test *p = new_regions(test, 0);
	struct pinion_pieces *pieces;

	add(p, p->regions[0]->value, BASE, 5);
	add(p, p->regions[0]->value, BASE + 7, 5);
	KUNIT_ASSERT_EQ(test, claim_all(test, p, false, &pieces), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->regions[0]->lent), 2);
	KUNIT_EXPECT_EQ(test, pinion_key_kill_unbound(p->regions[0]), -EBUSY);
	KUNIT_EXPECT_TRUE(test, gate_is_free(p->regions[0]));
	pinion_pieces_release(pieces);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->regions[0]->lent), 0);
	free_tables(p);
}

/* The count of lent pieces is limited, so that it cannot wrap. */
static void a_region_lends_only_so_many_pieces(struct kunit *test)
{
	struct pieces_test *p = new_regions(test, 0);
	atomic_t *lent = &p->regions[1]->lent;
	struct pinion_pieces *pieces;

	add(p, p->regions[0]->value, BASE, 5);
	add(p, p->regions[1]->value, BASE, 5);
	add(p, p->regions[1]->value, BASE, 5);
	atomic_set(lent, PINION_MAX_LENT - 1);
	KUNIT_EXPECT_EQ(test, claim_all(test, p, false, &pieces),
			PINION_DEVX_PIECE_LENT_OUT);
	KUNIT_EXPECT_EQ(test, atomic_read(lent), PINION_MAX_LENT - 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->regions[0]->lent), 0);
	atomic_set(lent, PINION_MAX_LENT - 2);
	KUNIT_ASSERT_EQ(test, claim_all(test, p, false, &pieces), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(lent), PINION_MAX_LENT);
	pinion_pieces_release(pieces);
	atomic_set(lent, 0);
	free_tables(p);
}

/* The last of three pieces has @key; if it is refused, two have to be given back. */
static void expect(struct kunit *test, struct pieces_test *p, u32 key, u64 addr, u32 length,
		   bool writing, int refusal)
{
	struct pinion_pieces *pieces;

	p->asked.num_klms = 0;
	p->asked.length = 0;
	add(p, p->regions[0]->value, BASE, 1);
	add(p, p->regions[1]->value, BASE, 1);
	add(p, key, addr, length);
	KUNIT_EXPECT_EQ(test, claim_all(test, p, writing, &pieces), refusal);
	if (!refusal)
		pinion_pieces_release(pieces);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->regions[0]->lent), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->regions[1]->lent), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->regions[2]->lent), 0);
}

static void not_everything_is_lent(struct kunit *test)
{
	struct pieces_test *p = new_regions(test, IB_ACCESS_LOCAL_WRITE);
	struct keys_test *t = test->priv;
	struct pinion_key *region = p->regions[2];
	u32 key = region->value;

	expect(test, p, key, BASE, REGION_LENGTH, true, 0);
	expect(test, p, key ^ 1, BASE, 1, false, PINION_DEVX_NO_SUCH_PIECE);
	expect(test, p, key ^ 0x100, BASE, 1, false, PINION_DEVX_NO_SUCH_PIECE);
	expect(test, p, t->keys.null->value, 0, 1, false, PINION_DEVX_NO_SUCH_PIECE);
	expect(test, p, key, BASE, 0, false, PINION_DEVX_PIECE_EMPTY);
	expect(test, p, key, BASE - 1, 1, false, PINION_DEVX_PIECE_RANGE);
	expect(test, p, key, BASE + 1, REGION_LENGTH, false, PINION_DEVX_PIECE_RANGE);
	expect(test, p, key, U64_MAX, U32_MAX, false, PINION_DEVX_PIECE_RANGE);
	region->rights = 0;
	expect(test, p, key, BASE, 1, false, 0);
	expect(test, p, key, BASE, 1, true, PINION_DEVX_PIECE_RANGE);
	region->invalidatable = true;
	expect(test, p, key, BASE, 1, false, PINION_DEVX_PIECE_NOT_LENT);
	region->invalidatable = false;
	/* Only whether there is one is looked at. */
	region->pager = (struct pinion_pager *)p;
	expect(test, p, key, BASE, 1, false, PINION_DEVX_PIECE_NOT_LENT);
	region->pager = NULL;
	region->pd = &t->other_pd;
	expect(test, p, key, BASE, 1, false, PINION_DEVX_NO_SUCH_PIECE);
	region->pd = &t->pd;
	region->state = PINION_KEY_FREE;
	expect(test, p, key, BASE, 1, false, PINION_DEVX_NO_SUCH_PIECE);
	free_tables(p);
}

static void pieces_have_to_fill_the_key(struct kunit *test)
{
	struct pieces_test *p = new_regions(test, 0);
	struct pinion_pieces *pieces;

	add(p, p->regions[0]->value, BASE, 5);
	p->asked.length = 6;
	KUNIT_EXPECT_EQ(test, claim_all(test, p, false, &pieces), PINION_DEVX_LIST_SHORT);
	p->asked.length = 4;
	KUNIT_ASSERT_EQ(test, claim_all(test, p, false, &pieces), 0);
	pinion_pieces_release(pieces);
	free_tables(p);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(runs_lead_to_the_bytes_of_the_pieces),
	KUNIT_CASE(a_region_with_a_piece_lent_lives_on),
	KUNIT_CASE(a_region_lends_only_so_many_pieces),
	KUNIT_CASE(not_everything_is_lent),
	KUNIT_CASE(pieces_have_to_fill_the_key),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_pieces",
	.init = keys_test_init,
	.exit = keys_test_exit,
	.test_cases = cases,
};

kunit_test_suites(&suite);
