// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions of dma-bufs with their first, second, ... allocation or copy failing: at registration,
 * and when a message has to map a buffer that was moved (items N15 and N16). Needs a kernel with
 * fault injection.
 */
#include "dmabuf.h"
#include "link.h"
#include "sweep.h"

enum { SIZE = 40 * 4096, LEN = 100001 };

static struct link link_;
static struct region all, moving;
static struct dmabuf dmabuf;
static struct ibv_mr *made;

static int reg_mr(void)
{
	made = ibv_reg_dmabuf_mr(dev.pd, 100, LEN, 100, dmabuf.fd, ALL_ACCESS);
	return made ? 0 : errno;
}

static void dereg_mr(void)
{
	CHECK_EQ(ibv_dereg_mr(made), 0);
}

static void begin(void)
{
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
}

/* The region works. */
static void use(void)
{
	struct region r = dmabuf_region(&dmabuf, 0, SIZE, 0, ALL_ACCESS);

	exchange(&link_, &all, &r);
	dmabuf_region_free(&r);
}

/* Each allocation of registering dma-bufs of each exporter. */
static void n15_register(void)
{
	struct dmabuf bufs[DMABUF_KINDS];
	size_t i, count = 0;

	begin();
	for (i = 0; i < DMABUF_KINDS; i++)
		if (dmabuf_there(&dmabuf_kinds[i]))
			bufs[count++] = dmabuf_new(&dmabuf_kinds[i], SIZE);
	if (!count)
		skip("no exporter of dma-bufs here");
	fault_prepare();
	for (i = 0; i < count; i++) {
		dmabuf = bufs[i];
		sweep(&(struct op){ "reg dma-buf MR", reg_mr, dereg_mr,
				    .at_least = 9 });
		use();
	}
}

static void move(void)
{
	CHECK_EQ(dmabuf_move(&dmabuf, 0), 0);
}

/* By its lkey, so that this thread maps the buffer, with its own faults. */
static int read_into_it(void)
{
	struct exporter_stat stat;
	struct ibv_sge sge = sge_of(&moving, 0, LEN);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { all.base, all.rkey },
	};
	int err = try_post(&link_.a, &wr);

	if (!err) {
		struct ibv_wc wc = await(link_.a.scq);

		if (wc.status == IBV_WC_SUCCESS)
			return 0;
		CHECK_EQ(wc.status, IBV_WC_LOC_PROT_ERR);
		err = EIO;
	}
	/* The fault has been used up, so this works. */
	link_renew(&link_);
	/* After a failure nothing is mapped. */
	stat = dmabuf_stat(&dmabuf);
	CHECK_EQ(stat.maps, stat.unmaps);
	move();
	return err;
}

/* Each allocation of a message that maps a moved dma-buf again: it succeeds or is refused. */
static void n16_moved(void)
{
	static const unsigned int kinds[] = { 0, EXPORTER_CONTIGUOUS };
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		dmabuf = dmabuf_own(SIZE, kinds[i]);
		moving = dmabuf_region(&dmabuf, 0, SIZE, 0, ALL_ACCESS);
		move();
		if (!i)
			fault_prepare();
		sweep(&(struct op){ "read after a move", read_into_it, move,
				    .at_least = 2 });
		check_write(&link_, &all, 0, &moving, 0, LEN);
		buf_check(moving.buf);
		dmabuf_region_free(&moving);
		dmabuf_check_unused(&dmabuf);
	}
}

static const struct test tests[] = {
	LONG_TEST(n15_register, "N15 registration of dma-bufs", 300),
	LONG_TEST(n16_moved, "N16 messages to dma-bufs that moved", 300),
};

HARNESS_MAIN("regions of dma-bufs with failing allocations", tests)
