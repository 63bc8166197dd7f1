// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_rereg_mr(3): what changes, what stays, what is refused and leaves the region as it was
 * (items B1 to B28; those under load are in rereg_load.c, those of other kinds of regions in
 * rereg_kinds.c).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "link.h"
#include "pins.h"
#include "raw.h"
#include "resources.h"

enum {
	TRANS = IBV_REREG_MR_CHANGE_TRANSLATION,
	PD = IBV_REREG_MR_CHANGE_PD,
	ACCESS = IBV_REREG_MR_CHANGE_ACCESS,
	LEN = 30011,
};

static struct link link_;
static struct region all;

static void begin(void)
{
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
}

static struct region start(int access)
{
	begin();
	return region_new(LEN, 55, access);
}

/* The call fails with @code and @why, and the old region still works. */
static void refuses(struct region *r, int flags, struct ibv_pd *pd, void *addr,
		    size_t length, int access, int code, int why)
{
	long pins = vm_pin(0);
	int got;

	errno = 0;
	got = ibv_rereg_mr(r->mr, flags, pd, addr, length, access);
	CHECK_EQ(got, code);
	CHECK_EQ(errno, why);
	CHECK_EQ(vm_pin(0), pins);
	exchange(&link_, &all, r);
}

/* CHANGE_TRANSLATION: the key means the new memory, and the old is neither accessed nor changed. */
static void b1_translation(void)
{
	struct region r = start(ALL_ACCESS);
	uint64_t old = r.base;
	struct buf *was = r.buf;

	buf_fill(was);
	region_rereg(&r, TRANS, NULL, buf_new(70007, 4000), 0);
	exchange(&link_, &all, &r);
	exchange(&link_, &r, &all);
	access_refused(&link_, &all, old, r.rkey, IBV_WR_RDMA_WRITE);
	access_refused(&link_, &all, old, r.rkey, IBV_WR_RDMA_READ);
	buf_check(was);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
}

/* CHANGE_PD: queue pairs of the new domain may use the region, those of the old one may not. */
static void b2_pd(void)
{
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct ibv_pd *first = MUST(ibv_alloc_pd(dev.ctx));
	struct qp_cfg cfg = { .pd = pd };
	struct region r, here;
	struct link other;

	begin();
	r = region_reg(first, buf_new(LEN, 5), ALL_ACCESS);
	link_make(&other, &cfg);
	here = region_reg(pd, buf_new(LEN, 99), ALL_ACCESS);
	refused(&other, IBV_WR_RDMA_WRITE, sge_of(&here, 0, 8), r.base, r.rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	region_rereg(&r, PD, pd, NULL, 0);
	CHECK(r.mr->pd == pd);
	exchange(&other, &here, &r);
	access_refused(&link_, &all, r.base, r.rkey, IBV_WR_RDMA_WRITE);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&r, 0, 8), all.base,
			all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_UNKNOWN);
	CHECK_EQ(ibv_dealloc_pd(first), 0);
	link_free(&other);
	region_free(&here);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

/* CHANGE_ACCESS grants and takes away each right. */
static void b3_access(void)
{
	static const struct {
		int right;
		enum ibv_wr_opcode opcode;
	} rights[] = {
		{ IBV_ACCESS_REMOTE_WRITE, IBV_WR_RDMA_WRITE },
		{ IBV_ACCESS_REMOTE_READ, IBV_WR_RDMA_READ },
		{ IBV_ACCESS_REMOTE_ATOMIC, IBV_WR_ATOMIC_FETCH_AND_ADD },
	};
	struct region r = start(IBV_ACCESS_LOCAL_WRITE);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rights); i++) {
		context("right %#x", rights[i].right);
		access_refused(&link_, &all, r.base, r.rkey, rights[i].opcode);
		region_rereg(&r, ACCESS, NULL, NULL, ALL_ACCESS);
		exchange(&link_, &all, &r);
		region_rereg(&r, ACCESS, NULL, NULL,
			     ALL_ACCESS & ~rights[i].right);
		access_refused(&link_, &all, r.base, r.rkey, rights[i].opcode);
		region_rereg(&r, ACCESS, NULL, NULL, IBV_ACCESS_LOCAL_WRITE);
	}
	buf_check(r.buf);
	/*
	 * Local write can be removed; the memory was pinned for writing, so it can be added
	 * again.
	 */
	region_rereg(&r, ACCESS, NULL, NULL, IBV_ACCESS_REMOTE_READ);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&r, 0, 8), all.base,
			all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_RIGHTS);
	link_renew(&link_);
	region_rereg(&r, ACCESS, NULL, NULL, ALL_ACCESS);
	exchange(&link_, &r, &all);
}

/* All combinations of the three changes work. */
static void b4_combinations(void)
{
	int flags;

	for (flags = 1; flags < 8; flags++) {
		struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
		struct qp_cfg cfg = { .pd = flags & PD ? pd : NULL };
		struct region here, r;
		struct link link;

		context("flags %d", flags);
		r = start(flags & ACCESS ? IBV_ACCESS_LOCAL_WRITE : ALL_ACCESS);
		link_make(&link, &cfg);
		here = region_reg(link.a.cfg.pd, buf_new(LEN, 7), ALL_ACCESS);
		region_rereg(&r, flags, flags & PD ? pd : NULL,
			     flags & TRANS ? buf_new(LEN + 9001, 4094) : NULL,
			     flags & ACCESS ? ALL_ACCESS : 0);
		exchange(&link, &here, &r);
		exchange(&link, &r, &here);
		CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	}
}

/* Arguments that no flag asks for are ignored. */
static void b5_ignored(void)
{
	struct region r = start(ALL_ACCESS);
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct ibv_mr before = *r.mr;
	struct buf *buf = buf_new(LEN, 0);

	CHECK_EQ(ibv_rereg_mr(r.mr, ACCESS, pd, buf->data, 5, ALL_ACCESS), 0);
	CHECK(r.mr->pd == before.pd && r.mr->addr == before.addr);
	CHECK_EQ(r.mr->length, before.length);
	exchange(&link_, &all, &r);
	CHECK_EQ(ibv_rereg_mr(r.mr, TRANS, pd, buf->data, buf->length, 0), 0);
	CHECK(r.mr->pd == before.pd);
	region_moved(&r, buf);
	exchange(&link_, &all, &r);
}

/* Access 0 takes away all rights but reading by the owner. */
static void b6_no_access(void)
{
	struct region r = start(ALL_ACCESS);

	region_rereg(&r, ACCESS, NULL, NULL, 0);
	access_refused(&link_, &all, r.base, r.rkey, IBV_WR_RDMA_WRITE);
	access_refused(&link_, &all, r.base, r.rkey, IBV_WR_RDMA_READ);
	access_refused(&link_, &all, r.base, r.rkey, IBV_WR_ATOMIC_CMP_AND_SWP);
	check_write(&link_, &r, 0, &all, 0, LEN);
	buf_check(all.buf);
	buf_check(r.buf);
}

/* Access without CHANGE_ACCESS is an error of input, and the region stays as it was. */
static void b7_access_without_flag(void)
{
	struct region r = start(ALL_ACCESS);
	struct buf *buf = buf_new(LEN, 0);

	refuses(&r, TRANS, NULL, buf->data, LEN, ALL_ACCESS,
		IBV_REREG_MR_ERR_INPUT, EINVAL);
	refuses(&r, PD, dev.pd, NULL, 0, 1, IBV_REREG_MR_ERR_INPUT, EINVAL);
}

/* Wrong arguments are errors of input, and the region stays as it was. */
static void b8_input(void)
{
	struct region r = start(ALL_ACCESS);
	struct buf *buf = buf_new(LEN, 0);

	refuses(&r, 8, NULL, NULL, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL);
	refuses(&r, 1 << 30 | TRANS, NULL, buf->data, LEN, 0,
		IBV_REREG_MR_ERR_INPUT, EINVAL);
	refuses(&r, TRANS, NULL, NULL, LEN, 0, IBV_REREG_MR_ERR_INPUT, EINVAL);
	refuses(&r, TRANS, NULL, buf->data, 0, 0, IBV_REREG_MR_ERR_INPUT,
		EINVAL);
}

/* No flags at all are refused, and the region stays as it was. */
static void b10_no_flags(void)
{
	struct region r = start(ALL_ACCESS);

	refuses(&r, 0, NULL, NULL, 0, 0, IBV_REREG_MR_ERR_CMD, EINVAL);
}

/* The kernel refuses wrong commands by itself, and the region stays as it was. */
static void b11_kernel(void)
{
	struct region r = start(ALL_ACCESS);
	struct buf *buf = buf_new(LEN, 100);
	struct ib_uverbs_rereg_mr cmd = {
		.mr_handle = r.mr->handle,
		.flags = 8,
	};

	CHECK_EQ(raw_rereg_mr(dev.ctx->cmd_fd, &cmd), EOPNOTSUPP);
	cmd.flags = TRANS;
	cmd.start = (uintptr_t)buf->data;
	cmd.hca_va = cmd.start + 1;
	cmd.length = LEN;
	CHECK_EQ(raw_rereg_mr(dev.ctx->cmd_fd, &cmd), EINVAL);
	cmd.hca_va = cmd.start | -4096ULL;
	CHECK_EQ(raw_rereg_mr(dev.ctx->cmd_fd, &cmd), EINVAL);
	cmd.hca_va = cmd.start;
	cmd.length = 0;
	CHECK_EQ(raw_rereg_mr(dev.ctx->cmd_fd, &cmd), EINVAL);
	cmd.length = -cmd.start;
	CHECK_EQ(raw_rereg_mr(dev.ctx->cmd_fd, &cmd), EINVAL);
	cmd.mr_handle = 0x7fffffff;
	CHECK(raw_rereg_mr(dev.ctx->cmd_fd, &cmd));
	exchange(&link_, &all, &r);
}

/* Remote writes and atomics without LOCAL_WRITE are refused, and the region stays as it was. */
static void b12_needs_local_write(void)
{
	struct region r = start(ALL_ACCESS);

	refuses(&r, ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE,
		IBV_REREG_MR_ERR_CMD, EINVAL);
	refuses(&r, ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_ATOMIC,
		IBV_REREG_MR_ERR_CMD, EINVAL);
}

/* A region pinned for reading becomes writable only with its memory pinned anew. */
static void b13_pinned_read_only(void)
{
	struct region r = start(IBV_ACCESS_REMOTE_READ);
	long pins = vm_pin(0);

	errno = 0;
	CHECK_EQ(ibv_rereg_mr(r.mr, ACCESS, NULL, NULL, 0, ALL_ACCESS),
		 IBV_REREG_MR_ERR_CMD);
	CHECK_EQ(errno, EACCES);
	CHECK_EQ(vm_pin(0), pins);
	check_read(&link_, &all, 0, &r, 0, LEN);
	access_refused(&link_, &all, r.base, r.rkey, IBV_WR_RDMA_WRITE);
	buf_check(all.buf);
	region_rereg(&r, ACCESS | TRANS, NULL, r.buf, ALL_ACCESS);
	exchange(&link_, &all, &r);
}

/* Memory that cannot be pinned is refused, and the region stays as it was. */
static void b14_unmapped(void)
{
	struct region r = start(ALL_ACCESS);
	struct buf *buf = buf_new(9 * PAGE, 0);

	munmap(buf->data + 4 * PAGE, PAGE);
	refuses(&r, TRANS, NULL, buf->data, 9 * PAGE, 0, IBV_REREG_MR_ERR_CMD,
		EFAULT);
	CHECK_EQ(mprotect(buf->map, 4 * PAGE, PROT_READ), 0);
	refuses(&r, TRANS, NULL, buf->data, PAGE, 0, IBV_REREG_MR_ERR_CMD,
		EFAULT);
	CHECK(r.mr->addr == r.buf->data);
}

/* After changes that failed the region can be deregistered. */
static void b18_dereg_after_failure(void)
{
	struct region r = start(ALL_ACCESS);

	CHECK_EQ(ibv_rereg_mr(r.mr, TRANS, NULL, (void *)PAGE, PAGE, 0),
		 IBV_REREG_MR_ERR_CMD);
	CHECK_EQ(ibv_rereg_mr(r.mr, 8, NULL, NULL, 0, 0),
		 IBV_REREG_MR_ERR_INPUT);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	access_refused(&link_, &all, r.base, r.rkey, IBV_WR_RDMA_READ);
}

/* Handle and keys stay the same. */
static void b19_reused(void)
{
	struct region r = start(ALL_ACCESS);
	uint32_t handle = r.mr->handle, rkey = r.rkey, lkey = r.lkey;

	region_rereg(&r, TRANS | ACCESS, NULL, buf_new(5 * LEN, 1), ALL_ACCESS);
	CHECK_EQ(r.mr->handle, handle);
	if (dev.pinion) {
		CHECK_EQ(r.mr->rkey, rkey);
		CHECK_EQ(r.mr->lkey, lkey);
	}
}

/* What is pinned is the present memory alone, also after a failure. */
static void b20_pins(void)
{
	struct region r = start(ALL_ACCESS);
	long others = vm_pin(0) - 8 * 4;

	region_rereg(&r, TRANS, NULL, buf_new(20 * PAGE, 1), 0);
	CHECK_EQ(vm_pin(0), others + 21 * 4);
	region_rereg(&r, ACCESS, NULL, NULL, 0);
	CHECK_EQ(vm_pin(0), others + 21 * 4);
	region_rereg(&r, TRANS, NULL, buf_new(1, 1), 0);
	CHECK_EQ(vm_pin(0), others + 4);
	CHECK_EQ(ibv_rereg_mr(r.mr, TRANS, NULL, (void *)PAGE, PAGE, 0),
		 IBV_REREG_MR_ERR_CMD);
	CHECK_EQ(vm_pin(0), others + 4);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	CHECK_EQ(vm_pin(0), others);
}

/* A change to the same domain is none. */
static void b22_same_pd(void)
{
	struct region r = start(ALL_ACCESS);

	region_rereg(&r, PD, dev.pd, NULL, 0);
	exchange(&link_, &all, &r);
	region_rereg(&r, PD | ACCESS, dev.pd, NULL, 0);
	access_refused(&link_, &all, r.base, r.rkey, IBV_WR_RDMA_READ);
}

/* ON_DEMAND can be added or taken away only together with new memory. */
static void b23_odp(void)
{
	struct region r = start(ALL_ACCESS);

	long pins = vm_pin(0);

	refuses(&r, ACCESS, NULL, NULL, 0, ODP_ALL, IBV_REREG_MR_ERR_CMD,
		EOPNOTSUPP);
	if (!(dev.attr.odp_caps.general_caps & IBV_ODP_SUPPORT))
		return;
	/* With a new translation a pinned region may become on-demand, and pinned again. */
	region_rereg(&r, TRANS | ACCESS, NULL, buf_new(LEN, 0x321), ODP_ALL);
	CHECK(vm_pin(0) < pins);
	exchange(&link_, &all, &r);
	refuses(&r, ACCESS, NULL, NULL, 0, ALL_ACCESS, IBV_REREG_MR_ERR_CMD,
		EOPNOTSUPP);
	/* HUGETLB cannot be added while the pages stay. */
	refuses(&r, ACCESS, NULL, NULL, 0, ODP_ALL | IBV_ACCESS_HUGETLB,
		IBV_REREG_MR_ERR_CMD, EOPNOTSUPP);
	region_rereg(&r, TRANS | ACCESS, NULL, buf_new(LEN, 0x123), ALL_ACCESS);
	CHECK_EQ(vm_pin(0), pins);
	exchange(&link_, &all, &r);
}

/* A changed region is listed with its new length. */
static void b27_listing(void)
{
	struct region r = start(ALL_ACCESS);
	struct mr_info info;

	need_root();
	region_rereg(&r, TRANS, NULL, buf_new(123457, 1), 0);
	CHECK(resources_mr(r.mr->rkey, &info));
	CHECK_EQ(info.length, 123457);
}

/* Memory of any alignment and length, also overlapping the old, exact to the byte. */
static void b28_shapes(void)
{
	struct region r = start(ALL_ACCESS);
	size_t size = 600000;
	struct buf *buf = buf_new(size, 0);
	int i;

	for (i = 0; i < 40; i++) {
		size_t length = rnd_in(9, rnd() & 1 ? size : 9000);
		struct buf part = *buf;
		size_t at = rnd_below(size - length);

		context("%zu bytes at %zu", length, at);
		part.data += at;
		part.want += at;
		part.length = length;
		CHECK_EQ(ibv_rereg_mr(r.mr, TRANS, NULL, part.data, length, 0),
			 0);
		region_moved(&r, &part);
		exchange(&link_, &all, &r);
		buf_check(buf);
		access_refused(&link_, &all, r.base - 8, r.rkey,
			       IBV_WR_RDMA_WRITE);
		access_refused(&link_, &all, r.base + length, r.rkey,
			       IBV_WR_RDMA_WRITE);
	}
}

static const struct test tests[] = {
	TEST(b1_translation, "B1 CHANGE_TRANSLATION"),
	TEST(b2_pd, "B2 CHANGE_PD"),
	TEST(b3_access, "B3 CHANGE_ACCESS grants and revokes"),
	TEST(b4_combinations, "B4 all combinations"),
	TEST(b5_ignored, "B5 what no flag asks for is ignored"),
	TEST(b6_no_access, "B6 access 0"),
	TEST(b7_access_without_flag, "B7,B9 access without CHANGE_ACCESS"),
	TEST(b8_input, "B8,B9 errors of input leave the old region"),
	TEST(b10_no_flags, "B10 no flags"),
	TEST(b11_kernel, "B11 what the kernel refuses"),
	TEST(b12_needs_local_write, "B12 remote writing needs LOCAL_WRITE"),
	TEST(b13_pinned_read_only, "B13 made writable"),
	TEST(b14_unmapped, "B14 unmapped memory"),
	TEST(b18_dereg_after_failure, "B18 dereg after a failure"),
	TEST(b19_reused, "B19 handle and keys"),
	TEST(b20_pins, "B20 pins follow"),
	TEST(b22_same_pd, "B22 the same domain"),
	TEST(b23_odp, "B23 ON_DEMAND"),
	TEST(b27_listing, "B27 the listing follows"),
	TEST(b28_shapes,
	     "B28 any alignment and length, overlapping (class 15)"),
};

HARNESS_MAIN("ibv_rereg_mr(3)", tests)
