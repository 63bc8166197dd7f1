// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory: allocation, copying, regions of it, dma-bufs of it (items DM1 to DM14).
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "killed.h"
#include "link.h"
#include "pins.h"

enum { SIZE = 65536, DM_ACCESS = ALL_ACCESS | IBV_ACCESS_ZERO_BASED };

static struct link link_;
static struct region all;

static struct ibv_dm *new_dm(size_t length)
{
	struct ibv_alloc_dm_attr attr = { .length = length };

	if (!dev.attr.max_dm_size)
		lacks("no device memory");
	return MUST(ibv_alloc_dm(dev.ctx, &attr));
}

static void begin(void)
{
	link_make(&link_, NULL);
	all = region_new(SIZE, 1234, ALL_ACCESS);
}

/* Compares the device memory with the expected bytes. */
static void check_dm(struct ibv_dm *dm, const uint8_t *want, size_t length)
{
	uint8_t *got = MUST(malloc(length));

	CHECK_EQ(ibv_memcpy_from_dm(got, dm, 0, length), 0);
	if (memcmp(got, want, length))
		FAIL("device memory has other contents");
	free(got);
}

/*
 * Device memory of any size up to the maximum can be allocated; none, too much and unknown bits
 * are refused.
 */
static void dm1_alloc(void)
{
	struct ibv_alloc_dm_attr attr = {};
	size_t most = dev.attr.max_dm_size;
	struct ibv_dm *dm;

	CHECK_EQ(ibv_free_dm(new_dm(4)), 0);
	CHECK_EQ(ibv_free_dm(new_dm(SIZE + 3)), 0);
	attr.length = most + 1;
	CHECK(!ibv_alloc_dm(dev.ctx, &attr));
	attr.length = SIZE_MAX;
	CHECK(!ibv_alloc_dm(dev.ctx, &attr));
	attr.length = 0;
	MUST_NOT(ibv_alloc_dm(dev.ctx, &attr), EINVAL);
	attr.length = 64;
	attr.comp_mask = 1U << 31;
	MUST_NOT(ibv_alloc_dm(dev.ctx, &attr), EOPNOTSUPP);
	dm = new_dm(64);
	CHECK_EQ(ibv_free_dm(dm), 0);
}

/*
 * Device memory is allocated until there is none: each time the same amount, and never more than
 * reported.
 */
static void dm2_limit(void)
{
	struct ibv_alloc_dm_attr attr = { .length = dev.attr.max_dm_size };
	struct ibv_dm *dm = new_dm(4096), *dms[64];
	int i, count = 0, round;

	/* With some allocated, all of it cannot be had. */
	CHECK(!ibv_alloc_dm(dev.ctx, &attr));
	CHECK(errno == ENOMEM || errno == ENOSPC);
	CHECK_EQ(ibv_free_dm(dm), 0);
	/* Allocate until it fails, and free: the same amount must be there each time. */
	for (round = 0; round < 3; round++) {
		attr.length = dev.attr.max_dm_size / 4;
		for (i = 0; i < (int)ARRAY_SIZE(dms); i++) {
			dms[i] = ibv_alloc_dm(dev.ctx, &attr);
			if (!dms[i])
				break;
		}
		CHECK(errno == ENOMEM || errno == ENOSPC);
		CHECK(i < (int)ARRAY_SIZE(dms));
		if (dev.pinion)
			CHECK_EQ(i, 4);
		CHECK(i && i <= 4);
		if (round)
			CHECK_EQ(i, count);
		for (count = i; i--;)
			CHECK_EQ(ibv_free_dm(dms[i]), 0);
	}
	if (!dev.pinion)
		return;
	attr.length = dev.attr.max_dm_size;
	CHECK_EQ(ibv_free_dm(MUST(ibv_alloc_dm(dev.ctx, &attr))), 0);
}

/* Device memory that was written to and freed reads as zeros for the next user. */
static void dm3_zeroed(void)
{
	uint8_t *want = MUST(calloc(1, SIZE)), *dirt = MUST(malloc(SIZE));
	int i;

	for (i = 0; i < 20; i++) {
		struct ibv_dm *dm = new_dm(SIZE);

		check_dm(dm, want, SIZE);
		rnd_fill(dirt, SIZE);
		CHECK_EQ(ibv_memcpy_to_dm(dm, 0, dirt, SIZE), 0);
		check_dm(dm, dirt, SIZE);
		CHECK_EQ(ibv_free_dm(dm), 0);
	}
}

/*
 * Copies to and from device memory move their bytes alone; out of range and unaligned ones are
 * refused.
 */
static void dm4_copy(void)
{
	static const struct {
		uint64_t offset;
		size_t length;
	} bad[] = { { 1, 4 },
		    { 0, 3 },
		    { SIZE, 4 },
		    { SIZE - 4, 8 },
		    { UINT64_MAX - 3, 8 },
		    { 4, SIZE } };
	uint8_t *want = MUST(malloc(SIZE));
	struct ibv_dm *dm = new_dm(SIZE);
	size_t i;

	rnd_fill(want, SIZE);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 0, want, SIZE), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		context("%#llx + %zu", (unsigned long long)bad[i].offset,
			bad[i].length);
		CHECK(ibv_memcpy_to_dm(dm, bad[i].offset, want, bad[i].length));
		CHECK(ibv_memcpy_from_dm(want, dm, bad[i].offset,
					 bad[i].length));
	}
	for (i = 0; i < 50; i++) {
		size_t length = rnd_in(1, SIZE / 4) * 4;
		uint64_t offset = rnd_below((SIZE - length) / 4 + 1) * 4;

		rnd_fill(want + offset, length);
		CHECK_EQ(ibv_memcpy_to_dm(dm, offset, want + offset, length),
			 0);
		check_dm(dm, want, SIZE);
	}
}

/*
 * Regions of device memory: only zero-based, within it, with valid rights; they keep it busy and
 * pin nothing.
 */
static void dm5_region(void)
{
	struct ibv_dm *dm = new_dm(SIZE);

	MUST_NOT(ibv_reg_dm_mr(dev.pd, dm, 0, SIZE, ALL_ACCESS), EINVAL);
	MUST_NOT(ibv_reg_dm_mr(dev.pd, dm, 0, SIZE + 1, DM_ACCESS), EINVAL);
	MUST_NOT(ibv_reg_dm_mr(dev.pd, dm, 1, SIZE, DM_ACCESS), EINVAL);
	MUST_NOT(ibv_reg_dm_mr(dev.pd, dm, SIZE, 1, DM_ACCESS), EINVAL);
	MUST_NOT(ibv_reg_dm_mr(dev.pd, dm, UINT64_MAX - 1, 4, DM_ACCESS),
		 EINVAL);
	MUST_NOT(ibv_reg_dm_mr(dev.pd, dm, 8, SIZE_MAX, DM_ACCESS), EINVAL);
	MUST_NOT(ibv_reg_dm_mr(dev.pd, dm, 0, SIZE,
			       IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_WRITE),
		 EINVAL);
	/* Its bytes do not survive a power failure. */
	if (dev.pinion)
		MUST_NOT(ibv_reg_dm_mr(dev.pd, dm, 0, SIZE,
				       DM_ACCESS | IBV_ACCESS_FLUSH_PERSISTENT),
			 dev.persistent ? EINVAL : EOPNOTSUPP);
	MUST(ibv_reg_dm_mr(dev.pd, dm, 0, SIZE, DM_ACCESS));
	MUST(ibv_reg_dm_mr(dev.pd, dm, SIZE, 0, DM_ACCESS));
	CHECK_EQ(vm_pin(0), 0);
	CHECK_EQ(ibv_free_dm(dm), EBUSY);
}

/* A region that has the expected contents of device memory; sync() updates them. */
struct mirror {
	struct ibv_dm *dm;
	struct region region;
	uint64_t offset;
};

static struct mirror mirror_new(uint64_t offset, size_t length)
{
	struct mirror m = { .dm = new_dm(SIZE), .offset = offset };
	struct buf *buf = buf_new(SIZE, 0);
	struct ibv_mr *mr;

	CHECK_EQ(ibv_memcpy_to_dm(m.dm, 0, buf->data, SIZE), 0);
	mr = MUST(ibv_reg_dm_mr(dev.pd, m.dm, offset, length, DM_ACCESS));
	CHECK_EQ(mr->length, length);
	m.region = region_of(buf, mr, -offset);
	return m;
}

static void mirror_check(struct mirror *m)
{
	CHECK_EQ(ibv_memcpy_from_dm(m->region.buf->data, m->dm, 0, SIZE), 0);
	buf_check(m->region.buf);
}

static void traffic(uint64_t offset, size_t length)
{
	struct mirror m;
	int i;

	begin();
	m = mirror_new(offset, length);
	for (i = 0; i < 12; i++) {
		uint32_t n = rnd_in(1, length);
		uint64_t at = offset + rnd_below(length - n + 1);
		uint64_t mine = rnd_below(SIZE - n + 1);

		check_write(&link_, &all, mine, &m.region, at, n);
		mirror_check(&m);
		check_read(&link_, &all, rnd_below(SIZE - n + 1), &m.region, at,
			   n);
		check_send(&link_, &all, mine, &m.region, at, n);
		check_send(&link_, &m.region, at, &all, mine, n);
		check_write(&link_, &m.region, at, &all, mine, n);
		mirror_check(&m);
		buf_check(all.buf);
	}
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 8), length - 7,
		m.region.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8), -4ULL,
		m.region.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	mirror_check(&m);
	CHECK_EQ(ibv_dereg_mr(m.region.mr), 0);
	CHECK_EQ(ibv_free_dm(m.dm), 0);
}

/* Messages of all kinds by both keys of a region of all device memory. */
static void dm6_traffic(void)
{
	traffic(0, SIZE);
}

/* The same with regions of a part: no byte around it changes. */
static void dm7_part(void)
{
	traffic(4096 + 8, 20004);
	traffic(4, 4);
}

/* Atomics on device memory return the old value and leave the new one. */
static void dm8_atomics(void)
{
	uint64_t before, value = rnd();
	struct mirror m;

	begin();
	m = mirror_new(0, SIZE);
	memcpy(&before, m.region.buf->want + 4096, 8);
	expect(atomic_op(&link_.a, IBV_WR_ATOMIC_FETCH_AND_ADD,
			 sge_of(&all, 3, 8), 4096, m.region.rkey, value, 0),
	       IBV_WC_SUCCESS);
	CHECK(!memcmp(&before, all.buf->data + 3, 8));
	before += value;
	expect(atomic_op(&link_.a, IBV_WR_ATOMIC_CMP_AND_SWP,
			 sge_of(&all, 3, 8), 4096, m.region.rkey, before,
			 value),
	       IBV_WC_SUCCESS);
	memcpy(m.region.buf->want + 4096, &value, 8);
	mirror_check(&m);
}

/*
 * Two regions of the same device memory: each has its own bounds and rights, and either keeps it
 * busy.
 */
static void dm9_two_regions(void)
{
	struct mirror m;
	struct ibv_mr *mr;

	begin();
	m = mirror_new(0, SIZE);
	mr = MUST(
		ibv_reg_dm_mr(dev.pd, m.dm, 8192, 100,
			      IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_READ));
	expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&all, 0, 100), 0,
		    mr->rkey),
	       IBV_WC_SUCCESS);
	memcpy(all.buf->want, m.region.buf->want + 8192, 100);
	buf_check(all.buf);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 1), 0, mr->rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_free_dm(m.dm), EBUSY);
	CHECK_EQ(ibv_dereg_mr(m.region.mr), 0);
	CHECK_EQ(ibv_free_dm(m.dm), 0);
}

/* A window cannot be bound to a region of device memory, which is zero-based. */
static void dm10_windows(void)
{
	struct ibv_mw *mw;
	struct mirror m;
	struct ibv_mr *mr;
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED };

	begin();
	m = mirror_new(0, SIZE);
	mr = ibv_reg_dm_mr(dev.pd, m.dm, 0, SIZE,
			   DM_ACCESS | IBV_ACCESS_MW_BIND);
	/* A device without such regions refuses one of three calls. */
	CHECK(mr || !dev.pinion);
	if (!mr)
		return;
	mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1));
	bind.bind_info = (struct ibv_mw_bind_info){
		.mr = mr, .length = 8, .mw_access_flags = IBV_ACCESS_REMOTE_READ
	};
	if (ibv_bind_mw(link_.a.qp, mw, &bind)) {
		CHECK(!dev.pinion);
		return;
	}
	/* Binding a window to a zero-based region fails with a completion. */
	expect(await(link_.a.scq), IBV_WC_MW_BIND_ERR);
}

static void keep(void *arg)
{
	int fd = *(int *)arg;

	device_open();
	MUST(ibv_reg_dm_mr(dev.pd, new_dm(SIZE), 0, SIZE, DM_ACCESS));
	new_dm(SIZE);
	CHECK_EQ(write(fd, "", 1), 1);
	pause();
}

/* Processes are killed with device memory. Afterwards all of it can be allocated. */
static void dm11_kill(void)
{
	struct ibv_alloc_dm_attr attr = { .length = dev.attr.max_dm_size };
	int pipes[2], pid, i;
	struct ibv_dm *dm;
	double end;
	char byte;

	CHECK_EQ(ibv_free_dm(new_dm(4)), 0);
	CHECK_EQ(pipe(pipes), 0);
	for (i = 0; i < 10; i++) {
		pid = spawn(keep, &pipes[1]);
		CHECK_EQ(read(pipes[0], &byte, 1), 1);
		killed(pid);
	}
	if (!dev.pinion)
		return;
	/* The kernel may clean up a little later than wait() reports the death. */
	end = now() + patience(60);
	while (!(dm = ibv_alloc_dm(dev.ctx, &attr))) {
		CHECK_EQ(errno, ENOMEM);
		CHECK(now() < end);
		usleep(10000);
	}
	CHECK_EQ(ibv_free_dm(dm), 0);
}

static void child_has_none(void *arg)
{
	(void)arg;
	device_open();
	CHECK_EQ(ibv_free_dm(new_dm(SIZE)), 0);
}

/* A child of fork() has no device memory, and that of its parent still works. */
static void dm12_fork(void)
{
	struct mirror m;
	int pid;

	begin();
	m = mirror_new(0, SIZE);
	pid = spawn(child_has_none, NULL);
	check_write(&link_, &all, 0, &m.region, 0, SIZE);
	reap_ok(pid);
	mirror_check(&m);
}

/* The same memory exported as a dma-buf: it can be used through it, and outlives ibv_free_dm(). */
static void dm13_export(void)
{
#ifdef HAVE_DM_EXPORT
	enum { AT = 4096 + 100, LEN = 20000 };
	struct ibv_dm *dm = new_dm(SIZE);
	struct region part, back;
	uint8_t *got = MUST(malloc(SIZE));
	struct ibv_mr *mr;
	int fd;

	begin();
	fd = ibv_dm_export_dmabuf_fd(dm);
	CHECK(fd >= 0);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, SIZE + 1, 0, fd, ALL_ACCESS),
		 EINVAL);
	mr = MUST(ibv_reg_dmabuf_mr(dev.pd, AT, LEN, AT, fd, ALL_ACCESS));
	part = region_new(LEN, 7, ALL_ACCESS);
	back = region_new(LEN, 3000, ALL_ACCESS);
	CHECK_EQ(close(fd), 0);
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&part, 0, LEN), AT,
		    mr->rkey),
	       IBV_WC_SUCCESS);
	CHECK_EQ(ibv_memcpy_from_dm(got, dm, 0, SIZE), 0);
	CHECK(!memcmp(got + AT, part.buf->data, LEN));
	CHECK_EQ(ibv_free_dm(dm), 0);
	expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&back, 0, LEN), AT,
		    mr->rkey),
	       IBV_WC_SUCCESS);
	CHECK(!memcmp(back.buf->data, part.buf->data, LEN));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
#else
	skip("this libibverbs exports nothing");
#endif
}

/* Allocates all the device memory that one user may have, and keeps it until told to exit. */
static void taker(void *arg)
{
	struct ibv_alloc_dm_attr attr = { .length = 1 << 20 };
	size_t taken = 0;
	int *pipes = arg;
	char c;

	/*
	 * Closed so that read() below ends with the test: the change of uid clears
	 * PR_SET_PDEATHSIG.
	 */
	CHECK_EQ(close(pipes[3]), 0);
	CHECK_EQ(setresuid(12345, 12345, 12345), 0);
	device_open();
	while (ibv_alloc_dm(dev.ctx, &attr))
		taken += attr.length;
	CHECK(errno == ENOMEM || errno == ENOSPC);
	CHECK_EQ(write(pipes[1], &taken, sizeof(taken)), sizeof(taken));
	CHECK_EQ(read(pipes[2], &c, 1), 1);
}

/* One user cannot take all: however many processes he has, another user can allocate as much. */
static void dm14_share(void)
{
	struct ibv_alloc_dm_attr attr = { .length = dev.attr.max_dm_size };
	size_t taken[2];
	int pipes[4], i, pid[2];
	struct ibv_dm *dm;

	need_root();
	if (!dev.pinion)
		skip("others have no shares");
	CHECK_EQ(pipe(pipes), 0);
	CHECK_EQ(pipe(pipes + 2), 0);
	for (i = 0; i < 2; i++) {
		pid[i] = spawn(taker, pipes);
		CHECK_EQ(read(pipes[0], &taken[i], sizeof(taken[i])),
			 sizeof(taken[i]));
	}
	CHECK_EQ(taken[0], dev.attr.max_dm_size);
	CHECK_EQ(taken[1], 0);
	dm = MUST(ibv_alloc_dm(dev.ctx, &attr));
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(write(pipes[3], "..", 2), 2);
	for (i = 0; i < 2; i++)
		reap_ok(pid[i]);
}

static const struct test tests[] = {
	TEST(dm1_alloc, "DM1 sizes"),
	TEST(dm2_limit, "DM2 the limit is kept"),
	TEST(dm3_zeroed, "DM3 nobody else's bytes are in it"),
	TEST(dm4_copy, "DM4 copies to and from"),
	TEST(dm5_region, "DM5 regions: what is refused"),
	TEST(dm6_traffic, "DM6 traffic by both keys"),
	TEST(dm7_part, "DM7 regions of a part"),
	TEST(dm8_atomics, "DM8 atomics"),
	TEST(dm9_two_regions, "DM9 two regions of the same memory"),
	TEST(dm10_windows, "DM10 windows"),
	TEST(dm11_kill, "DM11 killed with device memory"),
	TEST(dm12_fork, "DM12 fork"),
	TEST(dm14_share, "DM14 one user leaves some to others"),
	TEST(dm13_export, "DM13 exported as a dma-buf"),
};

HARNESS_MAIN("Device memory", tests)
