// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes the header of swap space to a RAM disk that has nothing else, and uses it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <unistd.h>

#include <linux/fs.h>

#include "file.h"
#include "swap.h"
#include "undo.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

static const char swap_device[] = "/dev/ram0";

/* How a disk with swap space begins. */
union swap_head {
	char bytes[65536];
	struct {
		char boot[1024];
		uint32_t version, last_page, bad_pages;
	};
};

static void swap_end(void)
{
	if (swapoff(swap_device) && errno != EINVAL)
		note("swapoff: errno %d", errno);
}

static bool swap_is_unused(const union swap_head *head)
{
	static const char nothing[sizeof(*head)];

	return !memcmp(head->bytes + PAGE - 10, "SWAPSPACE2", 10) ||
	       !memcmp(head, nothing, sizeof(*head));
}

const char *swap_begin(void)
{
	static union swap_head head;
	uint64_t size;
	int fd;

	/* A test that failed may have left it. */
	swapoff(swap_device);
	fd = open(swap_device, O_RDWR | O_EXCL | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, BLKGETSIZE64, &size))
		return "no RAM disk to swap to";
	CHECK_EQ(read(fd, &head, sizeof(head)), sizeof(head));
	if (!swap_is_unused(&head))
		return "the RAM disk is somebody's";
	memset(&head, 0, sizeof(head));
	head.version = 1;
	head.last_page = size / PAGE - 1;
	memcpy(head.bytes + PAGE - 10, "SWAPSPACE2", 10);
	CHECK_EQ(pwrite(fd, &head, PAGE, 0), PAGE);
	CHECK_EQ(fsync(fd), 0);
	close(fd);
	undo_at_end(swap_end);
	if (swapon(swap_device, 0))
		FAIL("swapon: errno %d", errno);
	return NULL;
}

void need_swap(void)
{
	const char *why = swap_begin();

	if (why)
		skip("%s", why);
}

long swap_page_out(struct buf *buf)
{
	CHECK_EQ(madvise(buf->map, buf->map_length, MADV_PAGEOUT), 0);
	return file_number("VmSwap:", "/proc/self/status");
}

long long swap_written(void)
{
	long long pages = file_number("pswpout", "/proc/vmstat");

	CHECK(pages >= 0);
	return pages;
}
