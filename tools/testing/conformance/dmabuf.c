// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_reg_dmabuf_mr(3): memory, access rights, errors, lifetimes (items A60 to A67 and A69 to
 * A76; A68 is in dmabuf_move.c).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dmabuf.h"
#include "newer.h"
#include "pins.h"
#include "raw.h"
#include "resources.h"

enum { SIZE = 16 * 4096, LEN = 50001 };

static struct link link_;
static struct region all;

static void begin(void)
{
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
}

/* A buffer of the last kind there is; those that can move come last. */
static struct dmabuf any(void)
{
	size_t i;

	for (i = DMABUF_KINDS; i--;)
		if (dmabuf_there(&dmabuf_kinds[i]))
			return dmabuf_new(&dmabuf_kinds[i], SIZE);
	skip("no exporter of dma-bufs here");
}

static void both_ways(struct region *r)
{
	exchange(&link_, &all, r);
	exchange(&link_, r, &all);
}

/*
 * Regions of whole dma-bufs and of parts, of each exporter: data arrive, and no byte around them
 * changes.
 */
static void a60_range(void)
{
	size_t i, kinds = 0;

	begin();
	for (i = 0; i < DMABUF_KINDS; i++) {
		struct dmabuf dmabuf;
		struct region r;

		context("%s", dmabuf_kinds[i].name);
		if (!dmabuf_there(&dmabuf_kinds[i])) {
			note("without %s", dmabuf_kinds[i].name);
			continue;
		}
		kinds++;
		dmabuf = dmabuf_new(&dmabuf_kinds[i], SIZE);
		r = dmabuf_region(&dmabuf, 0, SIZE, 0x7000000, ALL_ACCESS);
		both_ways(&r);
		dmabuf_region_free(&r);
		r = dmabuf_region(&dmabuf, 3 * PAGE, 7 * PAGE, 5 * PAGE,
				  ALL_ACCESS);
		both_ways(&r);
		/* The memory around the region is unchanged, too. */
		buf_check(dmabuf.all);
		dmabuf_region_free(&r);
		dmabuf_free(&dmabuf);
	}
	if (!kinds)
		skip("no exporter of dma-bufs here");
}

/* The fields of a region of a dma-buf are those of the call. */
static void a61_fields(void)
{
	struct dmabuf dmabuf = any();
	struct mr_info info;
	struct region r;

	r = dmabuf_region(&dmabuf, PAGE, 3 * PAGE, 9 * PAGE, ALL_ACCESS);
	CHECK(r.mr->addr == (void *)PAGE);
	CHECK_EQ(r.mr->length, 3 * PAGE);
	CHECK(r.mr->pd == dev.pd);
	CHECK(r.mr->context == dev.ctx);
	CHECK(resources_mr(r.rkey, &info) && info.length == 3 * PAGE);
}

/* A region of a dma-buf has any iova that ends below 2^64, exact to the byte. */
static void a62_iova(void)
{
	static const uint64_t iovas[] = { 0, 4096, 1ULL << 63, -16ULL * 4096 };
	struct dmabuf dmabuf = any();
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(iovas); i++) {
		struct region r = dmabuf_region(&dmabuf, 0, SIZE - PAGE,
						iovas[i], ALL_ACCESS);

		both_ways(&r);
		refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 2),
			iovas[i] + SIZE - PAGE - 1, r.rkey,
			IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
		dmabuf_region_free(&r);
	}
	/* The end is beyond the last address. */
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, SIZE, -15ULL * PAGE, dmabuf.fd,
				   ALL_ACCESS),
		 EINVAL);
}

/* An iova with another offset into its page than the buffer's is EINVAL. */
static void a63_page_offset(void)
{
	struct dmabuf dmabuf = any();

	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, PAGE, 100, dmabuf.fd, ALL_ACCESS),
		 EINVAL);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 100, PAGE, 0, dmabuf.fd, ALL_ACCESS),
		 EINVAL);
}

/* Access flags for dma-bufs: each combination allows what it says, and others are refused. */
static void a64_flags(void)
{
	static const int bad[] = {
		IBV_ACCESS_MW_BIND,
		IBV_ACCESS_ZERO_BASED,
		IBV_ACCESS_ON_DEMAND,
		IBV_ACCESS_HUGETLB,
		IBV_ACCESS_FLUSH_GLOBAL,
		IBV_ACCESS_FLUSH_PERSISTENT,
		1 << 29,
		1 << 30,
	};
	struct dmabuf dmabuf = any();
	size_t i;
	int bits;

	begin();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		context("flag %#x", bad[i]);
		MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, PAGE, 0, dmabuf.fd,
					   bad[i] | IBV_ACCESS_LOCAL_WRITE),
			 EINVAL);
	}
	/* Every combination of the remaining flags, and what it allows. */
	for (bits = 0; bits < 16; bits++) {
		int access = bits |
			     (bits & 1 ? 0 : IBV_ACCESS_RELAXED_ORDERING);
		struct region r;

		context("access %#x", access);
		if (bits & (IBV_ACCESS_REMOTE_WRITE |
			    IBV_ACCESS_REMOTE_ATOMIC) &&
		    !(bits & IBV_ACCESS_LOCAL_WRITE))
			continue;
		r = dmabuf_region(&dmabuf, 0, SIZE, 0, access);
		check_write(&link_, &r, 5, &all, 7, 5000);
		if (bits & IBV_ACCESS_REMOTE_WRITE)
			check_write(&link_, &all, 5, &r, 7, 5000);
		else
			refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 8),
				0, r.rkey, IBV_WC_REM_ACCESS_ERR,
				PINION_SYN_REMOTE);
		if (bits & IBV_ACCESS_REMOTE_READ)
			check_read(&link_, &all, 5, &r, 7, 5000);
		else
			refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8), 0,
				r.rkey, IBV_WC_REM_ACCESS_ERR,
				PINION_SYN_REMOTE);
		if (!(bits & IBV_ACCESS_REMOTE_ATOMIC))
			refused(&link_, IBV_WR_ATOMIC_FETCH_AND_ADD,
				sge_of(&all, 0, 8), 0, r.rkey,
				IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
		if (!(bits & IBV_ACCESS_LOCAL_WRITE)) {
			expect(rdma(&link_.a, IBV_WR_RDMA_READ,
				    sge_of(&r, 0, 8), all.base, all.rkey),
			       IBV_WC_LOC_PROT_ERR);
			link_renew(&link_);
		}
		buf_check(r.buf);
		buf_check(all.buf);
		dmabuf_region_free(&r);
	}
}

/* Remote writes and atomics without LOCAL_WRITE are EINVAL. */
static void a65_local_write(void)
{
	struct dmabuf dmabuf = any();

	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, PAGE, 0, dmabuf.fd,
				   IBV_ACCESS_REMOTE_WRITE),
		 EINVAL);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, PAGE, 0, dmabuf.fd,
				   IBV_ACCESS_REMOTE_ATOMIC),
		 EINVAL);
}

/* File descriptors that are no dma-buf, and ranges outside of it, are refused. */
static void a66_bad_ranges(void)
{
	struct dmabuf dmabuf = any();
	int fd = dmabuf.fd;
	int file = open("/dev/null", O_RDWR);

	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, PAGE, 0, -1, ALL_ACCESS), EBADF);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, PAGE, 0, 999, ALL_ACCESS), EBADF);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, PAGE, 0, file, ALL_ACCESS),
		 EINVAL);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, SIZE + 1, 0, fd, ALL_ACCESS),
		 EINVAL);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, SIZE, 1, 0, fd, ALL_ACCESS), EINVAL);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 100, SIZE - 99, 100, fd, ALL_ACCESS),
		 EINVAL);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, PAGE, SIZE_MAX, 0, fd, ALL_ACCESS),
		 EINVAL);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, -PAGE, 2 * PAGE, 0, fd, ALL_ACCESS),
		 EINVAL);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, 0, 0, fd, ALL_ACCESS), EINVAL);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 5, 0, 5, fd, ALL_ACCESS), EINVAL);
}

/* The region keeps the dma-buf when its file is closed and its mapping gone. */
static void a67_close(void)
{
	struct dmabuf dmabuf = any();
	struct region r;

	begin();
	r = dmabuf_region(&dmabuf, 0, SIZE, 0, ALL_ACCESS);
	CHECK_EQ(close(dmabuf.fd), 0);
	both_ways(&r);
	/* Only the region still holds the buffer. */
	CHECK_EQ(munmap(dmabuf.all->map, SIZE), 0);
	expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&all, 0, LEN), 0,
		    r.rkey),
	       IBV_WC_SUCCESS);
	CHECK(!memcmp(all.buf->data, r.buf->want, LEN));
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
}

/* A dma-buf that cannot be pinned is used without pinning it. */
static void a69_no_pin(void)
{
	struct dmabuf dmabuf;
	struct region r;

	begin();
	if (dmabuf_pins_mapped())
		skip("this kernel pins for dynamic importers, too");
	dmabuf = dmabuf_own(SIZE, EXPORTER_NO_PIN);
	r = dmabuf_region(&dmabuf, 0, SIZE, 0, ALL_ACCESS);
	both_ways(&r);
	CHECK_EQ(dmabuf_stat(&dmabuf).pins, 0);
	dmabuf_region_free(&r);
	dmabuf_check_unused(&dmabuf);
}

static void fails(const struct dmabuf *dmabuf, int error)
{
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, SIZE, 0, dmabuf->fd, ALL_ACCESS),
		 error);
	dmabuf_check_unused(dmabuf);
}

/* Errors of the exporter are returned, and leave nothing; the next try succeeds. */
static void a70_exporter_errors(void)
{
	static const int errors[] = { ENOMEM, EBUSY, EOPNOTSUPP, ENODEV, 517 };
	struct dmabuf dmabuf = dmabuf_own(SIZE, 0);
	struct region r;
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		context("errno %d", errors[i]);
		dmabuf_fail(&dmabuf, EXPORTER_ATTACH, errors[i]);
		fails(&dmabuf, errors[i]);
		dmabuf_fail(&dmabuf, EXPORTER_ATTACH, 0);
		dmabuf_fail(&dmabuf, EXPORTER_MAP, errors[i]);
		fails(&dmabuf, errors[i]);
		dmabuf_fail(&dmabuf, EXPORTER_MAP, 0);
	}
	r = dmabuf_region(&dmabuf, 0, SIZE, 0, ALL_ACCESS);
	both_ways(&r);
}

/* Dma-bufs without pages, or with pieces that are no pages, are refused. */
static void a70_strange_memory(void)
{
	static const struct {
		unsigned int flags;
		int error;
	} cases[] = {
		{ EXPORTER_NO_PAGES, EOPNOTSUPP },
		{ EXPORTER_NO_CPU, EOPNOTSUPP },
		{ EXPORTER_NO_CPU | EXPORTER_CONTIGUOUS, EOPNOTSUPP },
		{ EXPORTER_SHORT, EINVAL },
		{ EXPORTER_ODD, EINVAL },
		{ EXPORTER_ODD | EXPORTER_CONTIGUOUS, EINVAL },
		{ EXPORTER_SHORT | EXPORTER_CONTIGUOUS, EINVAL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dmabuf dmabuf = dmabuf_own(SIZE, cases[i].flags);

		context("flags %#x", cases[i].flags);
		fails(&dmabuf, cases[i].error);
		dmabuf_free(&dmabuf);
	}
}

/* Regions that overlap in one dma-buf see each other's bytes, and end one by one. */
static void a71_two_regions(void)
{
	struct dmabuf dmabuf = any();
	struct region r[3];
	int i, round;

	begin();
	r[0] = dmabuf_region(&dmabuf, 100, LEN, (7ULL << 40) + 100, ALL_ACCESS);
	r[1] = dmabuf_region(&dmabuf, PAGE + 4090, 20, 4090, ALL_ACCESS);
	r[2] = dmabuf_region(&dmabuf, 3 * PAGE + 9, SIZE - 3 * PAGE - 9,
			     5 * PAGE + 9, ALL_ACCESS);
	for (round = 0; round < 3; round++)
		for (i = 0; i < 3; i++)
			both_ways(&r[i]);
	/* Copy from one region to another of the same buffer. */
	check_write(&link_, &r[0], 0, &r[2], 20000, 10000);
	check_read(&link_, &r[2], 1, &r[0], 10000, 1000);
	buf_check(dmabuf.all);
	dmabuf_region_free(&r[0]);
	both_ways(&r[2]);
	dmabuf_region_free(&r[1]);
	both_ways(&r[2]);
}

/* A region cannot be deregistered twice. */
static void a72_twice(void)
{
	struct dmabuf dmabuf = any();
	struct region r = dmabuf_region(&dmabuf, 0, SIZE, 0, ALL_ACCESS);
	uint32_t handle = r.mr->handle;

	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	CHECK_EQ(raw_dereg_mr(dev.ctx->cmd_fd, handle), ENOENT);
}

static void dies(void *arg)
{
	struct dmabuf *dmabuf = arg;
	struct region r;

	/* Open the device again: the one inherited by fork is not usable here. */
	device_open();
	begin();
	r = dmabuf_region(dmabuf, 0, SIZE, 0, ALL_ACCESS);
	both_ways(&r);
	raise(SIGKILL);
}

/* A killed process leaves no attachment and no mapping of its dma-bufs. */
static void a72_kill(void)
{
	struct dmabuf dmabuf = dmabuf_own(SIZE, 0);
	struct exporter_stat stat;
	int i;

	for (i = 0; i < 5; i++) {
		CHECK_EQ(reap(spawn(dies, &dmabuf)), SIGKILL);
		dmabuf_check_unused(&dmabuf);
	}
	stat = dmabuf_stat(&dmabuf);
	CHECK_EQ(stat.attaches, 5);
	CHECK_EQ(stat.maps, 5);
}

/* Regions of dma-bufs pin nothing and are subject to no limit of locked memory. */
static void a73_accounting(void)
{
	struct rlimit none = {};
	struct dmabuf dmabuf = any();
	struct region r;
	long pins;

	begin();
	pins = vm_pin(0);
	r = dmabuf_region(&dmabuf, 0, SIZE, 0, ALL_ACCESS);
	CHECK_EQ(vm_pin(0), pins);
	dmabuf_region_free(&r);
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	if (geteuid() == 0)
		CHECK_EQ(setresuid(65534, 65534, 65534), 0);
	r = dmabuf_region(&dmabuf, 0, SIZE, 0, ALL_ACCESS);
	both_ways(&r);
}

/* Buffers are attached to the parent device; here this is a platform device. */
static void a74_dma_device(void)
{
	char path[PATH_MAX], bus[PATH_MAX];
	ssize_t length;

	begin();
	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/device/subsystem",
		 ibv_get_device_name(dev.ctx->device));
	length = readlink(path, bus, sizeof(bus) - 1);
	CHECK(length > 0);
	bus[length] = 0;
	CHECK(strstr(bus, "bus/platform"));
}

/* ibv_reg_mr_ex() registers a dma-buf only if it is given file, offset and iova, and no address. */
#ifdef HAVE_REG_MR_EX
static void a75_reg_mr_ex(void)
{
	struct dmabuf dmabuf = any();
	struct ibv_mr_init_attr attr = {
		.length = LEN,
		.access = ALL_ACCESS,
		.iova = 0,
		.fd = dmabuf.fd,
		.fd_offset = PAGE,
		.addr = &attr,
		.comp_mask = IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET |
			     IBV_REG_MR_MASK_IOVA,
	};
	uint64_t good = attr.comp_mask;
	struct region r;

	begin();
	r = region_of(dmabuf_view(&dmabuf, PAGE, LEN),
		      MUST(ibv_reg_mr_ex(dev.pd, &attr)), 0);
	both_ways(&r);
	dmabuf_region_free(&r);
	attr.comp_mask = good & ~IBV_REG_MR_MASK_FD_OFFSET;
	MUST_NOT(ibv_reg_mr_ex(dev.pd, &attr), EINVAL);
	attr.comp_mask = good & ~IBV_REG_MR_MASK_IOVA;
	MUST_NOT(ibv_reg_mr_ex(dev.pd, &attr), EINVAL);
	attr.comp_mask = good | IBV_REG_MR_MASK_ADDR;
	MUST_NOT(ibv_reg_mr_ex(dev.pd, &attr), EINVAL);
}

/* UHW data of this method is accepted if it is all zeros. */
static void a75_driver_data(void)
{
	static const uint8_t zeros[16];
	struct dmabuf dmabuf = any();
	uint64_t at = 0, length = LEN;
	uint32_t access = ALL_ACCESS, lkey, rkey;
	struct raw raw;
	int err;

	raw_begin(&raw, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_MR);
	raw_handle(&raw, UVERBS_ATTR_REG_MR_HANDLE, 0);
	raw_handle(&raw, UVERBS_ATTR_REG_MR_PD_HANDLE, dev.pd->handle);
	raw_in(&raw, UVERBS_ATTR_REG_MR_IOVA, &at, sizeof(at));
	raw_in(&raw, UVERBS_ATTR_REG_MR_LENGTH, &length, sizeof(length));
	raw_in(&raw, UVERBS_ATTR_REG_MR_ACCESS_FLAGS, &access, sizeof(access));
	raw_in(&raw, UVERBS_ATTR_REG_MR_FD_OFFSET, &at, sizeof(at));
	raw_handle(&raw, UVERBS_ATTR_REG_MR_FD, dmabuf.fd);
	raw_out(&raw, UVERBS_ATTR_REG_MR_RESP_LKEY, &lkey, sizeof(lkey));
	raw_out(&raw, UVERBS_ATTR_REG_MR_RESP_RKEY, &rkey, sizeof(rkey));
	raw_in(&raw, UVERBS_ATTR_UHW_IN, zeros, sizeof(zeros));
	err = raw_call(dev.ctx->cmd_fd, &raw);
	if (err == EPROTONOSUPPORT)
		skip("this kernel has no such method");
	CHECK_EQ(err, 0);
}
#endif

/* Wrong arguments are refused before the exporter is asked for anything. */
static void a76_checked_first(void)
{
	struct dmabuf dmabuf = dmabuf_own(SIZE, 0);
	uint64_t live = dmabuf_live();

	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, SIZE, 0, dmabuf.fd,
				   IBV_ACCESS_REMOTE_WRITE),
		 EINVAL);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, SIZE, 1, dmabuf.fd, ALL_ACCESS),
		 EINVAL);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, 0, 0, dmabuf.fd, ALL_ACCESS),
		 EINVAL);
	CHECK_EQ(dmabuf_stat(&dmabuf).attaches, 0);
	/* No reference to the buffer is left, either. */
	dmabuf_free(&dmabuf);
	dmabuf_await_live(live - 1);
}

static const struct test tests[] = {
	TEST(a60_range, "A60 the range of the buffer"),
	TEST(a61_fields, "A61 fields of the region"),
	TEST(a62_iova, "A62 any iova"),
	TEST(a63_page_offset, "A63 page offsets differ"),
	TEST(a64_flags, "A64 access flags"),
	TEST(a65_local_write, "A65 remote without local write"),
	TEST(a66_bad_ranges, "A66 descriptors and ranges (class 4)"),
	TEST(a67_close, "A67 the descriptor is closed"),
	TEST(a69_no_pin, "A69 an exporter that cannot pin"),
	TEST(a70_exporter_errors, "A70 errors of the exporter (class 4)"),
	TEST(a70_strange_memory, "A70 memory that cannot be used"),
	TEST(a71_two_regions, "A71 several regions of a buffer"),
	TEST(a72_twice, "A72 deregistered twice"),
	TEST(a72_kill, "A72 the process is killed"),
	TEST(a73_accounting, "A73 nothing is pinned"),
	TEST(a74_dma_device, "A74 a device for DMA"),
	TEST(IF_REG_MR_EX(a75_reg_mr_ex), "A75 ibv_reg_mr_ex"),
	TEST(IF_REG_MR_EX(a75_driver_data), "A75 with data for the driver"),
	TEST(a76_checked_first, "A76 checks before the buffer is touched"),
};

HARNESS_MAIN("ibv_reg_dmabuf_mr(3): regions of dma-bufs", tests)
