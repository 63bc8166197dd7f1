// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Maps memory of the exporter for tests, and holds back page faults on it.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../exporter/exporter.h"
#include "dmabuf.h"
#include "link.h"
#include "slow.h"

_Static_assert((int)SLOW_LEN == EXPORTER_SLOW_PAGES * 4096,
	       "the exporter's size");

struct slow slow_new(void)
{
	struct slow slow = {};

	need_exporter();
	slow.fd = open("/dev/pinion_exporter", O_RDWR | O_CLOEXEC);
	CHECK(slow.fd >= 0);
	slow.map = mmap(NULL, SLOW_LEN, PROT_READ | PROT_WRITE, MAP_SHARED,
			slow.fd, 0);
	CHECK(slow.map != MAP_FAILED);
	return slow;
}

void slow_hold(const struct slow *slow, bool hold)
{
	uint32_t arg = hold;

	if (slow->file) {
		slow_file_hold(slow->file, hold);
		return;
	}
	CHECK_EQ(ioctl(slow->fd, EXPORTER_HOLD, &arg), 0);
}

unsigned int slow_waiting(const struct slow *slow)
{
	uint32_t waiting;

	if (slow->file)
		return slow_file_waiting(slow->file);
	CHECK_EQ(ioctl(slow->fd, EXPORTER_WAITING, &waiting), 0);
	return waiting;
}

void slow_await(const struct slow *slow)
{
	double limit = now() + patience(PATIENCE);

	while (!slow_waiting(slow)) {
		if (now() > limit)
			FAIL("nobody touches the memory that is held back");
		usleep(1000);
	}
}

void slow_end(struct slow *slow)
{
	CHECK_EQ(munmap(slow->map, SLOW_LEN), 0);
	close(slow->fd);
	if (slow->file)
		slow_file_end(slow->file);
}
