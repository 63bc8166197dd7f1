// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Who sees which bytes when pages are copied, dropped or moved under a region: each kind of memory,
 * pinned for reading, pinned for writing and on demand, times what a process can do to it (items
 * CW1 to CW3). What is expected is a table.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "memory.h"
#include "merge.h"
#include "swap.h"

enum { LEN = 9000, AT = 77 };

enum event {
	FORK_CHILD_WRITES, /* a fork, the registration, then the child writes */
	FORK_PARENT_WRITES,
	REG_FORK_CHILD_WRITES, /* the registration, a fork, then the child writes */
	REG_FORK_PARENT_WRITES,
	FORK_DEVICE_WRITES, /* nobody else does */
	REG_FORK_DEVICE_WRITES,
	DROPPED, /* MADV_DONTNEED */
	MOVED, /* mremap() */
	EVENTS,
};

enum hold { PINNED_TO_READ, PINNED_TO_WRITE, ON_DEMAND };

/*
 * What is seen: A is what was registered, B what the parent or the child has written, C what the
 * device has written last, 0 zeros, - nothing: there is no child, no write, or the access is refused.
 * CPUs are asked before and after the device has written.
 */
struct row {
	enum event event;
	bool shared, on_demand; /* the memory; the region */
	const char *parent, *child; /* A, then after the write */
	char device;
	const char *why;
};

static const struct row rows[] = {
	{ FORK_CHILD_WRITES, false, false, "AC", "BB", 'A',
	  "registration gives the parent pages of its own, the child writes to the old ones" },
	{ FORK_PARENT_WRITES, false, false, "BC", "AA", 'B',
	  "the pages are the parent's, and its write copies none of them" },
	{ REG_FORK_CHILD_WRITES, false, false, "AC", "BB", 'A',
	  "the child gets copies at the fork, as the pages are pinned" },
	{ REG_FORK_PARENT_WRITES, false, false, "BC", "AA", 'B',
	  "the pinned pages stay the parent's, so the device sees what it writes" },
	{ FORK_DEVICE_WRITES, false, false, "AC", "AA", 'A',
	  "registration gives the parent pages of its own" },
	{ REG_FORK_DEVICE_WRITES, false, false, "AC", "AA", 'A',
	  "the child has copies since the fork, as the pages are pinned" },
	{ DROPPED, false, false, "00", "--", 'A',
	  "the region keeps the pages, the parent gets new ones, and the two never meet again" },
	{ MOVED, false, false, "AC", "--", 'A',
	  "the pages are at another address now, and are the region's as before" },

	{ FORK_CHILD_WRITES, false, true, "AC", "BB", 'A',
	  "the region is of the parent's address space, whatever the child does" },
	{ FORK_PARENT_WRITES, false, true, "BC", "AA", 'B',
	  "the parent's page is a copy, and the region follows it" },
	{ REG_FORK_CHILD_WRITES, false, true, "AC", "BB", 'A',
	  "the fork takes the right to write from the region, and its next write copies the page" },
	{ REG_FORK_PARENT_WRITES, false, true, "BC", "AA", 'B',
	  "the copy that the parent's write makes invalidates the old page" },
	{ FORK_DEVICE_WRITES, false, true, "AC", "AA", 'A',
	  "the device's write copies the page as one of the parent would" },
	{ REG_FORK_DEVICE_WRITES, false, true, "AC", "AA", 'A',
	  "the fork took the right to write, so the device's write copies the page" },
	{ DROPPED, false, true, "0C", "--", '0',
	  "nothing is pinned, so the region sees the zeros that the parent sees" },
	{ MOVED, false, true, "AA", "--", '-',
	  "the region is of addresses, and at these there is no memory any more" },

	{ FORK_CHILD_WRITES, true, false, "BC", "BC", 'B',
	  "all have the same pages" },
	{ FORK_PARENT_WRITES, true, false, "BC", "BC", 'B',
	  "all have the same pages" },
	{ REG_FORK_CHILD_WRITES, true, false, "BC", "BC", 'B',
	  "all have the same pages" },
	{ REG_FORK_PARENT_WRITES, true, false, "BC", "BC", 'B',
	  "all have the same pages" },
	{ FORK_DEVICE_WRITES, true, false, "AC", "AC", 'A',
	  "all have the same pages" },
	{ REG_FORK_DEVICE_WRITES, true, false, "AC", "AC", 'A',
	  "all have the same pages" },
	{ DROPPED, true, false, "AC", "--", 'A',
	  "the pages are the file's, which the parent maps again" },
	{ MOVED, true, false, "AC", "--", 'A',
	  "the pages are the file's, wherever it is mapped" },

	{ FORK_CHILD_WRITES, true, true, "BC", "BC", 'B',
	  "all have the same pages" },
	{ FORK_PARENT_WRITES, true, true, "BC", "BC", 'B',
	  "all have the same pages" },
	{ REG_FORK_CHILD_WRITES, true, true, "BC", "BC", 'B',
	  "all have the same pages" },
	{ REG_FORK_PARENT_WRITES, true, true, "BC", "BC", 'B',
	  "all have the same pages" },
	{ FORK_DEVICE_WRITES, true, true, "AC", "AC", 'A',
	  "all have the same pages" },
	{ REG_FORK_DEVICE_WRITES, true, true, "AC", "AC", 'A',
	  "all have the same pages" },
	{ DROPPED, true, true, "AC", "--", 'A',
	  "the region faults the file's pages in again, as the parent does" },
	{ MOVED, true, true, "AA", "--", '-',
	  "the region is of addresses, and at these there is no memory any more" },
};

static const char *const names[EVENTS] = {
	"fork, registration, the child writes",
	"fork, registration, the parent writes",
	"registration, fork, the child writes",
	"registration, fork, the parent writes",
	"fork, registration, only the device writes",
	"registration, fork, only the device writes",
	"dropped",
	"moved",
};

struct kind {
	const struct memory_kind *memory;
	bool shared;
};

static struct link link_;
static struct region bounce;

/* Shared with the child: the contents, and what it reads. */
static struct board {
	uint8_t a[LEN], b[LEN], c[LEN], zero[LEN], seen[LEN];
} *board;

/* Zeros have another name where what was registered is zeros. */
static char name_of_zeros(char name)
{
	return name == '0' && !memcmp(board->a, board->zero, LEN) ? 'A' : name;
}

static char name_of(const uint8_t *bytes)
{
	const struct {
		char name;
		const uint8_t *bytes;
	} all[] = { { 'A', board->a },
		    { 'B', board->b },
		    { 'C', board->c },
		    { '0', board->zero } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		if (!memcmp(bytes, all[i].bytes, LEN))
			return all[i].name;
	}
	return '?';
}

/* ---------------------------------------------------------------- the child */

static int to_child[2], to_parent[2];

struct child {
	uint8_t *memory;
	int pid;
};

/* Writes B, or reads, whenever it is told to. */
static void child_run(void *arg)
{
	struct child *child = arg;
	char what;

	close(to_child[1]);
	while (read(to_child[0], &what, 1) == 1) {
		if (what == 'w')
			memcpy(child->memory, board->b, LEN);
		else
			memcpy(board->seen, child->memory, LEN);
		CHECK_EQ(write(to_parent[1], &what, 1), 1);
	}
}

static void child_start(struct child *child, uint8_t *memory)
{
	CHECK_EQ(pipe(to_child), 0);
	CHECK_EQ(pipe(to_parent), 0);
	child->memory = memory;
	child->pid = spawn(child_run, child);
}

static void child_tell(char what)
{
	CHECK_EQ(write(to_child[1], &what, 1), 1);
	CHECK_EQ(read(to_parent[0], &what, 1), 1);
}

static void child_end(struct child *child)
{
	close(to_child[1]);
	reap_ok(child->pid);
	close(to_child[0]);
	close(to_parent[0]);
	close(to_parent[1]);
}

static char child_sees(const struct child *child)
{
	if (!child->pid)
		return '-';
	child_tell('r');
	return name_of(board->seen);
}

/* --------------------------------------------------------------- the device */

static bool device_does(enum ibv_wr_opcode opcode, const struct region *r)
{
	struct ibv_wc wc = rdma(&link_.a, opcode, sge_of(&bounce, 0, LEN),
				r->base, r->rkey);

	if (wc.status == IBV_WC_SUCCESS)
		return true;
	CHECK_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
	link_renew(&link_);
	return false;
}

static char device_sees(const struct region *r)
{
	memset(bounce.buf->data, 0xee, LEN);
	return device_does(IBV_WR_RDMA_READ, r) ? name_of(bounce.buf->data) :
						  '-';
}

static void device_writes(const struct region *r)
{
	memcpy(bounce.buf->data, board->c, LEN);
	device_does(IBV_WR_RDMA_WRITE, r);
}

/* --------------------------------------------------------------- the matrix */

static uint8_t *move(struct buf *buf)
{
	uint8_t *to = mmap(NULL, buf->map_length, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t at = buf->data - buf->map;

	CHECK(to != MAP_FAILED);
	if (mremap(buf->map, buf->map_length, buf->map_length,
		   MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED)
		FAIL("mremap: errno %d", errno);
	return to + at;
}

static const struct row *row_of(enum event event, bool shared, bool on_demand)
{
	const struct row *row;

	for (row = rows; row < rows + ARRAY_SIZE(rows); row++) {
		if (row->event == event && row->shared == shared &&
		    row->on_demand == on_demand)
			return row;
	}
	FAIL("no row for this");
}

static const int access_of[] = {
	[PINNED_TO_READ] = IBV_ACCESS_REMOTE_READ,
	[PINNED_TO_WRITE] = ALL_ACCESS,
	[ON_DEMAND] = ODP_ALL,
};

static void one_event(enum event event, const struct kind *kind, enum hold hold)
{
	const struct row *row = row_of(event, kind->shared, hold == ON_DEMAND);
	bool early = event == FORK_CHILD_WRITES ||
		     event == FORK_PARENT_WRITES || event == FORK_DEVICE_WRITES;
	bool writes = hold != PINNED_TO_READ;
	struct child child = {};
	char parent[3] = "", of_child[3] = "", device;
	struct region r;
	struct buf *buf;
	uint8_t *at;

	context("%s: %s", names[event], row->why);
	buf = memory_new(kind->memory, LEN, AT);
	at = buf->data;
	memcpy(at, board->a, LEN);
	memory_settle(kind->memory, buf);
	if (early)
		child_start(&child, at);
	r = region_reg(dev.pd, buf, access_of[hold]);
	/* On demand: the pages are known to the region before they change. */
	CHECK_EQ(device_sees(&r), 'A');
	switch (event) {
	case REG_FORK_CHILD_WRITES:
	case REG_FORK_PARENT_WRITES:
	case REG_FORK_DEVICE_WRITES:
		child_start(&child, at);
		break;
	case DROPPED:
		CHECK_EQ(madvise(buf->map, buf->map_length, MADV_DONTNEED), 0);
		break;
	case MOVED:
		at = move(buf);
		break;
	default:
		break;
	}
	if (event == FORK_CHILD_WRITES || event == REG_FORK_CHILD_WRITES)
		child_tell('w');
	else if (event == FORK_PARENT_WRITES || event == REG_FORK_PARENT_WRITES)
		memcpy(at, board->b, LEN);

	parent[0] = name_of(at);
	of_child[0] = child_sees(&child);
	device = device_sees(&r);
	if (writes)
		device_writes(&r);
	parent[1] = name_of(at);
	of_child[1] = child_sees(&child);
	if (device != name_of_zeros(row->device) ||
	    parent[0] != name_of_zeros(row->parent[0]) ||
	    of_child[0] != row->child[0])
		FAIL("seen by parent, child, device: %c %c %c, not %c %c %c",
		     parent[0], of_child[0], device, row->parent[0],
		     row->child[0], row->device);
	/* Who may not write changes nothing. */
	if (parent[1] != name_of_zeros(row->parent[writes]) ||
	    of_child[1] != row->child[writes])
		FAIL("after the device's write by parent, child: %c %c, not %c %c",
		     parent[1], of_child[1], row->parent[writes],
		     row->child[writes]);
	if (child.pid)
		child_end(&child);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	munmap(at - (buf->data - buf->map), buf->map_length);
}

static const struct kind kinds[] = {
	{ &memory_anonymous, false }, { &memory_thp, false },
	{ &memory_hugetlb, false },   { &memory_shared, true },
	{ &memory_file, true },	      { &memory_file_private, false },
	{ &memory_zero, false },      { &memory_swapped, false },
	{ &memory_merged, false },    { &memory_thp_part, false },
};

static void matrix(const struct kind *kind, enum hold hold)
{
	enum event event;

	if (hold == ON_DEMAND)
		need_odp();
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(board != MAP_FAILED);
	if (kind->memory != &memory_zero)
		rnd_fill(board->a, LEN);
	if (kind->memory == &memory_swapped)
		need_swap();
	if (kind->memory == &memory_merged) {
		/* On 6.12, emulated, ksmd has merged nothing for minutes. */
		if (!in_user_mode_linux())
			skip("ksmd is relied on in user-mode Linux only");
		merge_begin();
	}
	rnd_fill(board->b, LEN);
	rnd_fill(board->c, LEN);
	link_make(&link_, NULL);
	bounce = region_new(LEN, 5, ALL_ACCESS);
	if (kind->memory == &memory_file && hold == PINNED_TO_WRITE) {
		struct buf *buf = memory_new(kind->memory, LEN, AT);

		/* Pages of a file that is written back are not pinned for writing. */
		MUST_NOT(ibv_reg_mr(dev.pd, buf->data, LEN, ALL_ACCESS),
			 EFAULT);
		return;
	}
	for (event = 0; event < EVENTS; event++)
		one_event(event, kind, hold);
}

/*
 * Each thing that copies, drops or moves pages is done to memory that is pinned for reading: the
 * device, the process and its children see the bytes that the table above says.
 */
static void cw1_pinned_to_read(int kind)
{
	matrix(&kinds[kind], PINNED_TO_READ);
}

/* Likewise for memory that is pinned for writing, which is the device's own from then on. */
static void cw2_pinned_to_write(int kind)
{
	matrix(&kinds[kind], PINNED_TO_WRITE);
}

/* Likewise for memory on demand, where the device sees what the process sees. */
static void cw3_on_demand(int kind)
{
	matrix(&kinds[kind], ON_DEMAND);
}

static const struct test tests[] = {
	TEST_OF(cw1_pinned_to_read, 0, "CW1 anonymous, pinned for reading"),
	TEST_OF(cw1_pinned_to_read, 1, "CW1 transparent huge pages, likewise"),
	TEST_OF(cw1_pinned_to_read, 2, "CW1 hugetlb pages, likewise"),
	TEST_OF(cw1_pinned_to_read, 3, "CW1 shared, likewise"),
	TEST_OF(cw1_pinned_to_read, 4, "CW1 a file, likewise"),
	TEST_OF(cw1_pinned_to_read, 5, "CW1 a private file, likewise"),
	TEST_OF(cw1_pinned_to_read, 6, "CW1 the zero page, likewise"),
	TEST_OF(cw1_pinned_to_read, 7, "CW1 pages in swap, likewise"),
	TEST_OF(cw1_pinned_to_read, 8, "CW1 merged pages, likewise"),
	TEST_OF(cw1_pinned_to_read, 9, "CW1 a part of a huge page, likewise"),
	TEST_OF(cw2_pinned_to_write, 0, "CW2 anonymous, pinned for writing"),
	TEST_OF(cw2_pinned_to_write, 1, "CW2 transparent huge pages, likewise"),
	TEST_OF(cw2_pinned_to_write, 2, "CW2 hugetlb pages, likewise"),
	TEST_OF(cw2_pinned_to_write, 3, "CW2 shared, likewise"),
	TEST_OF(cw2_pinned_to_write, 4, "CW2 a file cannot be"),
	TEST_OF(cw2_pinned_to_write, 5, "CW2 a private file, likewise"),
	TEST_OF(cw2_pinned_to_write, 6, "CW2 the zero page, likewise"),
	TEST_OF(cw2_pinned_to_write, 7, "CW2 pages in swap, likewise"),
	TEST_OF(cw2_pinned_to_write, 8, "CW2 merged pages, likewise"),
	TEST_OF(cw2_pinned_to_write, 9, "CW2 a part of a huge page, likewise"),
	TEST_OF(cw3_on_demand, 0, "CW3 anonymous, on demand"),
	TEST_OF(cw3_on_demand, 1, "CW3 transparent huge pages, on demand"),
	TEST_OF(cw3_on_demand, 2, "CW3 hugetlb pages, on demand"),
	TEST_OF(cw3_on_demand, 3, "CW3 shared, on demand"),
	TEST_OF(cw3_on_demand, 4, "CW3 a file, on demand"),
	TEST_OF(cw3_on_demand, 5, "CW3 a private file, on demand"),
	TEST_OF(cw3_on_demand, 6, "CW3 the zero page, on demand"),
	TEST_OF(cw3_on_demand, 7, "CW3 pages in swap, on demand"),
	TEST_OF(cw3_on_demand, 8, "CW3 merged pages, on demand"),
	TEST_OF(cw3_on_demand, 9, "CW3 a part of a huge page, on demand"),
};

HARNESS_MAIN("Copies of pages under regions", tests)
