// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions of dma-bufs with their first, second, ... allocation or copy failing at registration,
 * which needs a kernel with fault injection; and with each step failing when a message has to map
 * a buffer that was moved (items N15 and N16).
 */
#include <errno.h>

#include "dmabuf.h"
#include "link.h"
#include "orders.h"
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

/*
 * A work item maps the buffer, so the failure is ordered for whoever does. Nothing is mapped after
 * it, so the exporter may move the buffer again; then a message maps it.
 */
static void fails_at(const char *step)
{
	struct exporter_stat stat;

	CHECK_EQ(dmabuf_move(&dmabuf, 0), 0);
	order("%s value %d", step, ENOMEM);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, LEN), moving.base,
		moving.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	orders_over(1);
	stat = dmabuf_stat(&dmabuf);
	CHECK_EQ(stat.maps, stat.unmaps);
	CHECK_EQ(dmabuf_move(&dmabuf, 0), 0);
	check_write(&link_, &all, 0, &moving, 0, LEN);
	check_read(&link_, &all, 0, &moving, 0, LEN);
}

/* Each allocation of a message that maps a moved dma-buf again: it succeeds or is refused. */
static void n16_moved(void)
{
	static const unsigned int kinds[] = { 0, EXPORTER_CONTIGUOUS };
	size_t i;

	need_exporter();
	orders_begin();
	begin();
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		dmabuf = dmabuf_own(SIZE, kinds[i]);
		moving = dmabuf_region(&dmabuf, 0, SIZE, 0, ALL_ACCESS);
		fails_at("map");
		fails_at("table");
		dmabuf_region_free(&moving);
		dmabuf_check_unused(&dmabuf);
	}
}

static const struct test tests[] = {
	LONG_TEST(n15_register, "N15 registration of dma-bufs", 300),
	TEST(n16_moved, "N16 messages to dma-bufs that moved"),
};

ORDERS_MAIN("regions of dma-bufs with failing allocations", tests)
