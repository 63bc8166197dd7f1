// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DMA handles: valid attributes, regions that use one, and destruction (items DH1 to DH6).
 */
#include "link.h"
#include "pins.h"

#ifdef HAVE_DMAH
enum {
	CPU = IBV_DMAH_INIT_ATTR_MASK_CPU_ID,
	PH = IBV_DMAH_INIT_ATTR_MASK_PH,
	MEM = IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE,
	ALL = CPU | PH | MEM,
	LEN = 20000,
};

static struct ibv_dmah_init_attr want(uint32_t mask)
{
	return (struct ibv_dmah_init_attr){
		.comp_mask = mask,
		.ph = 1,
		.tph_mem_type = IBV_TPH_MEM_TYPE_VM,
	};
}

static struct ibv_dmah *handle(uint32_t mask)
{
	struct ibv_dmah_init_attr attr = want(mask);
	struct ibv_dmah *dmah = ibv_alloc_dmah(dev.ctx, &attr);

	if (!dmah && (errno == EOPNOTSUPP || errno == EPROTONOSUPPORT))
		skip("this kernel has no DMA handles");
	return MUST(dmah);
}

static struct ibv_mr *reg_at(struct ibv_dmah *dmah, struct buf *buf,
			     uint64_t iova, int access)
{
	struct ibv_mr_init_attr attr = {
		.length = buf->length,
		.access = access,
		.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_IOVA |
			     IBV_REG_MR_MASK_DMAH,
		.addr = buf->data,
		.iova = iova,
		.dmah = dmah,
	};

	return ibv_reg_mr_ex(dev.pd, &attr);
}

static struct ibv_mr *reg(struct ibv_dmah *dmah, struct buf *buf, int access)
{
	return reg_at(dmah, buf, (uintptr_t)buf->data, access);
}

/* DMA handles of all kinds can be made and freed in any order. */
static void dh1_kinds(void)
{
	struct ibv_dmah_init_attr attr = want(ALL);
	struct ibv_dmah *made[3] = { handle(PH), handle(ALL), NULL };

	attr.ph = 3;
	attr.tph_mem_type = IBV_TPH_MEM_TYPE_PM;
	made[2] = MUST(ibv_alloc_dmah(dev.ctx, &attr));
	CHECK_EQ(ibv_dealloc_dmah(made[1]), 0);
	CHECK_EQ(ibv_dealloc_dmah(made[0]), 0);
	CHECK_EQ(ibv_dealloc_dmah(made[2]), 0);
}

/* DMA handles with invalid or incomplete attributes are refused. */
static void dh2_refused(void)
{
	struct ibv_dmah_init_attr attr;

	CHECK_EQ(ibv_dealloc_dmah(handle(PH)), 0);
	attr = want(PH);
	attr.ph = 4;
	MUST_NOT(ibv_alloc_dmah(dev.ctx, &attr), EINVAL);
	attr = want(ALL);
	attr.cpu_id = 1 << 20;
	MUST_NOT(ibv_alloc_dmah(dev.ctx, &attr), EINVAL);
	attr = want(ALL);
	attr.tph_mem_type = 9;
	MUST_NOT(ibv_alloc_dmah(dev.ctx, &attr), EOPNOTSUPP);
	/* A CPU without a memory type or the reverse; and without the processing hint's flag. */
	attr = want(PH | CPU);
	MUST_NOT(ibv_alloc_dmah(dev.ctx, &attr), EINVAL);
	attr = want(PH | MEM);
	MUST_NOT(ibv_alloc_dmah(dev.ctx, &attr), EINVAL);
	attr = want(CPU | MEM);
	MUST_NOT(ibv_alloc_dmah(dev.ctx, &attr), EINVAL);
	attr = want(0);
	MUST_NOT(ibv_alloc_dmah(dev.ctx, &attr), EINVAL);
}

/* A region with a handle works like any other: the handle is only a hint. */
static void dh3_region(void)
{
	struct region local = region_new(LEN, 1, ALL_ACCESS), r;
	struct buf *buf = buf_new(LEN, 1001);
	struct ibv_dmah *dmah = handle(ALL);
	struct link link;

	link_make(&link, NULL);
	r = region_of(buf, MUST(reg(dmah, buf, ALL_ACCESS)),
		      (uintptr_t)buf->data);
	exchange(&link, &local, &r);
	exchange(&link, &r, &local);
	/* There are no hints for memory on demand, so it does not become that. */
	errno = 0;
	CHECK_EQ(ibv_rereg_mr(r.mr,
			      IBV_REREG_MR_CHANGE_TRANSLATION |
				      IBV_REREG_MR_CHANGE_ACCESS,
			      NULL, buf->data, LEN, ODP_ALL),
		 IBV_REREG_MR_ERR_CMD);
	CHECK_EQ(errno, EOPNOTSUPP);
	exchange(&link, &r, &local);
	region_free(&r);
	CHECK_EQ(ibv_dealloc_dmah(dmah), 0);
	region_free(&local);
	CHECK_EQ(vm_pin(0), 0);
}

/* An iova of 0 is accepted whatever the address, as in A54. */
static void dh6_zero(void)
{
	struct ibv_dmah *dmah = handle(PH);
	struct buf *buf = buf_new(LEN, 123);
	struct region other, region;
	struct link link;

	link_make(&link, NULL);
	other = region_new(LEN, 0, ALL_ACCESS);
	region = region_of(buf, MUST(reg_at(dmah, buf, 0, ALL_ACCESS)), 0);
	exchange(&link, &other, &region);
	region_free(&region);
	region_free(&other);
	CHECK_EQ(ibv_dealloc_dmah(dmah), 0);
	link_free(&link);
}

/* A DMA handle is busy as long as a region uses it. */
static void dh4_in_use(void)
{
	struct buf *buf = buf_new(LEN, 1001);
	struct ibv_dmah *dmah = handle(PH);
	struct ibv_mr *mr = MUST(reg(dmah, buf, ALL_ACCESS));

	CHECK_EQ(ibv_dealloc_dmah(dmah), EBUSY);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_dmah(dmah), 0);
}

/* A registration that fails drops its reference to the handle. */
static void dh5_failures(void)
{
	struct buf *buf = buf_new(LEN, 1001);
	struct ibv_dmah *dmah = handle(PH);

	need_odp();
	MUST_NOT(reg(dmah, buf, ODP_ALL), EOPNOTSUPP);
	MUST_NOT(reg(dmah, buf, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	buf->length = 0;
	MUST_NOT(reg(dmah, buf, ALL_ACCESS), EINVAL);
	CHECK_EQ(ibv_dealloc_dmah(dmah), 0);
	CHECK_EQ(vm_pin(0), 0);
}

static const struct test tests[] = {
	TEST(dh1_kinds, "DH1 kinds"),
	TEST(dh2_refused, "DH2 what is refused"),
	TEST(dh3_region, "DH3 a region with one"),
	TEST(dh4_in_use, "DH4 in use"),
	TEST(dh5_failures, "DH5 registrations that fail"),
	TEST(dh6_zero, "DH6 iova 0"),
};
#else
/* Where libibverbs has no DMA handles nothing is tested. */
static void none(void)
{
	skip("libibverbs has no DMA handles");
}

static const struct test tests[] = {
	TEST(none, "DH1 DMA handles"),
};
#endif

HARNESS_MAIN("DMA handles", tests)
