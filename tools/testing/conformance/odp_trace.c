// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What on-demand regions tell who watches: trace points (item A52;
 * the counters are in odp.c).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "link.h"
#include "tracing.h"

enum { LEN = 16 * 4096, ODP_ALL = ALL_ACCESS | IBV_ACCESS_ON_DEMAND };

static struct link link_;
static struct region all, r;

static void begin(void)
{
	need_odp();
	if (!dev.pinion)
		skip("not our trace points");
	tracing_start();
	link_make(&link_, NULL);
	all = region_new(LEN, 0, ALL_ACCESS);
	r = region_new(LEN, 0, ODP_ALL);
}

/* The last @event of our region, after "key=...": it must be there. */
static const char *traced(const char *event)
{
	char key[32];

	snprintf(key, sizeof(key), "key=0x%08x ", r.rkey);
	return strstr(tracing_last(event, key), key) + strlen(key);
}

static void a52_trace(void)
{
	struct ibv_sge sge;
	unsigned long long addr, length;
	long long pages;
	char kind[16];
	int err;

	begin();
	check_write(&link_, &all, 0, &r, 3 * PAGE, 2 * PAGE);
	CHECK_EQ(sscanf(traced("odp_fault"),
			"addr=0x%llx length=%llu %15s pages=%lld", &addr,
			&length, kind, &pages),
		 4);
	CHECK_EQ(addr, r.base + 3 * PAGE);
	CHECK_EQ(length, 2 * PAGE);
	CHECK_EQ(strcmp(kind, "write"), 0);
	CHECK_EQ(pages, 2);

	CHECK_EQ(madvise(r.buf->data + 4 * PAGE, PAGE, MADV_DONTNEED), 0);
	memset(r.buf->want + 4 * PAGE, 0, PAGE);
	CHECK_EQ(sscanf(traced("odp_invalidate"),
			"start=0x%llx length=%llu pages=%lld", &addr, &length,
			&pages),
		 3);
	CHECK_EQ(addr, (uintptr_t)r.buf->data + 4 * PAGE);
	CHECK_EQ(length, PAGE);
	CHECK_EQ(pages, 1);

	sge = sge_of(&r, 0, LEN);
	CHECK_EQ(ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
			       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
		 0);
	CHECK_EQ(sscanf(traced("odp_prefetch"),
			"addr=0x%llx length=%llu %15s err=%d", &addr, &length,
			kind, &err),
		 4);
	CHECK_EQ(addr, r.base);
	CHECK_EQ(length, LEN);
	CHECK_EQ(strcmp(kind, "read"), 0);
	CHECK_EQ(err, 0);

	/* What cannot be had, and why. */
	CHECK_EQ(mprotect(r.buf->data, PAGE, PROT_NONE), 0);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 9), r.base, r.rkey,
		IBV_WC_REM_ACCESS_ERR, -1);
	CHECK_EQ(sscanf(traced("odp_fault"),
			"addr=0x%llx length=%llu %15s pages=%lld", &addr,
			&length, kind, &pages),
		 4);
	CHECK_EQ(addr, r.base);
	CHECK_EQ(strcmp(kind, "read"), 0);
	CHECK(pages < 0);
	tracing_stop();
}

static const struct test tests[] = {
	TEST(a52_trace, "A52 trace points"),
};

HARNESS_MAIN("What on-demand regions tell", tests)
