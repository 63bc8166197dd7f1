// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Changes for which ibv_rereg_mr(3) has no parameters, by the kernel's command: a region of a
 * dma-buf becomes one of user memory (items A68 and B1), and the translation of a region with an
 * iova changes (item B26).
 */
#define _GNU_SOURCE
#include <string.h>

#include "dmabuf.h"
#include "link.h"
#include "raw.h"

enum { SIZE = 20 * 4096, LEN = 50000 };

static struct link link_;
static struct region all;

static void begin(void)
{
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
}

static void rereg(struct region *r, struct buf *buf, uint64_t iova)
{
	struct ib_uverbs_rereg_mr cmd = {
		.mr_handle = r->mr->handle,
		.flags = IBV_REREG_MR_CHANGE_TRANSLATION,
		.start = (uintptr_t)buf->data,
		.hca_va = iova,
		.length = buf->length,
	};

	CHECK_EQ(raw_rereg_mr(dev.ctx->cmd_fd, &cmd), 0);
	r->buf = buf;
	r->base = iova;
}

/* The region drops its reference to the dma-buf; later changes of the dma-buf do not affect it. */
static void b1_dmabuf(void)
{
	struct buf *buf = buf_new(LEN, 55);
	struct dmabuf dmabuf;
	struct region r;

	begin();
	dmabuf = dmabuf_own(SIZE, 0);
	r = dmabuf_region(&dmabuf, 777, LEN, 777, ALL_ACCESS);
	exchange(&link_, &all, &r);
	rereg(&r, buf, (uintptr_t)buf->data);
	dmabuf_check_unused(&dmabuf);
	exchange(&link_, &all, &r);
	/* Moving the buffer has no effect on the region. */
	CHECK_EQ(dmabuf_move(&dmabuf, 0), 0);
	exchange(&link_, &all, &r);
	dmabuf_free(&dmabuf);
	exchange(&link_, &all, &r);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
}

/* By the raw command a region gets other memory with an iova of its own. */
static void b26_iova(void)
{
	struct region r;
	struct buf *buf;
	uint64_t iova;

	begin();
	r = region_new(LEN, 55, ALL_ACCESS);
	buf = buf_new(LEN, 99);
	iova = 0x9000000 + (uintptr_t)buf->data % PAGE;
	rereg(&r, buf, iova);
	exchange(&link_, &all, &r);
	exchange(&link_, &r, &all);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8),
		(uintptr_t)buf->data, r.rkey, IBV_WC_REM_ACCESS_ERR,
		PINION_SYN_REMOTE);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
}

static const struct test tests[] = {
	TEST(b1_dmabuf, "B1 a dma-buf's region to user memory (class 7)"),
	TEST(b26_iova, "B26 to memory with an iova of its own (class 14)"),
};

HARNESS_MAIN("Changes of regions that libibverbs does not offer", tests)
