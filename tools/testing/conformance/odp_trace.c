// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Trace points and rdma(8)'s output of on-demand regions (item A52; odp.c tests what the
 * counters count).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "rdma_tool.h"
#include "resources.h"
#include "tracing.h"

enum { LEN = 16 * 4096 };

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

/* The last @event of our region, behind "key=...". Fails if there is none. */
static const char *traced(const char *event)
{
	char key[32];

	snprintf(key, sizeof(key), "key=0x%08x ", r.rkey);
	return strstr(tracing_last(event, key), key) + strlen(key);
}

/* Trace points tell of faults, invalidations and prefetches, with their addresses and pages. */
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

	buf_drop(r.buf, 4 * PAGE, PAGE);
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

	/* A page that cannot be fetched, and the errno. */
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

/* The output about one region, from behind @begin, which names the region. */
static const char *rdma_says_of(const char *begin, const char *arguments)
{
	char *at = strstr(rdma_says("%s", arguments), begin), *end;

	if (!at)
		FAIL("rdma %s: no \"%s\"", arguments, begin);
	at += strlen(begin);
	end = strstr(at, *begin == '"' ? "}" : "dev ");
	if (end)
		*end = 0;
	return at;
}

static void says(const char *begin, const char *arguments, const char *what)
{
	const char *said = rdma_says_of(begin, arguments);

	if (strncmp(said, what, strlen(what)))
		FAIL("rdma %s: \"%s\", not \"%s\"", arguments, said, what);
}

static void prefetch(const struct region *of, unsigned int length)
{
	struct ibv_sge sge = sge_of(of, 0, length);

	CHECK_EQ(ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
		 0);
}

/* `rdma statistic show mr' prints the counters of a region, also as JSON. */
static void a52_command(void)
{
	static const char text[] = "page_faults 2 page_faults_handled 1 "
				   "page_invalidations 1 "
				   "page_invalidations_handled 1 "
				   "page_prefetch 15 ";
	static const char json[] = ",\"page_faults\":2,"
				   "\"page_faults_handled\":1,"
				   "\"page_invalidations\":1,"
				   "\"page_invalidations_handled\":1,"
				   "\"page_prefetch\":15";
	struct mr_info info, pinned;
	char begin[96], what[192];
	struct region implicit;

	need_odp();
	if (!dev.pinion)
		skip("our counters");
	need_rdma_tool();
	link_make(&link_, NULL);
	all = region_new(LEN, 0, ALL_ACCESS);
	r = region_new(LEN, 0, ODP_ALL);
	check_write(&link_, &all, 0, &r, 3 * PAGE, 2 * PAGE);
	buf_drop(r.buf, 4 * PAGE, PAGE);
	prefetch(&r, LEN);
	CHECK(resources_mr(r.rkey, &info));
	CHECK(resources_mr(all.rkey, &pinned));

	snprintf(begin, sizeof(begin), "dev %s mrn %u ", device_name(),
		 info.mrn);
	says(begin, "statistic show mr", text);
	snprintf(what, sizeof(what), "statistic show mr mrn %u", info.mrn);
	says(begin, what, text);
	snprintf(what, sizeof(what),
		 "rkey 0x%x lkey 0x%x mrlen %u pdn %u pid %d ", r.rkey, r.lkey,
		 LEN, info.pdn, getpid());
	says(begin, "-d resource show mr", what);
	snprintf(begin, sizeof(begin), "\"ifname\":\"%s\",\"mrn\":%u",
		 device_name(), info.mrn);
	says(begin, "-j statistic show mr", json);
	snprintf(what, sizeof(what),
		 ",\"rkey\":\"%x\",\"lkey\":\"%x\",\"mrlen\":%u,\"pdn\":%u,",
		 r.rkey, r.lkey, LEN, info.pdn);
	says(begin, "-j resource show mr", what);

	/* A pinned region has no counters. */
	snprintf(begin, sizeof(begin), "dev %s mrn %u ", device_name(),
		 pinned.mrn);
	CHECK_EQ(*rdma_says_of(begin, "statistic show mr"), 0);

	implicit = region_of(r.buf,
			     MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL)),
			     (uintptr_t)r.buf->data);
	prefetch(&implicit, PAGE);
	CHECK(resources_mr(implicit.rkey, &info));
	snprintf(begin, sizeof(begin), "dev %s mrn %u ", device_name(),
		 info.mrn);
	CHECK(strstr(rdma_says_of(begin, "statistic show mr"),
		     " page_prefetch 1 children 1 "));
}

static const struct test tests[] = {
	TEST(a52_trace, "A52 trace points"),
	TEST(a52_command, "A52 what rdma prints"),
};

HARNESS_MAIN("What on-demand regions tell", tests)
