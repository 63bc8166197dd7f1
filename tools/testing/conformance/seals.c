// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * No reference on a page outlives the region that took it. The kernel checks: a memfd can be
 * sealed against writing only if no page of it has extra references (items SE1 to SE7). Every
 * test first sees the seal refused, so that it cannot pass on a kernel that does not check.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "killed.h"
#include "window.h"

enum { LEN = 20 * 4096, PAGES = LEN / 4096 };

static struct link link_;
static struct region peer;

struct file {
	int fd;
	struct buf *buf;
};

static void begin(void)
{
	link_make(&link_, NULL);
	peer = region_new(LEN, 321, ALL_ACCESS);
}

static struct file file_new(void)
{
	struct file file = { .fd = memfd_create("seals", MFD_ALLOW_SEALING |
								 MFD_CLOEXEC) };
	void *map;

	CHECK(file.fd >= 0);
	CHECK_EQ(ftruncate(file.fd, LEN), 0);
	map = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
	CHECK(map != MAP_FAILED);
	/* From the second page to the last but one, at an odd byte. */
	file.buf = buf_of(map, LEN, PAGE + 77, LEN - 2 * PAGE - 99);
	return file;
}

static void file_unmap(struct file *file)
{
	buf_free(file->buf);
	file->buf = NULL;
}

/* Is any page of the file still referenced? The file must not be mapped any more. */
static bool file_is_held(const struct file *file)
{
	if (!fcntl(file->fd, F_ADD_SEALS, F_SEAL_WRITE))
		return false;
	CHECK_EQ(errno, EBUSY);
	return true;
}

static void file_ends(struct file *file)
{
	if (file_is_held(file))
		FAIL("a page of the file is still held");
	close(file->fd);
}

/* Transfers in both directions, so that the device takes all references it takes on first use. */
static void use(struct region *r)
{
	size_t length = r->buf->length;

	check_write(&link_, &peer, 0, r, 0, length);
	check_read(&link_, &peer, 0, r, 0, length);
}

/* After ibv_dereg_mr() nobody holds a page of the memory, so its file can be sealed. */
static void se1_dereg(void)
{
	struct file file = file_new();
	struct region r;

	begin();
	r = region_reg(dev.pd, file.buf, ALL_ACCESS);
	use(&r);
	file_unmap(&file);
	CHECK(file_is_held(&file));
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	file_ends(&file);
}

/* Five regions of the same pages, with different access. */
static void se2_many(void)
{
	static const int access[] = { 0, IBV_ACCESS_LOCAL_WRITE, ALL_ACCESS,
				      IBV_ACCESS_REMOTE_READ, ALL_ACCESS };
	struct ibv_mr *mrs[ARRAY_SIZE(access)];
	struct file file = file_new();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(access); i++)
		mrs[i] = MUST(ibv_reg_mr(dev.pd, file.buf->data + 1000 * i,
					 PAGE + 4000 * i, access[i]));
	file_unmap(&file);
	for (i = 0; i < ARRAY_SIZE(access); i++) {
		CHECK(file_is_held(&file));
		CHECK_EQ(ibv_dereg_mr(mrs[i]), 0);
	}
	file_ends(&file);
}

/* When rereg returns, the old memory is released and the new memory is held. */
static void se3_rereg(void)
{
	struct file old = file_new(), new = file_new();
	struct region r;

	begin();
	r = region_reg(dev.pd, old.buf, ALL_ACCESS);
	use(&r);
	region_rereg(&r, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, new.buf, 0);
	use(&r);
	file_unmap(&old);
	file_ends(&old);
	file_unmap(&new);
	CHECK(file_is_held(&new));
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	file_ends(&new);
}

/* A rereg that fails keeps no reference on the new memory, and releases none of the old. */
static void se4_rereg_fails(void)
{
	struct file old = file_new(), new = file_new();
	uint8_t *at = new.buf->data;
	struct region r;

	begin();
	r = region_reg(dev.pd, old.buf, ALL_ACCESS);
	/* All pages are mapped but the last. */
	CHECK_EQ(munmap(new.buf->map + LEN - PAGE, PAGE), 0);
	CHECK(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, at,
			   new.buf->map + LEN - at, 0));
	file_unmap(&new);
	file_ends(&new);
	use(&r);
	file_unmap(&old);
	CHECK(file_is_held(&old));
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	file_ends(&old);
}

/* The same if rereg is refused after pinning the new memory, because a window is bound. */
static void se4_window_is_bound(void)
{
	struct file old = file_new(), new = file_new();
	struct ibv_mw *mw = window_new(IBV_MW_TYPE_2);
	struct region r;

	begin();
	r = region_reg(dev.pd, old.buf, BINDABLE);
	expect(window_bind(&link_.a, mw, window_part(&r, 0, PAGE, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	CHECK(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			   new.buf->data, new.buf->length, 0));
	file_unmap(&new);
	file_ends(&new);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	use(&r);
	file_unmap(&old);
	CHECK(file_is_held(&old));
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	file_ends(&old);
}

/* Registrations that fail half-way: at a hole, and at a read-only page. */
static void se5_reg_fails(void)
{
	struct file file = file_new();
	size_t whole = file.buf->map + LEN - file.buf->data;

	CHECK_EQ(munmap(file.buf->map + LEN - PAGE, PAGE), 0);
	MUST_NOT(ibv_reg_mr(dev.pd, file.buf->data, whole, ALL_ACCESS), EFAULT);
	CHECK_EQ(mprotect(file.buf->map + LEN - 3 * PAGE, PAGE, PROT_READ), 0);
	MUST_NOT(ibv_reg_mr(dev.pd, file.buf->data, whole - PAGE, ALL_ACCESS),
		 EFAULT);
	file_unmap(&file);
	file_ends(&file);
}

/* On-demand regions use pages but hold no reference. */
static void se6_on_demand(int implicit)
{
	struct file file;
	struct region r;
	struct ibv_mr *mr;

	need_odp();
	file = file_new();
	begin();
	mr = implicit ? MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL)) :
			MUST(ibv_reg_mr(dev.pd, file.buf->data,
					file.buf->length, ODP_ALL));
	r = region_of(file.buf, mr, (uintptr_t)file.buf->data);
	use(&r);
	/* The file has pages: otherwise sealing it would prove nothing. */
	CHECK(lseek(file.fd, 0, SEEK_DATA) == 0);
	file_unmap(&file);
	file_ends(&file);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

struct owner {
	struct file *file;
	int ready;
};

static void own_and_wait(void *arg)
{
	struct owner *owner = arg;
	struct region r;

	device_open();
	begin();
	r = region_reg(dev.pd, owner->file->buf, ALL_ACCESS);
	use(&r);
	/* The child unmaps its own mapping, so that only the region holds the pages. */
	file_unmap(owner->file);
	CHECK_EQ(write(owner->ready, "", 1), 1);
	for (;;)
		pause();
}

/* When the death of a killed process can be seen, all its pages are released. */
static void se7_killed(void)
{
	struct file file = file_new();
	struct owner owner = { .file = &file };
	int ends[2], child;
	char byte;

	CHECK_EQ(pipe(ends), 0);
	owner.ready = ends[1];
	child = spawn(own_and_wait, &owner);
	close(ends[1]);
	CHECK_EQ(read(ends[0], &byte, 1), 1);
	file_unmap(&file);
	CHECK(file_is_held(&file));
	killed(child);
	file_ends(&file);
}

static const struct test tests[] = {
	TEST(se1_dereg, "SE1 dereg lets go of every page"),
	TEST(se2_many, "SE2 several regions of the same pages"),
	TEST(se3_rereg, "SE3 rereg lets go of the old memory"),
	TEST(se4_rereg_fails, "SE4 a rereg that fails"),
	TEST(se4_window_is_bound, "SE4 a rereg that is refused"),
	TEST(se5_reg_fails, "SE5 a registration that fails in the middle"),
	TEST_OF(se6_on_demand, false, "SE6 on demand, nothing is held"),
	TEST_OF(se6_on_demand, true, "SE6 nor by an implicit region"),
	TEST(se7_killed, "SE7 a process that is killed"),
};

HARNESS_MAIN("no reference on a page outlives its region", tests)
