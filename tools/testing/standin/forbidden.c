// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For LD_PRELOAD: the device files of verbs as in a container that was given the files, but not the
 * devices. Its cgroup forbids them, to root as well.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

#define REAL(function) ((typeof(&(function)))dlsym(RTLD_NEXT, #function))

int open(const char *path, int flags, ...)
{
	va_list args;
	int mode = 0;

	if (!strncmp(path, "/dev/infiniband/uverbs", 22)) {
		errno = EPERM;
		return -1;
	}
	va_start(args, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(args, int);
	va_end(args);
	return REAL(open)(path, flags, mode);
}
