// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand memory in each role: source and sink of each transport, of shared receive queues, at
 * each path MTU, of atomics and flushes; explicit, with an iova, and implicit; with pages
 * missing on either side or both (items A36, A47 to A49, A51). The requests of A47 and A48 are made to
 * device_across().
 */
#include <string.h>

#include "dmabuf.h"
#include "newer.h"
#include "transfer.h"

enum {
	LEN = 300001,
};

static struct link link_;

/* ------------------------------------------------- how memory is registered */

static struct region explicit_region(struct ibv_pd *pd, struct buf *buf,
				     int more)
{
	return region_reg(pd, buf, ODP_ALL | more);
}

static struct region moved_region(struct ibv_pd *pd, struct buf *buf, int more)
{
	/* In another gigabyte, with the same offset in the page. */
	uint64_t iova = 0x5a5a40000000 + ((uintptr_t)buf->data & (PAGE - 1));

	return region_of(buf,
			 MUST(ibv_reg_mr_iova(pd, buf->data, buf->length, iova,
					      ODP_ALL | more)),
			 iova);
}

static struct region implicit_region(struct ibv_pd *pd, struct buf *buf,
				     int more)
{
	return region_of(buf,
			 MUST(ibv_reg_mr(pd, NULL, SIZE_MAX, ODP_ALL | more)),
			 (uintptr_t)buf->data);
}

static const struct {
	const char *name;
	struct region (*make)(struct ibv_pd *pd, struct buf *buf, int more);
} ways[] = {
	{ "explicit", explicit_region },
	{ "another address", moved_region },
	{ "implicit", implicit_region },
};

/* ------------------------------------------------------------------- messages */

static const enum ibv_wr_opcode opcodes[] = {
	IBV_WR_SEND,	   IBV_WR_SEND_WITH_IMM,
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_RDMA_READ,
};

/* Each transport has the first opcodes of the list. */
static size_t num_opcodes(enum ibv_qp_type type)
{
	return type == IBV_QPT_UD ? 2 : type == IBV_QPT_UC ? 4 : 5;
}

static uint32_t some_length(enum ibv_qp_type type)
{
	uint32_t most = type == IBV_QPT_UD ? 128U << common_mtu() :
					     (LEN - PAGE) / 2;

	/* Small lengths, a page and some bytes, or any length. */
	switch (rnd_below(3)) {
	case 0:
		return rnd_below(70);
	case 1:
		most = most < 3 * PAGE ? most : 3 * PAGE;
	}
	return rnd_below(most + 1);
}

static void messages(enum ibv_qp_type type, struct region *a, struct region *b,
		     int count)
{
	int i;

	for (i = 0; i < count; i++) {
		struct transfer t = {
			.opcode = opcodes[i % num_opcodes(type)],
			.length = some_length(type),
			.sges = rnd_in(1, 4),
			.recv_sges = rnd_in(1, 4),
			.builder = rnd() & 1,
			.spare = rnd_below(2) * 50,
		};
		unsigned int gone = rnd_below(4);

		if (gone & 1)
			buf_forget(a->buf);
		if (gone & 2)
			buf_forget(b->buf);
		transfer(&link_, a, b, &t);
		/* Refill, because dropped pages read as zeros. */
		if (!gone) {
			buf_fill(a->buf);
			buf_fill(b->buf);
		}
	}
}

/* Messages between all kinds of regions. */
static void between_all(enum ibv_qp_type type, int count)
{
	struct buf *from = buf_new(LEN, 1003), *to = buf_new(LEN, 2017);
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		for (j = 0; j < ARRAY_SIZE(ways); j++) {
			struct region a = ways[i].make(dev.pd, from, 0);
			struct region b = ways[j].make(link_.b.cfg.pd, to, 0);

			context("%s to %s", ways[i].name, ways[j].name);
			messages(type, &a, &b, count);
			CHECK_EQ(ibv_dereg_mr(a.mr), 0);
			CHECK_EQ(ibv_dereg_mr(b.mr), 0);
		}
	}
}

/* Messages of a service, with pages missing on either side, explicit and implicit. */
static void a47_type(int type)
{
	struct qp_cfg cfg = { .type = type, .sge = 8 };

	need_odp();
	link_across(&link_, &cfg);
	between_all(type, 30);
}

/* Receives of a shared queue into memory whose pages are missing. */
static void a47_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16,
						    .max_sge = 8 } };
	struct qp_cfg a = { .sge = 8 },
		      b = { .sge = 8, .device = device_across() };

	need_odp();
	b.srq = MUST(ibv_create_srq(b.device->pd, &attr));
	link_make2(&link_, &a, &b);
	between_all(IBV_QPT_RC, 30);
}

/* The same with each path MTU. */
static void a47_mtus(void)
{
	enum ibv_mtu mtu;

	need_odp();
	for (mtu = IBV_MTU_256; mtu <= common_mtu(); mtu++) {
		struct qp_cfg cfg = { .sge = 8, .mtu = mtu };

		link_across(&link_, &cfg);
		between_all(IBV_QPT_RC, 6);
		link_free(&link_);
	}
}

/* -------------------------------------------------------------- atomics, flushes */

static void write_word(const struct region *r, uint64_t at, uint64_t value)
{
	ibv_wr_start(link_.a.ex);
	link_.a.ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(link_.a.ex, r->rkey, r->base + at, &value);
	CHECK_EQ(ibv_wr_complete(link_.a.ex), 0);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	memcpy(r->buf->want + at, &value, 8);
}

/* Atomic writes to pages that are missing. */
static void a48_atomic_write(void)
{
	struct buf *buf = buf_new(LEN, 2016);
	size_t i;
	int n;

	need_odp();
	link_across(&link_, NULL);
	need_builder(&link_.a);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		struct region r = ways[i].make(link_.b.cfg.pd, buf, 0);

		context("%s", ways[i].name);
		for (n = 0; n < 40; n++) {
			if (n & 1)
				buf_forget(buf);
			write_word(&r, rnd_below(LEN / 8) * 8, rnd());
			buf_check(buf);
		}
		CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	}
}

#ifdef HAVE_WR_FLUSH
static void flush_of(const struct region *r, uint64_t at, size_t length,
		     int level)
{
	expect(flush(&link_.a, r->rkey, r->base + at, length, IBV_FLUSH_GLOBAL,
		     level),
	       IBV_WC_SUCCESS);
}

/* Flushes of pages that are missing bring and keep them as they are. */
static void a48_flush(void)
{
	struct qp_cfg cfg = { .access = IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_REMOTE_READ |
					IBV_ACCESS_FLUSH_GLOBAL };
	struct buf *buf = buf_new(LEN, 2017);
	struct region source;
	size_t i;

	need_odp();
	link_across(&link_, &cfg);
	need_builder(&link_.a);
	source = explicit_region(dev.pd, buf_new(LEN, 3), 0);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		struct region r = ways[i].make(link_.b.cfg.pd, buf,
					       IBV_ACCESS_FLUSH_GLOBAL);

		context("%s", ways[i].name);
		buf_forget(buf);
		flush_of(&r, 5, LEN - 5, IBV_FLUSH_RANGE);
		buf_check(buf);
		check_write(&link_, &source, 0, &r, 99, 90001);
		flush_of(&r, 99, 90001, IBV_FLUSH_RANGE);
		flush_of(&r, 0, 0, IBV_FLUSH_MR);
		buf_check(buf);
		CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	}
}
#endif

/* ibv_advise_mr() is refused for regions that are not on-demand, by pinion with the errno @want. */
static void not_advised(const char *what, struct ibv_mr *mr, int want)
{
	struct ibv_sge sge = { .length = 8, .lkey = mr->lkey };
	int advice, flags, err;

	for (advice = 0; advice < 3; advice++) {
		for (flags = 0; flags < 2; flags++) {
			context("%s, advice %d", what, advice);
			err = ibv_advise_mr(dev.pd, advice, flags, &sge, 1);
			CHECK(err == EINVAL || err == ENOENT || err == EPERM);
			if (dev.pinion)
				CHECK_EQ(err, want);
		}
	}
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

/* Advice to regions that are not on demand is refused. */
static void a51_other_kinds(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 10000 };
	struct dmabuf dmabuf;
	struct ibv_mr *mr;
	struct ibv_dm *dm;
	size_t i;

	need_odp();
	not_advised("pinned",
		    MUST(ibv_reg_mr_iova(dev.pd, buf_new(LEN, 0)->data, LEN, 0,
					 ALL_ACCESS)),
		    EINVAL);
	mr = ibv_alloc_null_mr(dev.pd);
	/* Its key is the same for all, so it is none of this domain's. */
	if (mr)
		not_advised("null", mr, ENOENT);
	dm = dev.attr.max_dm_size ? ibv_alloc_dm(dev.ctx, &attr) : NULL;
	if (dm)
		not_advised(
			"device memory",
			MUST(ibv_reg_dm_mr(dev.pd, dm, 0, 10000,
					   ALL_ACCESS | IBV_ACCESS_ZERO_BASED)),
			EINVAL);
	for (i = 0; i < DMABUF_KINDS; i++) {
		if (!dmabuf_there(&dmabuf_kinds[i]))
			continue;
		dmabuf = dmabuf_new(&dmabuf_kinds[i], 8 * PAGE);
		not_advised(dmabuf_kinds[i].name,
			    MUST(ibv_reg_dmabuf_mr(dev.pd, 0, 8 * PAGE, 0,
						   dmabuf.fd, ALL_ACCESS)),
			    EINVAL);
		dmabuf_free(&dmabuf);
	}
}

/* Registering on-demand memory as persistent fails, as for other memory. */
static void a36_persistent(void)
{
	struct buf *buf = buf_new(LEN, 0);
	size_t i;

	need_odp();
	for (i = 0; i < 2; i++) {
		void *from = i ? NULL : buf->data;
		size_t length = i ? SIZE_MAX : LEN;

		errno = 0;
		CHECK(!ibv_reg_mr(dev.pd, from, length,
				  ODP_ALL | IBV_ACCESS_FLUSH_PERSISTENT));
		CHECK(errno == EOPNOTSUPP || errno == EINVAL);
		if (dev.pinion)
			CHECK_EQ(errno, dev.persistent ? EINVAL : EOPNOTSUPP);
		CHECK(!ibv_reg_mr(dev.pd, from, length,
				  ODP_ALL | IBV_ACCESS_FLUSH_PERSISTENT |
					  IBV_ACCESS_FLUSH_GLOBAL));
	}
}

static const struct test tests[] = {
	TEST(a36_persistent, "A36 FLUSH_PERSISTENT with ON_DEMAND"),
	TEST_OF(a47_type, IBV_QPT_RC, "A47 RC, pages missing on either side"),
	TEST_OF(a47_type, IBV_QPT_UC, "A47 UC, pages missing on either side"),
	TEST_OF(a47_type, IBV_QPT_UD, "A47 UD, pages missing on either side"),
	TEST(a47_srq, "A47 shared receive queues"),
	TEST(a47_mtus, "A47 path MTUs"),
	TEST(a48_atomic_write, "A48 atomic write to missing pages"),
	TEST(IF_WR_FLUSH(a48_flush), "A48 flush of missing pages"),
	TEST(a51_other_kinds,
	     "A51 advice to regions of other kinds (class 13)"),
};

HARNESS_MAIN("On-demand memory in every role", tests)
