// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Preloaded into a user-mode Linux whose memory shall be no file: where it makes its nameless
 * one, it gets a memfd. That has room where /dev/shm is small, as in a container; and no file
 * of an overlay serves, for the kernel below never joins two mappings of such a file, which
 * lie side by side, to one: each page of the guest is one, and vm.max_map_count soon reached.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>

int open64(const char *path, int flags, ...)
{
	int (*next)(const char *path, int flags, ...);
	va_list arguments;
	int mode;

	if ((flags & O_TMPFILE) == O_TMPFILE)
		return memfd_create("memory of a box", MFD_CLOEXEC);

	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
	va_end(arguments);
	next = (int (*)(const char *path, int flags, ...))dlsym(RTLD_NEXT,
								"open64");
	return next(path, flags, mode);
}
