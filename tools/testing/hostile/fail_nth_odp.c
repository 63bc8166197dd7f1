// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand regions with their first, second, ... allocation or copy failing: at registration,
 * when a message faults, at prefetch, and when the memory changes (items N17 to N20). Needs a
 * kernel with fault injection.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link.h"
#include "sweep.h"

enum {
	LEN = 100001,
	/* Two children of an implicit region, and no page without a model. */
	SPAN = 2 << 20,
};

struct way {
	const char *name;
	bool implicit;
	int more; /* rights */
};

static const struct way ways[] = {
	{ "explicit", false, 0 },
	{ "huge", false, IBV_ACCESS_HUGETLB },
	{ "implicit", true, 0 },
};

static struct link link_;
static struct region all, target;
static const struct way *way;
static struct ibv_mr *made;

static int reg_mr(void)
{
	made = ibv_reg_mr(dev.pd, way->implicit ? NULL : target.buf->data,
			  way->implicit ? SIZE_MAX : LEN, ODP_ALL | way->more);
	return made ? 0 : errno;
}

static void dereg_mr(void)
{
	CHECK_EQ(ibv_dereg_mr(made), 0);
}

/* Memory that is not locked, across the border of two children. */
static struct buf *across(void)
{
	uint8_t *map = mmap(NULL, 3 * SPAN, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t to_border;

	CHECK(map != MAP_FAILED);
	to_border = SPAN - ((uintptr_t)map & (SPAN - 1));
	return buf_of(map, 3 * SPAN, SPAN + to_border - 50001, LEN);
}

static void begin(void)
{
	need_odp();
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
	fault_prepare();
	target.buf = across();
}

static void begin_way(const struct way *next)
{
	way = next;
	CHECK_EQ(reg_mr(), 0);
	target = region_of(target.buf, made, (uintptr_t)target.buf->data);
}

/* The region works, and so does a new one. */
static void end_way(void)
{
	exchange(&link_, &all, &target);
	exchange(&link_, &target, &all);
	CHECK_EQ(ibv_dereg_mr(target.mr), 0);
}

/* The ways that can be accessed: HUGETLB regions of small pages cannot. */
#define for_each_way(way_)                                        \
	for (way_ = ways; way_ < ways + ARRAY_SIZE(ways); way_++) \
		if (!way_->more)

/* Each allocation of registering regions on demand. */
static void n17_register(void)
{
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		way = &ways[i];
		context("%s", way->name);
		sweep(&(struct op){ way->name, reg_mr, dereg_mr,
				    .at_least = 7 });
	}
	begin_way(&ways[0]);
	end_way();
}

static bool by_lkey;

/*
 * One message that faults on the chosen side. Only this thread's allocations fail, not those of
 * a work item that fetches pages: those are tested by N19.
 */
static int touch(enum ibv_wr_opcode opcode)
{
	const struct region *local = by_lkey ? &target : &all;
	const struct region *remote = by_lkey ? &all : &target;
	struct ibv_sge sge = sge_of(local, 0, LEN);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { remote->base, remote->rkey },
	};
	struct ibv_wc wc;
	int err = try_post(&link_.a, &wr);

	if (!err) {
		wc = await(link_.a.scq);
		if (wc.status == IBV_WC_SUCCESS)
			return 0;
		CHECK_EQ(wc.status,
			 by_lkey ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR);
		err = EIO;
	}
	link_renew(&link_);
	return err;
}

static int write_missing(void)
{
	buf_forget(target.buf);
	return touch(by_lkey ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE);
}

static int read_missing(void)
{
	buf_forget(target.buf);
	return touch(by_lkey ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ);
}

/* If a message succeeded, every byte arrived. */
static void check_arrived(void)
{
	CHECK_EQ(memcmp(target.buf->data, all.buf->data, LEN), 0);
}

/* Each allocation of messages that miss pages, on either side. */
static void n18_fault(void)
{
	const struct way *each;
	int side;

	begin();
	for_each_way(each)
	{
		begin_way(each);
		for (side = 0; side < 2; side++) {
			by_lkey = side;
			rnd_fill(all.buf->data, LEN);
			memcpy(all.buf->want, all.buf->data, LEN);
			sweep(&(struct op){ "write to what is not there",
					    write_missing, check_arrived,
					    .at_least = 2, .others = true });
			sweep(&(struct op){ "read what is not there",
					    read_missing, check_arrived,
					    .at_least = 2, .others = true });
			/* The last read got the zeros of untouched memory. */
			memset(all.buf->want, 0, LEN);
			buf_check(all.buf);
			buf_forget(target.buf);
		}
		end_way();
	}
}

static unsigned int flags;
static enum ibv_advise_mr_advice advice;

static int advise(void)
{
	struct ibv_sge sges[2] = { sge_of(&target, 0, 50000),
				   sge_of(&target, 50000, LEN - 50000) };

	buf_forget(target.buf);
	return ibv_advise_mr(dev.pd, advice, flags, sges, 2);
}

/* Each allocation of prefetching, at once and later. */
static void n19_advise(void)
{
	const struct way *each;

	begin();
	for_each_way(each)
	{
		begin_way(each);
		for (advice = 0; advice < 3; advice++) {
			flags = IBV_ADVISE_MR_FLAG_FLUSH;
			sweep(&(struct op){ "prefetch", advise, NULL,
					    .at_least = 7 });
			flags = 0;
			sweep(&(struct op){ "prefetch later", advise, NULL,
					    .at_least = 2 });
		}
		end_way();
	}
}

/* -------------------------------- failing changes of memory */

/* Makes all pages present and writable for the device, with known contents. */
static void bring(void)
{
	rnd_fill(all.buf->data, LEN);
	memcpy(all.buf->want, all.buf->data, LEN);
	check_write(&link_, &all, 0, &target, 0, LEN);
}

/* The device sees the same bytes as the process. */
static void check_seen(void)
{
	check_read(&link_, &all, 0, &target, 0, LEN);
	buf_check(all.buf);
	bring();
	buf_check(target.buf);
}

static uint8_t *middle(void)
{
	return (uint8_t *)(((uintptr_t)target.buf->data + 40000) & ~(PAGE - 1));
}

/* Splits the mapping into three. */
static int protect(void)
{
	return mprotect(middle(), 5 * PAGE, PROT_READ) ? errno : 0;
}

static void unprotect(void)
{
	CHECK_EQ(mprotect(target.buf->map, target.buf->map_length,
			  PROT_READ | PROT_WRITE),
		 0);
	check_seen();
}

static int replace(void)
{
	void *map = mmap(middle(), 5 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	return map == MAP_FAILED ? errno : 0;
}

static void put_back(void)
{
	CHECK(mmap(middle(), 5 * PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == middle());
	memset(target.buf->model + (middle() - target.buf->map), 0, 5 * PAGE);
	check_seen();
}

static int fork_and_wait(void)
{
	int status, pid = fork();

	if (pid < 0)
		return errno;
	if (!pid)
		_exit(0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return 0;
}

/* Each allocation of changing the memory of regions on demand, and of fork(). */
static void n20_change(void)
{
	const struct way *each;

	begin();
	for_each_way(each)
	{
		begin_way(each);
		bring();
		sweep(&(struct op){ "protect", protect, unprotect,
				    .at_least = 2 });
		/* A failed call may have left a hole. */
		put_back();
		sweep(&(struct op){ "map other memory", replace, put_back,
				    .at_least = 2 });
		put_back();
		end_way();
	}
	/*
	 * fork() allocates for each mapping of this process, mostly in other code: sample the
	 * faults.
	 */
	begin_way(&ways[0]);
	bring();
	sweep_some(&(struct op){ "fork", fork_and_wait, check_seen,
				 .at_least = 200 },
		   20);
	check_seen();
	end_way();
}

static const struct test tests[] = {
	LONG_TEST(n17_register, "N17 registration on demand", 300),
	LONG_TEST(n18_fault, "N18 messages that miss pages", 300),
	LONG_TEST(n19_advise, "N19 prefetch", 300),
	LONG_TEST(n20_change, "N20 changes of on-demand memory", 300),
};

HARNESS_MAIN("on-demand regions with failing allocations", tests)
