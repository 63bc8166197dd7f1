// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"

char *slurp(const char *path, size_t *len)
{
	char *buf = NULL;
	size_t have = 0, size = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	do {
		if (size - have < 4096) {
			size = size * 2 + 8192;
			buf = realloc(buf, size);
		}
		n = read(fd, buf + have, size - have - 1);
		if (n > 0)
			have += n;
	} while (n > 0);
	close(fd);
	buf[have] = 0;
	if (len)
		*len = have;
	return buf;
}

void make_dirs(char *path)
{
	char *p;

	for (p = path + 1; *p; p++) {
		if (*p == '/') {
			*p = 0;
			mkdir(path, 0755);
			*p = '/';
		}
	}
	mkdir(path, 0755);
}
