// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Parts of the file are never used again, so that what was freed is checked, too.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "sealed.h"

/* Room for the buffers of most tests; no machine is short of it. */
enum { ROOM = 16 << 20 };

static int file = -1;
/* How much of the file is in use: shared by the processes of a test. */
static atomic_size_t *used;
/* Buffers of this process so far. */
static atomic_uint count;

void sealed_begin(void)
{
	if (!used) {
		used = mmap(NULL, sizeof(*used), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		CHECK(used != MAP_FAILED);
	}
	atomic_store(used, 0);
	file = memfd_create("buffers", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	CHECK(file >= 0);
	/* Pages come when they are written. */
	CHECK_EQ(ftruncate(file, ROOM), 0);
}

void sealed_end(void)
{
	close(file);
	file = -1;
}

bool sealed_is_held(void)
{
	if (!fcntl(file, F_ADD_SEALS, F_SEAL_WRITE))
		return false;
	CHECK_EQ(errno, EBUSY);
	return true;
}

void sealed_first(bool first)
{
	count = !first;
}

void *sealed_map(size_t length)
{
	size_t at;
	void *map;

	/* Programs without the harness have no such file. */
	if (file < 0 || atomic_fetch_add(&count, 1) % 2)
		return NULL;
	at = atomic_fetch_add(used, length);
	if (length > ROOM || at > ROOM - length) {
		atomic_fetch_sub(used, length);
		return NULL;
	}
	map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, at);
	CHECK(map != MAP_FAILED);
	return map;
}
