// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_reg_mr(3), registration: what is accepted, what is refused and why, what is pinned and
 * unpinned (items A1 to A20).
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link.h"
#include "memory.h"
#include "pins.h"
#include "resources.h"

/* The fields of a region are those of the call. */
static void a1_fields(void)
{
	struct region r = region_new(5000, 123, ALL_ACCESS);

	CHECK(r.mr->pd == dev.pd);
	CHECK(r.mr->context == dev.ctx);
	CHECK(r.mr->addr == r.buf->data);
	CHECK_EQ(r.mr->length, 5000);
	CHECK(r.mr->lkey && r.mr->rkey);
	region_free(&r);
}

/* A region without rights can be read by its owner, and refuses all else. */
static void a2_no_access(void)
{
	struct region local = region_new(100, 3, ALL_ACCESS);
	struct region r = region_new(100, 1, 0);
	struct link link;

	/* The region can still be read locally, by the lkey. */
	link_make(&link, NULL);
	check_write(&link, &r, 0, &local, 0, 100);
	buf_check(local.buf);
	access_refused(&link, &local, r.base, r.rkey, IBV_WR_RDMA_READ);
	access_refused(&link, &local, r.base, r.rkey, IBV_WR_RDMA_WRITE);
	expect(rdma(&link.a, IBV_WR_RDMA_READ, sge_of(&r, 0, 100), local.base,
		    local.rkey),
	       IBV_WC_LOC_PROT_ERR);
	buf_check(r.buf);
	region_free(&r);
}

/* Without any right the owner sends and writes from a region. */
static void a3_local_read(void)
{
	struct region local = region_new(9000, 777, 0);
	struct region remote = region_new(9000, 99, ALL_ACCESS);
	struct link link;

	link_make(&link, NULL);
	check_write(&link, &local, 3, &remote, 10, 8191);
	check_send(&link, &local, 100, &remote, 9, 8190);
	buf_check(local.buf);
	buf_check(remote.buf);
}

/* The lkey works in sends, receives and receives of a shared queue. */
static void a4_lkey(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4,
						    .max_sge = 1 } };
	struct region local = region_new(9000, 777, IBV_ACCESS_LOCAL_WRITE);
	struct region remote = region_new(9000, 99, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sink = sge_of(&remote, 5, 8200);
	struct qp_cfg with_srq = {};
	struct link link;

	with_srq.srq = MUST(ibv_create_srq(dev.pd, &init));
	link_make2(&link, NULL, &with_srq);
	post_srq(with_srq.srq, &sink, 1, 42);
	expect(send_sge(&link.a, sge_of(&local, 1, 8200)), IBV_WC_SUCCESS);
	CHECK_EQ(await(link.b.rcq).wr_id, 42);
	memcpy(remote.buf->want + 5, local.buf->want + 1, 8200);
	buf_check(remote.buf);

	link_make(&link, NULL);
	check_send(&link, &local, 7, &remote, 3, 8209);
	buf_check(remote.buf);
}

/* The rkey works in all remote operations. */
static void a5_rkey(void)
{
	struct region local = region_new(70001, 3, IBV_ACCESS_LOCAL_WRITE);
	struct region remote = region_new(66666, 4001, ALL_ACCESS);
	struct link link;

	link_make(&link, NULL);
	exchange(&link, &local, &remote);
}

/* A registration that fails returns NULL and sets errno. */
static void a6_null_and_errno(void)
{
	void *hole =
		mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(hole, PAGE);
	errno = 0;
	CHECK(!ibv_reg_mr(dev.pd, hole, PAGE, ALL_ACCESS));
	CHECK(errno > 0);
}

/* Regions of any offset and length end exactly at their bytes. */
static void a7_unaligned(void)
{
	static const struct {
		size_t offset, length;
	} cases[] = {
		{ 100, 5000 }, { 4095, 1 }, { 4095, 2 },
		{ 1, 4096 },   { 0, 1 },    { 17, 123457 },
	};
	struct region local = region_new(123457, 9, ALL_ACCESS);
	struct link link;
	size_t i;

	link_make(&link, NULL);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct region r = region_new(cases[i].length, cases[i].offset,
					     ALL_ACCESS);

		context("%zu bytes at %zu", cases[i].length, cases[i].offset);
		check_write(&link, &local, 5 % cases[i].length, &r, 0,
			    cases[i].length < 123450 ? cases[i].length :
						       123450);
		check_read(&link, &local, 0, &r, cases[i].length - 1, 1);
		buf_check(r.buf);
		buf_check(local.buf);
		refused(&link, IBV_WR_RDMA_WRITE, sge_of(&local, 0, 1),
			r.base - 1, r.rkey, IBV_WC_REM_ACCESS_ERR,
			PINION_SYN_REMOTE);
		refused(&link, IBV_WR_RDMA_WRITE, sge_of(&local, 0, 1),
			r.base + cases[i].length, r.rkey, IBV_WC_REM_ACCESS_ERR,
			PINION_SYN_REMOTE);
		buf_check(r.buf);
		region_free(&r);
	}
}

/* A region without bytes is EINVAL. */
static void a8_length_zero(void)
{
	struct buf *buf = buf_new(PAGE, 0);

	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, 0, ALL_ACCESS), EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data + 100, 0, ALL_ACCESS), EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data + 100, 0, 0), EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, NULL, 0, 0), EINVAL);
	CHECK_EQ(vm_pin(0), 0);
}

/* Ranges that wrap around the address space are EINVAL, and pin nothing. */
static void a9_overflow(void)
{
	struct buf *buf = buf_new(PAGE, 100);
	uintptr_t addr = (uintptr_t)buf->data;

	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, -addr, ALL_ACCESS), EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, -addr - 1, ALL_ACCESS), EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, SIZE_MAX, ALL_ACCESS), EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, (void *)-PAGE, 2 * PAGE, ALL_ACCESS),
		 EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, (void *)-1L, 2, ALL_ACCESS), EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ALL_ACCESS), EINVAL);
	CHECK_EQ(vm_pin(0), 0);
}

/* Memory with a hole or without read permission is EFAULT, and no page stays pinned. */
static void a10_unmapped(void)
{
	struct buf *buf = buf_new(16 * PAGE, 0);

	munmap(buf->data + 7 * PAGE, PAGE);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data + 100, 15 * PAGE, ALL_ACCESS),
		 EFAULT);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data + 7 * PAGE + 5, 10, 0), EFAULT);
	CHECK_EQ(vm_pin(0), 0);
	CHECK(ibv_reg_mr(dev.pd, buf->data, 7 * PAGE, ALL_ACCESS));
	CHECK_EQ(vm_pin(0), 7 * 4);
	/* Memory without read permission cannot be registered. */
	CHECK_EQ(mprotect(buf->data + 8 * PAGE, PAGE, PROT_NONE), 0);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data + 8 * PAGE, PAGE, 0), EFAULT);
	CHECK_EQ(vm_pin(0), 7 * 4);
}

/* Read-only memory can be registered for reading only. */
static void a11_read_only(void)
{
	struct region remote = region_new(3 * PAGE, 11, ALL_ACCESS);
	struct buf *buf = buf_new(2 * PAGE, 0);
	struct region r;
	struct link link;

	CHECK_EQ(mprotect(buf->map, buf->map_length, PROT_READ), 0);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data + 9, 5000,
			    IBV_ACCESS_LOCAL_WRITE),
		 EFAULT);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data + 9, 5000, ALL_ACCESS), EFAULT);
	CHECK_EQ(vm_pin(0), 3 * 4 + 4);
	CHECK(ibv_reg_mr(dev.pd, buf->data + 9, 5000, 0));
	r = region_reg(dev.pd, buf, IBV_ACCESS_REMOTE_READ);
	link_make(&link, NULL);
	check_read(&link, &remote, 1, &r, 2, 2 * PAGE - 2);
	check_write(&link, &r, 1, &remote, 2, 2 * PAGE - 2);
	buf_check(remote.buf);
	buf_check(buf);
}

static void limit_memlock(rlim_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	/* Root may exceed the limit. */
	if (geteuid() == 0)
		CHECK_EQ(setresuid(65534, 65534, 65534), 0);
	CHECK_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
}

/* Beyond RLIMIT_MEMLOCK it is ENOMEM; each registration counts, until it ends. */
static void a12_memlock(void)
{
	struct buf *buf = buf_new(64 * PAGE, 0);
	struct ibv_mr *mrs[4];
	int i;

	limit_memlock(8 * PAGE);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, 9 * PAGE, ALL_ACCESS), ENOMEM);
	CHECK_EQ(vm_pin(0), 0);
	/* Each registration of the same pages counts. */
	for (i = 0; i < 4; i++)
		mrs[i] = MUST(ibv_reg_mr(dev.pd, buf->data + 1, 5000, 0));
	CHECK_EQ(vm_pin(0), 8 * 4);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, 1, 0), ENOMEM);
	CHECK_EQ(ibv_dereg_mr(mrs[0]), 0);
	mrs[0] = MUST(ibv_reg_mr(dev.pd, buf->data, 2 * PAGE, 0));
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, 1, 0), ENOMEM);
	for (i = 0; i < 4; i++)
		CHECK_EQ(ibv_dereg_mr(mrs[i]), 0);
	CHECK_EQ(vm_pin(0), 0);
}

/* With a limit of zero it is EPERM. */
static void a12_memlock_zero(void)
{
	struct buf *buf = buf_new(PAGE, 0);

	limit_memlock(0);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, 1, ALL_ACCESS), EPERM);
}

/* VmPin has the pages of each registration, also if they are the same ones. */
static void a13_vmpin(void)
{
	struct buf *buf = buf_new(32 * PAGE, 0);
	struct ibv_mr *a, *b, *c;

	CHECK_EQ(vm_pin(0), 0);
	a = MUST(ibv_reg_mr(dev.pd, buf->data + 1, 32 * PAGE - 1, ALL_ACCESS));
	CHECK_EQ(vm_pin(0), 32 * 4);
	b = MUST(ibv_reg_mr(dev.pd, buf->data + PAGE - 1, 2, 0));
	CHECK_EQ(vm_pin(0), 34 * 4);
	c = MUST(ibv_reg_mr(dev.pd, buf->data + PAGE - 1, 2, 0));
	CHECK_EQ(ibv_dereg_mr(a), 0);
	CHECK_EQ(vm_pin(0), 4 * 4);
	CHECK_EQ(ibv_dereg_mr(c), 0);
	CHECK_EQ(ibv_dereg_mr(b), 0);
	CHECK_EQ(vm_pin(0), 0);
}

/* Two regions of the same memory have rights of their own, and end one by one. */
static void a14_independent(void)
{
	struct region local = region_new(9000, 1, ALL_ACCESS);
	struct buf *buf = buf_new(9000, 55);
	struct region reads = region_reg(dev.pd, buf, IBV_ACCESS_REMOTE_READ);
	struct region writes = region_reg(
		dev.pd, buf, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct link link;

	link_make(&link, NULL);
	check_write(&link, &local, 1, &writes, 2, 8800);
	check_read(&link, &local, 7, &reads, 2, 8800);
	buf_check(local.buf);
	refused(&link, IBV_WR_RDMA_READ, sge_of(&local, 0, 1), writes.base,
		writes.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link, IBV_WR_RDMA_WRITE, sge_of(&local, 0, 1), reads.base,
		reads.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	/* Deregistering one leaves the other usable. */
	CHECK_EQ(ibv_dereg_mr(reads.mr), 0);
	check_write(&link, &local, 1, &writes, 2, 8800);
	buf_check(buf);
}

/* Memory of each kind can be registered, and data arrive both ways. */
static void a15_kind(const void *with)
{
	const struct memory_kind *kind = with;
	size_t length = 3 * kind->page + 12345, offset = 4097;
	struct region local = region_new(100000, 1, ALL_ACCESS);
	struct buf *buf = memory_new(kind, length, offset);
	struct region r = region_reg(dev.pd, buf, ALL_ACCESS);
	struct link link;

	/* Checked while pinned, so that the pages cannot be replaced. */
	if (!memory_is(kind, buf))
		skip("no such memory here");
	link_make(&link, NULL);
	exchange(&link, &local, &r);
	exchange(&link, &r, &local);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	memory_free(kind, buf);
}

/* A writable shared mapping of a file with writeback cannot be pinned long-term. */
static void a15_file(void)
{
	struct region local = region_new(9000, 1, ALL_ACCESS);
	struct buf *buf = memory_new(&memory_file, 9000, 77);
	struct region r;
	struct link link;

	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, buf->length, ALL_ACCESS),
		 EFAULT);
	r = region_reg(dev.pd, buf, IBV_ACCESS_REMOTE_READ);
	link_make(&link, NULL);
	check_read(&link, &local, 1, &r, 2, 8800);
	buf_check(local.buf);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	memory_free(&memory_file, buf);
}

static void touch(void *arg)
{
	struct buf *buf = arg;

	buf_check(buf);
	memset(buf->map, 0x55, buf->map_length);
	usleep(300000);
}

/* Pinned pages stay those of the parent when both sides of a fork() write to them. */
static void a16_fork(void)
{
	struct region local = region_new(60000, 1, ALL_ACCESS);
	struct region r = region_private(60000, 99, ALL_ACCESS);
	struct link link;
	int pid;

	link_make(&link, NULL);
	check_write(&link, &local, 0, &r, 0, 60000);
	pid = spawn(touch, r.buf);
	/* Written on both sides of the fork: the pinned pages stay the parent's. */
	buf_fill(r.buf);
	exchange(&link, &local, &r);
	reap_ok(pid);
	exchange(&link, &local, &r);
	CHECK_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

/* The device sees what is written to a private mapping of a file after registration. */
static void a17_private(void)
{
	struct region local = region_new(9000, 1, ALL_ACCESS);
	struct buf *buf = memory_new(&memory_file_private, 9000, 77);
	struct region r = region_reg(dev.pd, buf, IBV_ACCESS_REMOTE_READ);
	struct link link;

	link_make(&link, NULL);
	check_read(&link, &local, 1, &r, 2, 8800);
	buf_check(local.buf);
	/*
	 * After the fork a write of the CPU could copy the page; the device must see what was
	 * written.
	 */
	buf_fill(buf);
	check_read(&link, &local, 5, &r, 3, 8800);
	buf_check(local.buf);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	memory_free(&memory_file_private, buf);
}

static void hold_and_die(void *arg)
{
	int ready = *(int *)arg;
	struct region r;
	int i;

	device_open();
	for (i = 0; i < 20; i++)
		r = region_new(rnd_in(1, 50) * PAGE, rnd_below(PAGE),
			       ALL_ACCESS);
	CHECK(vm_pin(0) > 0 && r.mr);
	CHECK_EQ(write(ready, "", 1), 1);
	pause();
}

/* The regions of a killed process are gone. */
static void a18_kill(void)
{
	struct resources before, during;
	int pipes[2], pid;
	char byte;

	CHECK_EQ(pipe(pipes), 0);
	resources_read(&before);
	pid = spawn(hold_and_die, &pipes[1]);
	CHECK_EQ(read(pipes[0], &byte, 1), 1);
	resources_read(&during);
	if (before.known)
		CHECK_EQ(resources_count(&during, "mr"),
			 resources_count(&before, "mr") + 20);
	kill(pid, SIGKILL);
	CHECK(WIFSIGNALED(reap(pid)));
	resources_await(&before);
}

/* A region is listed with its keys and length until it ends. */
static void a19_listing(void)
{
	struct region r = region_new(12345, 7, ALL_ACCESS);
	struct mr_info info;
	uint32_t rkey = r.rkey;

	need_root();
	CHECK(resources_mr(rkey, &info));
	CHECK_EQ(info.length, 12345);
	CHECK_EQ(info.lkey, r.lkey);
	region_free(&r);
	CHECK(!resources_mr(rkey, &info));
}

/*
 * rdma resource must show the same rows for a region at either place, so that it does not give away
 * addresses. No other region has this length.
 */
static void same_rows(uint8_t *one, uint8_t *other, size_t length)
{
	enum { ROWS = 16 };
	struct mr_row at[2][ROWS];
	int place, i, count[2];

	if (geteuid() == 0)
		CHECK_EQ(setresuid(65534, 65534, 65534), 0);
	for (place = 0; place < 2; place++) {
		struct ibv_mr *mr = MUST(ibv_reg_mr(dev.pd, place ? other : one,
						    length, ALL_ACCESS));

		count[place] = resources_mr_rows(length, at[place], ROWS);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	}
	CHECK(count[0] > 0);
	CHECK_EQ(count[0], count[1]);
	for (i = 0; i < count[0]; i++) {
		context("row %s", at[0][i].name);
		CHECK(!strcmp(at[1][i].name, at[0][i].name));
		CHECK_EQ(at[1][i].value, at[0][i].value);
	}
}

/* In a page. The second place takes one page more. */
static void a19_no_address(void)
{
	enum { LENGTH = 3 * 4096 + 1234 };
	struct buf *buf = buf_new(LENGTH + 8192, 0);
	uint8_t *page = buf->data + (-(uintptr_t)buf->data & (PAGE - 1));

	same_rows(page, page + 3210, LENGTH);
}

/*
 * In a huge page. A block of two pages can begin at an even page only, one of four pages has the
 * second place, and so on.
 */
static void a19_no_block(void)
{
	struct buf *buf = memory_new(&memory_thp, memory_thp.page, 0);

	if (!memory_is(&memory_thp, buf))
		skip("no huge page to be had");
	same_rows(buf->data, buf->data + PAGE, 2 * PAGE);
}

/* The counters that a touched byte changes. No other region has this length. */
enum { SPAN = 2 << 20, SPANS_LENGTH = SPAN + 5 * 4096 + 1234, COUNTERS = 3 };

static const char *const counter_names[COUNTERS] = { "children", "page_faults",
						     "page_faults_handled" };

/* In shared memory: what one process has read of another's region. */
struct told {
	bool listed, has[COUNTERS];
	uint64_t value[COUNTERS];
};

static void read_counters_of_region(void *arg)
{
	struct mr_info infos[256];
	struct told *told = arg;
	int i, count = resources_mrs(infos, ARRAY_SIZE(infos));
	uint32_t mrn = 0;

	for (i = 0; i < count; i++) {
		if (infos[i].length != SPANS_LENGTH)
			continue;
		told->listed = true;
		mrn = infos[i].mrn;
	}
	for (i = 0; told->listed && i < COUNTERS; i++)
		told->has[i] = resources_mrn_counter(mrn, counter_names[i],
						     &told->value[i]);
}

static void read_counters_of_other(struct told *told)
{
	memset(told, 0, sizeof(*told));
	CHECK_EQ(reap(spawn(read_counters_of_region, told)), 0);
	CHECK(told->listed);
}

static void touch_at(struct link *link, const struct region *with,
		     uint32_t rkey, uint64_t at)
{
	expect(rdma(&link->a, IBV_WR_RDMA_WRITE, sge_of(with, 0, 1), at, rkey),
	       IBV_WC_SUCCESS);
}

/*
 * A peer knows where in the region it writes a byte. If the statistics told another process whether
 * the byte lies in a span of 2 MiB that was touched before, they would tell bits of the address. The
 * region's own process sees its counters.
 */
static void a19_no_span(void)
{
	char *begin, *line;
	struct told own, *other;
	struct region with;
	struct link link;
	struct ibv_mr *mr;
	int place, i;

	need_odp();
	if (!dev.pinion)
		skip("others have other counters");
	if (geteuid() == 0)
		CHECK_EQ(setresuid(65534, 65534, 65534), 0);
	other = mmap(NULL, 3 * sizeof(*other), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(other != MAP_FAILED);
	begin = mmap(NULL, 3 * SPAN, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(begin != MAP_FAILED);
	madvise(begin, 3 * SPAN, MADV_NOHUGEPAGE);
	/* A fork would take the pages from the region, and with them its children. */
	CHECK_EQ(madvise(begin, 3 * SPAN, MADV_DONTFORK), 0);
	line = (char *)(((uintptr_t)begin + 2 * SPAN - 1) & -SPAN);
	begin = line - SPAN / 2;
	link_make(&link, NULL);
	with = region_new(PAGE, 0, ALL_ACCESS);
	mr = MUST(ibv_reg_mr_iova(dev.pd, begin, SPANS_LENGTH, 0, ODP_ALL));

	touch_at(&link, &with, mr->rkey, 0);
	read_counters_of_other(&other[0]);
	touch_at(&link, &with, mr->rkey, SPAN / 4);
	read_counters_of_other(&other[1]);
	touch_at(&link, &with, mr->rkey, line - begin);
	read_counters_of_other(&other[2]);
	for (place = 1; place < 3; place++) {
		for (i = 0; i < COUNTERS; i++) {
			context("%s, byte %d", counter_names[i], place);
			CHECK_EQ(other[place].has[i], other[0].has[i]);
			CHECK_EQ(other[place].value[i], other[0].value[i]);
		}
	}
	memset(&own, 0, sizeof(own));
	read_counters_of_region(&own);
	for (i = 0; i < COUNTERS; i++) {
		context("%s, its own process", counter_names[i]);
		CHECK(own.has[i]);
	}
	CHECK_EQ(own.value[0], 2);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

/* Creates many regions, then destroys all. */
static void a20_many(void)
{
	struct buf *buf = buf_new(PAGE, 0);
	size_t count = 0, most = 200000;
	double end = now() + opt.seconds * 2;
	struct region local, r;
	struct ibv_mr **mrs;
	struct link link;
	size_t i;

	mrs = MUST(calloc(most, sizeof(*mrs)));
	while (count < most && now() < end) {
		mrs[count] = ibv_reg_mr(dev.pd, buf->data, 100, 0);
		if (!mrs[count])
			break;
		count++;
	}
	note("%zu regions", count);
	if (count < most && now() < end)
		CHECK(errno == ENOMEM || errno == ENOSPC);
	local = region_new(9000, 1, ALL_ACCESS);
	r = region_new(9000, 1, ALL_ACCESS);
	link_make(&link, NULL);
	exchange(&link, &local, &r);
	for (i = 0; i < count; i++)
		CHECK_EQ(ibv_dereg_mr(mrs[i]), 0);
	region_free(&r);
	region_free(&local);
	CHECK_EQ(vm_pin(0), 0);
}

/* Bytes of all slab allocations. */
static long slab(void)
{
	char line[128];
	long kib = -1;
	FILE *file = MUST(fopen("/proc/meminfo", "r"));

	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Slab: %ld", &kib) == 1)
			break;
	fclose(file);
	return kib * 1024;
}

enum { COUNTED = 20000, WARM = 2000 };

static bool costs_little(void *arg)
{
	struct ibv_mr **mrs = arg;
	struct buf *buf = buf_new(PAGE, 0);
	long before, cost;
	size_t i;

	/* Warm up, so that partly filled caches and deferred frees do not count. */
	for (i = 0; i < WARM; i++)
		mrs[i] = MUST(ibv_reg_mr(dev.pd, buf->data, 100, 0));
	sleep(1);
	before = slab();
	for (; i < WARM + COUNTED; i++)
		mrs[i] = MUST(ibv_reg_mr(dev.pd, buf->data, 100, 0));
	sleep(1);
	cost = (slab() - before) / COUNTED;
	for (i = 0; i < WARM + COUNTED; i++)
		CHECK_EQ(ibv_dereg_mr(mrs[i]), 0);
	note("%ld bytes each", cost);
	CHECK(cost > 400);
	return cost <= 900;
}

/* A small region takes no more memory than documented. */
static void a20_cost(void)
{
	if (slow() > 1)
		skip("this kernel's allocations have more in them");
	if (!dev.pinion)
		skip("what others take is theirs");
	CHECK(one_of(3, "memory was taken by somebody else", costs_little,
		     MUST(calloc(WARM + COUNTED, sizeof(struct ibv_mr *)))));
}

/* How long the kernel may keep what is freed after a grace period (KFREE_DRAIN_JIFFIES), and more. */
enum { DRAIN_SECONDS = 6 };

struct counted {
	struct ibv_mr **mrs;
	bool again;
};

static bool takes_two_objects(void *arg)
{
	struct counted *counted = arg;
	struct ibv_mr **mrs = counted->mrs;
	struct buf *buf = buf_new(PAGE, 0);
	long long before, objects;
	size_t i;

	/* Keys of earlier regions are freed late, those of the last attempt, too. */
	if (counted->again)
		usleep(patience(DRAIN_SECONDS) * 1000000);
	counted->again = true;
	before = allocated_in("pinion");
	for (i = 0; i < WARM; i++)
		mrs[i] = MUST(ibv_reg_mr(dev.pd, buf->data, 100, 0));
	objects = allocated_in("pinion") - before;
	for (i = 0; i < WARM; i++)
		CHECK_EQ(ibv_dereg_mr(mrs[i]), 0);
	note("%lld objects for %d regions", objects, WARM);
	CHECK(objects >= WARM);
	/* Some more are for the table of keys, which grows. */
	return objects >= 2 * WARM && objects <= 2 * WARM + 8;
}

/*
 * A small region takes two objects of the driver, as documented: itself, and its key with the
 * table. The kernel counts objects also where checkers make them larger.
 */
static void a20_objects(void)
{
	struct counted counted = {};

	if (!dev.pinion)
		skip("what others take is theirs");
	if (allocated_in("pinion") < 0)
		skip("this kernel does not count its allocations");
	counted.mrs = MUST(calloc(WARM, sizeof(struct ibv_mr *)));
	CHECK(one_of(3, "earlier regions were freed late", takes_two_objects,
		     &counted));
}

static const struct test tests[] = {
	TEST(a1_fields, "A1 the fields of an MR"),
	TEST(a2_no_access, "A2 access 0 is legal"),
	TEST(a3_local_read, "A3 local read is always allowed"),
	TEST(a4_lkey, "A4 lkey in sends, receives and shared receives"),
	TEST(a5_rkey, "A5 rkey in RDMA and atomics"),
	TEST(a6_null_and_errno, "A6 failure is NULL and errno"),
	TEST(a7_unaligned, "A7 any alignment, exact to the byte"),
	TEST(a8_length_zero, "A8 length 0 is EINVAL"),
	TEST(a9_overflow, "A9 address + length overflows (class 1)"),
	TEST(a10_unmapped, "A10 unmapped memory, nothing stays pinned"),
	TEST(a11_read_only, "A11 read-only mappings"),
	TEST(a12_memlock, "A12 RLIMIT_MEMLOCK exceeded"),
	TEST(a12_memlock_zero, "A12 RLIMIT_MEMLOCK 0"),
	TEST(a13_vmpin, "A13 VmPin counts each registration"),
	TEST(a14_independent, "A14 two regions of the same memory"),
	TEST_WITH(a15_kind, &memory_anonymous, "A15 anonymous memory"),
	TEST_WITH(a15_kind, &memory_thp, "A15 transparent huge pages"),
	TEST_WITH(a15_kind, &memory_hugetlb, "A15 hugetlb pages"),
	TEST_WITH(a15_kind, &memory_shared, "A15 shared memory"),
	TEST(a15_file, "A15 file mappings"),
	TEST(a16_fork, "A16 fork after registration"),
	TEST(a17_private, "A17 a private mapping written after registration"),
	TEST(a18_kill, "A18 a killed process leaves nothing"),
	TEST(a19_listing, "A19 resource listing"),
	TEST(a19_no_address,
	     "A19 nothing of where a region is is told to nobody"),
	TEST(a19_no_block, "A19 nor by the blocks of a huge page (class 24)"),
	TEST(a19_no_span, "A19 nor by the counters of its pages (class 24)"),
	LONG_TEST(a20_cost, "A20 what a small region costs", 120),
	TEST(a20_objects, "A20 how many objects a small region takes"),
	TEST(a20_many, "A20 very many regions"),
};

HARNESS_MAIN("ibv_reg_mr(3): registration", tests)
