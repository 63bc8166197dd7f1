// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DMA handles with their first, second, ... allocation or copy failing: how they are made and
 * freed, and regions that use one (item N39). Needs a kernel with fault injection.
 */
#include "sweep.h"

#ifdef HAVE_DMAH
static struct link link_;
static struct ibv_dmah *dmah;
static struct buf *buf;
static struct ibv_mr *mr;

static struct ibv_dmah *alloc_dmah(void)
{
	struct ibv_dmah_init_attr attr = {
		.comp_mask = IBV_DMAH_INIT_ATTR_MASK_PH,
		.ph = 1,
	};

	return ibv_alloc_dmah(dev.ctx, &attr);
}

static int make_dmah(void)
{
	dmah = alloc_dmah();
	return dmah ? 0 : errno;
}

static void free_dmah(void)
{
	CHECK_EQ(ibv_dealloc_dmah(dmah), 0);
}

static int reg(void)
{
	struct ibv_mr_init_attr attr = {
		.length = buf->length,
		.access = ALL_ACCESS,
		.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_IOVA |
			     IBV_REG_MR_MASK_DMAH,
		.addr = buf->data,
		.iova = (uintptr_t)buf->data,
		.dmah = dmah,
	};

	mr = ibv_reg_mr_ex(dev.pd, &attr);
	return mr ? 0 : errno;
}

static void dereg(void)
{
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

static void *new_dmah(void)
{
	return alloc_dmah();
}

static int end_dmah(void *it)
{
	return ibv_dealloc_dmah(it);
}

static void *new_mr(void)
{
	CHECK_EQ(reg(), 0);
	return mr;
}

static int end_mr(void *it)
{
	return ibv_dereg_mr(it);
}

/* Each allocation of a DMA handle, of a region that uses one, and of the ends of both. */
static void n39_dmah(void)
{
	static const struct ending ends[] = {
		{ "end of a DMA handle", new_dmah, end_dmah, 1, NULL },
		{ "end of a region with one", new_mr, end_mr, 1, "mr" },
	};

	sweeps_begin(&link_);
	buf = buf_new(100000, 5);
	if (make_dmah()) {
		if (errno == EOPNOTSUPP || errno == EPROTONOSUPPORT)
			skip("this kernel has no DMA handles");
		FAIL("ibv_alloc_dmah: errno %d", errno);
	}
	free_dmah();
	sweep(&(struct op){ "DMA handle", make_dmah, free_dmah,
			    .at_least = 3 });
	CHECK_EQ(make_dmah(), 0);
	sweep(&(struct op){ "region with a DMA handle", reg, dereg,
			    .at_least = 8 });
	sweep_ends(ends, ARRAY_SIZE(ends));
	free_dmah();
	sweeps_end(&link_);
}
#else
static void n39_dmah(void)
{
	skip("libibverbs has no ibv_alloc_dmah");
}
#endif

static const struct test tests[] = {
	LONG_TEST(n39_dmah, "N39 DMA handles", 300),
};

HARNESS_MAIN("DMA handles with failing allocations", tests)
