// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_rereg_mr(3) of special regions: device memory, bound windows, an iova of their own (items
 * B8, B24 to B26).
 */
#define _GNU_SOURCE
#include "link.h"
#include "raw.h"

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

/* Regions of device memory and null regions cannot be changed by ibv_rereg_mr(). */
static void b8_other_regions(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	int err;

	dm = ibv_alloc_dm(dev.ctx, &attr);
	if (!dm)
		lacks("no device memory: errno %d", errno);
	mr = MUST(ibv_reg_dm_mr(dev.pd, dm, 0, 4096,
				IBV_ACCESS_ZERO_BASED | ALL_ACCESS));
	errno = 0;
	err = ibv_rereg_mr(mr, ACCESS, NULL, NULL, 0, ALL_ACCESS);
	/* Some versions of libibverbs leave it to the kernel to refuse this. */
	CHECK(err == IBV_REREG_MR_ERR_INPUT || err == IBV_REREG_MR_ERR_CMD);
	CHECK_EQ(errno, EINVAL);
	mr = ibv_alloc_null_mr(dev.pd);
	if (!mr) {
		CHECK(!dev.pinion);
		return;
	}
	CHECK_EQ(ibv_rereg_mr(mr, ACCESS, NULL, NULL, 0, 0),
		 IBV_REREG_MR_ERR_INPUT);
}

/* The kernel refuses to change a region of device memory. */
static void b24_device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ib_uverbs_rereg_mr cmd = { .flags = ACCESS };
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	dm = ibv_alloc_dm(dev.ctx, &attr);
	if (!dm)
		lacks("no device memory: errno %d", errno);
	mr = MUST(ibv_reg_dm_mr(dev.pd, dm, 0, 4096, IBV_ACCESS_ZERO_BASED));
	cmd.mr_handle = mr->handle;
	CHECK_EQ(raw_rereg_mr(dev.ctx->cmd_fd, &cmd), EINVAL);
}

/* A region with a bound window is not changed, and still works; without the window it is. */
static void b25_bound_window(void)
{
	struct region r = start(ALL_ACCESS | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1));
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = r.mr, .addr = r.base, .length = 9 },
	};
	struct buf *buf = buf_new(LEN, 0);
	int got;

	CHECK_EQ(ibv_bind_mw(link_.a.qp, mw, &bind), 0);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	errno = 0;
	got = ibv_rereg_mr(r.mr, TRANS, NULL, buf->data, LEN, 0);
	CHECK_EQ(got, IBV_REREG_MR_ERR_CMD);
	if (dev.pinion)
		CHECK_EQ(errno, EBUSY);
	CHECK(errno == EBUSY || errno == EINVAL);
	/* That is known before the new memory is even looked at. There is none at this address. */
	if (dev.pinion) {
		errno = 0;
		CHECK_EQ(ibv_rereg_mr(r.mr, TRANS, NULL, (void *)PAGE, LEN, 0),
			 IBV_REREG_MR_ERR_CMD);
		CHECK_EQ(errno, EBUSY);
	}
	exchange(&link_, &all, &r);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	region_rereg(&r, TRANS, NULL, buf, 0);
	exchange(&link_, &all, &r);
}

/* A region with an iova keeps it unless its memory changes. */
static void b26_iova(void)
{
	struct buf *buf = buf_new(LEN, 0x123);
	struct ibv_mr *mr;
	struct region r;

	begin();
	mr = MUST(ibv_reg_mr_iova(dev.pd, buf->data, LEN, 0x9000123, 0));
	r = region_of(buf, mr, 0x9000123);
	check_write(&link_, &r, 0, &all, 0, LEN);
	CHECK_EQ(ibv_rereg_mr(mr, PD, dev.pd, NULL, 0, 0), 0);
	CHECK_EQ(ibv_rereg_mr(mr, ACCESS | TRANS, NULL, buf->data, LEN,
			      ALL_ACCESS),
		 0);
	/* ibv_rereg_mr() takes no iova, so the address becomes the iova. */
	access_refused(&link_, &all, r.base, r.rkey, IBV_WR_RDMA_WRITE);
	region_moved(&r, buf);
	exchange(&link_, &all, &r);

	mr = MUST(ibv_reg_mr_iova(dev.pd, buf->data, LEN, 0x9000123,
				  IBV_ACCESS_LOCAL_WRITE));
	r = region_of(buf, mr, 0x9000123);
	CHECK_EQ(ibv_rereg_mr(mr, ACCESS, NULL, NULL, 0, ALL_ACCESS), 0);
	exchange(&link_, &all, &r);
}

static const struct test tests[] = {
	TEST(b8_other_regions, "B8 regions of another kind"),
	TEST(b24_device_memory, "B24 device memory"),
	TEST(b25_bound_window, "B25 bound windows"),
	TEST(b26_iova, "B26 regions with an iova"),
};

HARNESS_MAIN("ibv_rereg_mr(3) of other kinds of regions", tests)
