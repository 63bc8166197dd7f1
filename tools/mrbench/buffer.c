// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Buffers in small, transparent huge or huge pages: contiguous, in scattered pages, or a little
 * memory mapped many times, so that regions larger than the machine's memory can be measured.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buffer.h"

#define HUGE_PAGE (2ull << 20)

uint64_t buffer_page(void)
{
	return opt.pages == PAGES_4K ? (uint64_t)sysconf(_SC_PAGESIZE) :
				       HUGE_PAGE;
}

static uint64_t rounded(uint64_t size)
{
	uint64_t page = buffer_page();

	return (size + page - 1) / page * page;
}

/* Reserve address space, aligned to huge pages. */
static char *reserve(uint64_t size)
{
	char *at = mmap(NULL, size + HUGE_PAGE, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *aligned;

	if (at == MAP_FAILED)
		return NULL;
	aligned = (char *)(((uintptr_t)at + HUGE_PAGE - 1) & -HUGE_PAGE);
	if (aligned != at)
		munmap(at, aligned - at);
	munmap(aligned + size, at + HUGE_PAGE - aligned);
	return aligned;
}

static bool map_again_and_again(char *at, uint64_t size)
{
	bool huge = opt.pages == PAGES_HUGE;
	int fd = memfd_create("mrbench", huge ? MFD_HUGETLB : 0);
	uint64_t memory = rounded(opt.memory), offset, n;
	bool good = fd >= 0 && !ftruncate(fd, memory);

	for (offset = 0; good && offset < size; offset += n) {
		n = size - offset < memory ? size - offset : memory;
		good = mmap(at + offset, n, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
	}
	if (fd >= 0)
		close(fd);
	return good;
}

static bool map_once(char *at, uint64_t size)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	if (opt.pages == PAGES_HUGE)
		flags |= MAP_HUGETLB;
	if (mmap(at, size, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
		return false;
	/* Fails on kernels without transparent huge pages. */
	return !madvise(at, size,
			opt.pages == PAGES_THP ? MADV_HUGEPAGE :
						 MADV_NOHUGEPAGE) ||
	       opt.pages != PAGES_THP;
}

/* Fault in the pages. In random order they are seldom adjacent in memory. */
static bool touch(char *at, uint64_t size)
{
	uint64_t page = buffer_page(), num = size / page, i, j, swap;
	uint64_t *order = malloc(num * sizeof(*order));

	if (!order)
		return false;
	for (i = 0; i < num; i++)
		order[i] = i;
	for (i = num; opt.scatter && i > 1; i--) {
		j = (uint64_t)random() % i;
		swap = order[i - 1];
		order[i - 1] = order[j];
		order[j] = swap;
	}
	for (i = 0; i < num; i++)
		at[order[i] * page] = 1;
	free(order);
	return true;
}

void *buffer_make(uint64_t size)
{
	uint64_t whole = rounded(size);
	char *at = reserve(whole);
	bool good;
	int err;

	if (!at)
		return NULL;
	good = opt.memory ? map_again_and_again(at, whole) :
			    map_once(at, whole);
	/* Only the first mapping: the others have the same pages. */
	if (good)
		good = touch(at, opt.memory && opt.memory < whole ?
					 rounded(opt.memory) :
					 whole);
	if (!good) {
		err = errno;
		munmap(at, whole);
		errno = err;
		return NULL;
	}
	return at;
}

void buffer_free(void *buffer, uint64_t size)
{
	munmap(buffer, rounded(size));
}
