// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Gives user-mode Linux a memfd as its memory if BOX_MEMORY=memfd is set: replaces its open() of an
 * unnamed file (O_TMPFILE). A memfd is not limited by a small /dev/shm, as in a container. A
 * file on an overlay is no alternative: the host's kernel never merges adjacent mappings of such a
 * file, so each page of the guest would be a mapping, and soon reach vm.max_map_count.
 *
 * Preloaded; or, with LINKED, part of a static kernel that is linked with --wrap,open64.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int is_nameless(int flags)
{
	return (flags & O_TMPFILE) == O_TMPFILE;
}

static int is_for_memfd(int flags)
{
	const char *where = getenv("BOX_MEMORY");

	return is_nameless(flags) && where && !strcmp(where, "memfd");
}

#ifdef LINKED
#define OPEN __wrap_open64
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
#define NEXT __real_open64
#else
#define OPEN open64
#define NEXT \
	((int (*)(const char *path, int flags, ...))dlsym(RTLD_NEXT, "open64"))
#endif

int OPEN(const char *path, int flags, ...)
{
	va_list arguments;
	int mode;

	if (is_for_memfd(flags))
		return memfd_create("memory of a box", MFD_CLOEXEC);

	va_start(arguments, flags);
	mode = flags & O_CREAT || is_nameless(flags) ? va_arg(arguments, int) :
						       0;
	va_end(arguments);
	return NEXT(path, flags, mode);
}
