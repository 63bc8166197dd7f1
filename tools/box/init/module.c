// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "channel.h"
#include "file.h"
#include "module.h"

/* Return: 0 or an errno. */
static int load(const char *file, const char *params)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (syscall(SYS_finit_module, fd, params, 0))
		err = errno;
	close(fd);
	return err;
}

int insmod(const char *file, const char *params)
{
	int err = load(file, params);

	if (err)
		fprintf(stderr, "insmod %s: %s\n", file, strerror(err));
	return err == EEXIST ? 0 : err;
}

int rmmod(const char *name)
{
	int err = syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;

	if (err)
		fprintf(stderr, "rmmod %s: %s\n", name, strerror(err));
	return err;
}

void load_modules(void)
{
	char *list = slurp("/modules", NULL), *name;

	if (!list)
		return;
	for (name = strtok(list, "\n"); name; name = strtok(NULL, "\n")) {
		int err = load(name, "");

		if (err && err != EEXIST)
			say("%s: %s", name, strerror(err));
	}
	free(list);
}
