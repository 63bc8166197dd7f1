// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes and reads small files. Knows nothing of what is in them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

int file_write(const char *text, const char *path, ...)
{
	ssize_t length = strlen(text), written;
	char name[256];
	va_list args;
	int fd, err = 0;

	va_start(args, path);
	vsnprintf(name, sizeof(name), path, args);
	va_end(args);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	written = write(fd, text, length);
	if (written != length)
		err = written < 0 ? errno : EIO;
	close(fd);
	return err;
}

long long file_number(const char *word, const char *path, ...)
{
	char name[256], line[256];
	long long value = -1;
	va_list args;
	FILE *file;

	va_start(args, path);
	vsnprintf(name, sizeof(name), path, args);
	va_end(args);
	file = fopen(name, "re");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, word, strlen(word)) &&
		    sscanf(line + strlen(word), "%lli", &value) == 1)
			break;
	}
	fclose(file);
	return value;
}
