// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_dereg_mr(3): what can be deregistered, what cannot yet, and what can be reused (items A80
 * to A87).
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "memory.h"
#include "pins.h"
#include "writer.h"

enum { LEN = 33333 };

static struct link link_;
static struct region all;

static void begin(void)
{
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
}

/* After ibv_dereg_mr() both keys are refused for each kind of message, and no byte changes. */
static void a80_keys_end(void)
{
	struct region r;
	struct ibv_sge sink;

	begin();
	r = region_new(LEN, 5, ALL_ACCESS);
	exchange(&link_, &all, &r);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 8), r.base, r.rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8), r.base, r.rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&r, 0, 8), all.base,
			all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_UNKNOWN);
	link_renew(&link_);
	sink = sge_of(&r, 0, 100);
	post_recv(&link_.b, &sink, 1, 0);
	expect(send_sge(&link_.a, sge_of(&all, 0, 100)), IBV_WC_REM_OP_ERR);
	expect(await(link_.b.rcq), IBV_WC_LOC_PROT_ERR);
	buf_check(r.buf);
	buf_check(all.buf);
}

static struct ibv_mw *bind(enum ibv_mw_type type, struct region *r,
			   uint64_t length)
{
	struct ibv_mw *mw = MUST(ibv_alloc_mw(dev.pd, type));
	struct ibv_mw_bind_info info = {
		.mr = r->mr,
		.addr = r->base,
		.length = length,
		.mw_access_flags = IBV_ACCESS_REMOTE_READ,
	};
	struct ibv_mw_bind type1 = { .send_flags = IBV_SEND_SIGNALED,
				     .bind_info = info };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = mw,
			     .rkey = ibv_inc_rkey(mw->rkey),
			     .bind_info = info },
	};

	if (type == IBV_MW_TYPE_1) {
		CHECK_EQ(ibv_bind_mw(link_.a.qp, mw, &type1), 0);
	} else {
		post(&link_.a, &wr);
		mw->rkey = wr.bind_mw.rkey;
	}
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	return mw;
}

/*
 * While something depends on the region, dereg returns a positive errno, and the region stays
 * usable.
 */
static void still_there(struct region *r)
{
	int err = ibv_dereg_mr(r->mr);

	if (dev.pinion)
		CHECK_EQ(err, EBUSY);
	CHECK(err == EINVAL || err == EBUSY);
	exchange(&link_, &all, r);
}

/* A region with a bound window is not deregistered: a positive errno, and it still works. */
static void a81_positive_errno(void)
{
	struct region r;
	struct ibv_mw *mw;

	begin();
	r = region_new(LEN, 5, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	mw = bind(IBV_MW_TYPE_1, &r, 100);
	still_there(&r);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
}

/* A region with a bound window of type 1 is busy until the window is unbound. */
static void a82_type1(void)
{
	struct ibv_mw_bind unbind = { .send_flags = IBV_SEND_SIGNALED };
	struct region r;
	struct ibv_mw *mw;

	begin();
	r = region_new(LEN, 5, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	mw = bind(IBV_MW_TYPE_1, &r, LEN);
	still_there(&r);
	CHECK_EQ(ibv_bind_mw(link_.a.qp, mw, &unbind), 0);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

/* A region with bound windows of type 2 is busy until the last of them ends. */
static void a82_type2(void)
{
	struct region r;
	struct ibv_mw *mw, *other;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
	};

	begin();
	r = region_new(LEN, 5, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	mw = bind(IBV_MW_TYPE_2, &r, LEN);
	other = bind(IBV_MW_TYPE_2, &r, 7);
	still_there(&r);
	wr.invalidate_rkey = mw->rkey;
	post(&link_.a, &wr);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	still_there(&r);
	CHECK_EQ(ibv_dealloc_mw(other), 0);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

/* What the device has written to pages of a file is there when they are read again. */
static void a83_dirty(void)
{
	struct region local = region_new(9000, 1, ALL_ACCESS);
	struct buf *buf = memory_new(&memory_shared, 9000, 99);
	struct region r = region_reg(dev.pd, buf, ALL_ACCESS);

	begin();
	check_write(&link_, &local, 0, &r, 0, 9000);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	/* Unmap the pages and read them back from the file: the data must not be lost. */
	CHECK_EQ(madvise(buf->map, buf->map_length, MADV_DONTNEED), 0);
	buf_check(buf);
	CHECK_EQ(vm_pin(0), (all.buf->map_length - 2 * PAGE +
			     local.buf->map_length - 2 * PAGE) /
				    1024);
}

/* A protection domain is busy as long as it has a region. */
static void a84_pd(void)
{
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct region r = region_reg(pd, buf_new(100, 1), 0);

	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

/*
 * Once ibv_dereg_mr() has returned, the buffer does not change any more. The writer writes other
 * bytes than the test puts in, without pause.
 */
static void a85_no_access_after(void)
{
	double end = now() + opt.seconds;
	struct writer w = { .link = &link_, .from = &all };
	struct buf *buf;
	struct region r;
	unsigned long rounds = 0;

	begin();
	buf = buf_new(LEN, 0);
	r = region_reg(dev.pd, buf, ALL_ACCESS);
	w.addr = r.base;
	w.rkey = r.rkey;
	writer_start(&w);
	do {
		usleep(rnd_below(300));
		CHECK_EQ(ibv_dereg_mr(r.mr), 0);
		buf_fill(buf);
		usleep(rnd_below(100));
		buf_check(buf);
		r = region_reg(dev.pd, buf, ALL_ACCESS);
		w.rkey = r.rkey;
		rounds++;
	} while (go_on(end, w.done && w.refused));
	CHECK(w.refused);
	writer_end(&w, rounds);
}

/* Keys of regions that have ended do not come again among the next ones, nor follow a step. */
static void a86_key_reuse(void)
{
	struct buf *buf = buf_new(PAGE, 0);
	enum { WINDOW = 256 };
	const unsigned int count = 20000 / slow() / (in_short() ? 2 : 1);
	uint32_t *keys = MUST(calloc(count, sizeof(*keys)));
	unsigned int same_step = 0, came_back = 0, i, j;

	for (i = 0; i < count; i++) {
		struct ibv_mr *mr = MUST(ibv_reg_mr(dev.pd, buf->data, 1, 0));

		keys[i] = mr->rkey;
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		for (j = i < WINDOW ? 0 : i - WINDOW; j < i; j++)
			if (keys[j] == keys[i] && !came_back++)
				note("key %#x came back after %u", keys[i],
				     i - j);
	}
	/*
	 * Of five million pairs of random 32-bit numbers, one is equal in one run of a thousand,
	 * and two are in one run of a million.
	 */
	CHECK(came_back < 2);
	for (i = 2; i < count; i++)
		same_step += keys[i] - keys[i - 1] == keys[i - 1] - keys[i - 2];
	note("%u of %u steps were repeated", same_step, count);
	if (dev.pinion)
		CHECK(same_step < 10);
}

static const struct test tests[] = {
	TEST(a80_keys_end, "A80 both keys end"),
	TEST(a81_positive_errno, "A81 failure is a positive errno"),
	TEST(a82_type1, "A82 a bound window of type 1 refuses"),
	TEST(a82_type2, "A82 bound windows of type 2 refuse"),
	TEST(a83_dirty, "A83 what was written is in the file"),
	TEST(a84_pd, "A84 the domain is busy until then"),
	TEST(a85_no_access_after, "A85 no access after it returned"),
	TEST(a86_key_reuse, "A86 keys do not come back at once"),
};

HARNESS_MAIN("ibv_dereg_mr(3)", tests)
