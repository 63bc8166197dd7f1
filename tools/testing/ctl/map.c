// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * pinionctl mr map and mr check: the physical address of each byte, and whether the table is
 * right (items CT20 to CT39).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "memory.h"
#include "tool.h"
#include "window.h"

static void begin(void)
{
	need_root();
	if (!dev.pinion)
		skip("other drivers tell less");
	if (access("/sys/kernel/debug/pinion", F_OK))
		skip("no debugfs");
}

/* The physical address of a byte of this process. */
static uint64_t physical(const void *memory)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t number = memory_page_number(fd, memory);

	close(fd);
	return number * PAGE + (uintptr_t)memory % PAGE;
}

/*
 * Check that the map has every byte of [@memory, @memory + @length) and no other. Returns the
 * number of lines.
 */
static int map_is(uint32_t key, const uint8_t *memory, size_t length,
		  char right)
{
	const char *line = tool_says("mr map %s %#x", device_name(), key);
	unsigned long long offset, size, address, next = 0;
	char rights[8];
	size_t at;
	int lines = 0;

	/* Skip the header. */
	for (line = strchr(line, '\n') + 1; *line;
	     line = strchr(line, '\n') + 1, lines++) {
		if (sscanf(line, "%llx %llx %llx %7s", &offset, &size, &address,
			   rights) != 4)
			FAIL("a line: %s", line);
		CHECK_EQ(offset, next);
		CHECK(size && offset + size <= length);
		CHECK_EQ(rights[strlen(rights) - 1], right);
		for (at = offset; at < offset + size;
		     at += PAGE - ((uintptr_t)memory + at) % PAGE)
			CHECK_EQ(address + at - offset, physical(memory + at));
		next = offset + size;
	}
	CHECK_EQ(next, length);
	return lines;
}

/* mr map prints all memory of pinned regions, with the right to write to it. */
static void ct20_map(void)
{
	static const size_t lengths[] = { 1, 100, PAGE, 3 * PAGE + 7, 1 << 20 };
	struct region r;
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		context("%zu bytes", lengths[i]);
		r = region_new(lengths[i], 123, ALL_ACCESS);
		map_is(r.lkey, r.buf->data, lengths[i], 'w');
		region_free(&r);
		r = region_new(lengths[i], 0, 0);
		map_is(r.lkey, r.buf->data, lengths[i], 'r');
		region_free(&r);
	}
	CHECK_EQ(tool("mr map %s %#x", device_name(), r.lkey).status, 1);
}

/* A map of more lines than one read(2) returns. */
static void ct21_scattered(void)
{
	enum { PAGES = 2000 };
	uint8_t *even, *odd;
	struct ibv_mr *mr;
	int i, lines;

	begin();
	/* Touch the pages of two mappings by turns, so that neighbours are not contiguous. */
	even = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	odd = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(even, PAGES * PAGE, MADV_NOHUGEPAGE);
	madvise(odd, PAGES * PAGE, MADV_NOHUGEPAGE);
	for (i = 0; i < PAGES; i++)
		even[i * PAGE] = odd[i * PAGE] = 1;
	mr = MUST(ibv_reg_mr(dev.pd, even, PAGES * PAGE, 0));
	lines = map_is(mr->lkey, even, PAGES * PAGE, 'r');
	note("%d lines", lines);
	CHECK(lines > PAGES / 8);
}

/* mr map prints the part of a region that a window has. */
static void ct22_window(void)
{
	struct link link;
	struct region r;
	struct ibv_mw *mw;

	begin();
	r = region_new(5 * PAGE, 100, BINDABLE);
	link_make(&link, NULL);
	mw = window_new(IBV_MW_TYPE_1);
	CHECK_EQ(window_bind(&link.a, mw,
			     window_part(&r, PAGE + 3, 2 * PAGE, REMOTE_ALL))
			 .status,
		 IBV_WC_SUCCESS);
	map_is(mw->rkey, r.buf->data + PAGE + 3, 2 * PAGE, 'w');
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

static void prefetch(struct region *r, size_t at, size_t length)
{
	struct ibv_sge sge = { .addr = (uintptr_t)r->buf->data + at,
			       .length = length,
			       .lkey = r->lkey };

	CHECK_EQ(ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
		 0);
}

/* mr map and mr check of a region on demand know the pages that are there. */
static void ct23_on_demand(void)
{
	const size_t length = 5 << 20;
	struct region r;
	const char *out;

	begin();
	need_odp();
	r = region_new(length, 0, ODP_ALL);
	buf_fill(r.buf);
	/* No page is present: only the header. */
	CHECK_EQ(tool_lines(tool_says("mr map %s %#x", device_name(), r.lkey)),
		 1);
	prefetch(&r, 0, length);
	map_is(r.lkey, r.buf->data, length, 'w');
	out = tool_says("mr check %s key %#x", device_name(), r.lkey);
	CHECK(strstr(out, " same"));
	/* A page is dropped; mr check compares only pages that are present. */
	buf_drop(r.buf, 3 * PAGE, PAGE);
	out = tool_says("-j mr check %s key %#x", device_name(), r.lkey);
	if (!strstr(out, "\"differ\":0,\"result\":\"same\""))
		FAIL("%s", out);
}

/* mr check finds pages that the process has no longer, and says which. */
static void ct24_check_pinned(void)
{
	struct region r;
	char want[64];
	struct said said;

	begin();
	r = region_new(20 * PAGE, 300, ALL_ACCESS);
	said = tool("-j mr check %s key %#x", device_name(), r.lkey);
	CHECK_EQ(said.status, 0);
	snprintf(want, sizeof(want), "\"pages\":21,\"differ\":0,");
	if (!strstr(said.out, want) || !strstr(said.out, "\"same\""))
		FAIL("%s", said.out);

	/* The process gets other pages: mr check finds two that differ. */
	buf_replace(r.buf, PAGE - 300, 2 * PAGE);
	memset(r.buf->data + PAGE - 300, 1, 2 * PAGE);
	said = tool("-j mr check %s key %#x", device_name(), r.lkey);
	CHECK_EQ(said.status, 1);
	if (!strstr(said.out, "\"pages\":21,\"differ\":2,") ||
	    !strstr(said.out, "\"differs\"") ||
	    !strstr(said.out, "the table has"))
		FAIL("%s", said.out);
	/* And one that is not mapped any more. */
	CHECK_EQ(munmap(r.buf->data + PAGE - 300, PAGE), 0);
	said = tool("mr check %s key %#x", device_name(), r.lkey);
	CHECK_EQ(said.status, 1);
	CHECK(strstr(said.out, "the process nothing"));
}

/* Checks regions of all kinds at once; those without user memory are skipped. */
static void ct25_check_all(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 8192 };
	struct region r[10];
	struct said said;
	int i;

	begin();
	for (i = 0; i < 10; i++)
		r[i] = region_new(rnd_in(1, 300000), rnd_below(PAGE),
				  i % 2 ? ALL_ACCESS : 0);
	if (dev.attr.max_dm_size)
		MUST(ibv_reg_dm_mr(dev.pd, MUST(ibv_alloc_dm(dev.ctx, &attr)),
				   0, 4096, IBV_ACCESS_ZERO_BASED));
	said = tool("mr check %s pid %d", device_name(), getpid());
	if (said.status)
		FAIL("%s", said.out);
	CHECK_EQ(tool_lines(said.out), 11 + !!dev.attr.max_dm_size);
	CHECK_EQ(!strstr(said.out, "skipped"), !dev.attr.max_dm_size);
	for (i = 0; i < 10; i++)
		region_free(&r[i]);
}

/*
 * Reads maps of regions that are destroyed meanwhile: each read must end, and must not keep the
 * region alive.
 */
static void reader(void *arg)
{
	const uint32_t *key = arg;
	char path[128], text[16], out[4096];
	double end = now() + 3;
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/pinion/%s/map",
		 device_name());
	fd = open(path, O_RDWR);
	CHECK(fd >= 0);
	snprintf(text, sizeof(text), "%#x", *(volatile const uint32_t *)key);
	while (now() < end) {
		CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
		snprintf(text, sizeof(text), "%#x",
			 *(volatile const uint32_t *)key);
		CHECK_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
		while (read(fd, out, sizeof(out)) > 0)
			;
	}
}

/* mr map of regions that change and end meanwhile fails or prints, and never hangs. */
static void ct26_ends_meanwhile(void)
{
	uint32_t *key = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct buf *buf = buf_new(1 << 20, 0), *less = buf_new(3 * PAGE, 0);
	struct ibv_mr *mr;
	double end = now() + 3;
	int pids[2], i, times = 0;

	begin();
	*key = 1;
	for (i = 0; i < 2; i++)
		pids[i] = spawn(reader, key);
	while (now() < end) {
		mr = MUST(ibv_reg_mr(dev.pd, buf->data, buf->length,
				     times % 2 ? ALL_ACCESS : ODP_ALL));
		*key = mr->lkey;
		CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				      less->data, less->length, 0),
			 0);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		times++;
	}
	for (i = 0; i < 2; i++)
		reap_ok(pids[i]);
	note("%d regions", times);
	CHECK(times);
}

/* The file `map' refuses what is no key, and has nothing for unknown ones. */
static void ct27_file(void)
{
	static const char *const wrong[] = { "",   "\n",	  "x",	"0x",
					     "-1", "0x1ffffffff", "1 2" };
	char path[128], out[256];
	size_t i;
	int fd;

	begin();
	snprintf(path, sizeof(path), "/sys/kernel/debug/pinion/%s/map",
		 device_name());
	fd = open(path, O_RDWR);
	CHECK(fd >= 0);
	/* No key was written yet. */
	CHECK_EQ(read(fd, out, sizeof(out)), 0);
	for (i = 1; i < ARRAY_SIZE(wrong); i++) {
		context("`%s'", wrong[i]);
		CHECK_EQ(write(fd, wrong[i], strlen(wrong[i])), -1);
		CHECK(errno == EINVAL || errno == ERANGE);
		CHECK_EQ(pread(fd, out, sizeof(out), 0), 0);
	}
	/* An unknown key. */
	CHECK_EQ(write(fd, "0x00000100", 10), 10);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	CHECK_EQ(read(fd, out, sizeof(out)), 0);
	close(fd);
}

static const struct test tests[] = {
	TEST(ct20_map, "CT20 map"),
	TEST(ct21_scattered, "CT21 map-scattered"),
	TEST(ct22_window, "CT22 map-window"),
	TEST(ct23_on_demand, "CT23 map-and-check-on-demand"),
	TEST(ct24_check_pinned, "CT24 check-pinned"),
	TEST(ct25_check_all, "CT25 check-all"),
	TEST(ct26_ends_meanwhile, "CT26 map-of-what-ends"),
	TEST(ct27_file, "CT27 map-file"),
};

HARNESS_MAIN("pinionctl: tables", tests)
