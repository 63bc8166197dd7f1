// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Asks /sys/kernel/debug/kcov. Only the module is compiled for it, so all addresses are its own.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <linux/kcov.h>

#include "harness.h"
#include "kcov.h"

/* What one sequence of calls may run: the rest is lost. */
enum { WORDS = 1 << 18 };

static int fd = -1;
/* The first word counts those behind it. */
static uint64_t *area;

void kcov_open(void)
{
	fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == EACCES))
		skip("this kernel has no KCOV");
	CHECK(fd >= 0);
	CHECK_EQ(ioctl(fd, KCOV_INIT_TRACE, (unsigned long)WORDS), 0);
	area = mmap(NULL, WORDS * sizeof(*area), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	CHECK(area != MAP_FAILED);
}

void kcov_begin(void)
{
	CHECK_EQ(ioctl(fd, KCOV_ENABLE, (unsigned long)KCOV_TRACE_PC), 0);
	__atomic_store_n(&area[0], 0, __ATOMIC_RELAXED);
}

size_t kcov_end(const uint64_t **addresses)
{
	size_t count = __atomic_load_n(&area[0], __ATOMIC_RELAXED);

	CHECK_EQ(ioctl(fd, KCOV_DISABLE, 0UL), 0);
	*addresses = area + 1;
	return count;
}
