// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes to the files of a pinion device in debugfs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

/* For root there is no EACCES; and EPERM is for everybody (security_locked_down()). */
void die_if_refused(const char *path, int err)
{
	if (err == EACCES)
		die("%s is root's", path);
	if (err == EPERM)
		die("%s: this kernel is locked down, so nobody may use it: see kernel_lockdown(7)",
		    path);
}

int device_tell(const char *device, const char *file, const char *line)
{
	char *path = print("/sys/kernel/debug/pinion/%s/%s", device, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		die_if_refused(path, errno);
	if (fd < 0)
		die("%s: %m: no pinion device, a module older than this, or no debugfs\n"
		    "(mount -t debugfs none /sys/kernel/debug)",
		    path);
	free(path);
	if (write(fd, line, strlen(line)) < 0)
		err = errno;
	close(fd);
	return err;
}
