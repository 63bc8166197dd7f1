// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * record: runs a command with a preloaded library that records its calls of libibverbs.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "ctl.h"
#include "recording.h"

/* The library is next to this program in the build tree, or in the installed place. */
static char *library(void)
{
	static const char *const places[] = { ".", "../lib/pinion" };
	char folder[4096], *slash, *file;
	ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	int i;

	folder[length > 0 ? length : 0] = 0;
	slash = strrchr(folder, '/');
	if (slash)
		*slash = 0;
	for (i = 0; i < 2; i++) {
		file = print("%s/%s/%s", folder, places[i], RECORDING_LIBRARY);
		if (!access(file, R_OK))
			return file;
		free(file);
	}
	die("record: no %s beside this program, nor in %s/%s",
	    RECORDING_LIBRARY, folder, places[1]);
}

static void file_begin(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0 || write(fd, RECORDING_FIRST, strlen(RECORDING_FIRST)) < 0)
		die("record: %s: %m", name);
	close(fd);
}

static void preload(const char *file)
{
	const char *others = getenv("LD_PRELOAD");
	char *all = print("%s%s%s", file, others ? ":" : "", others ?: "");

	if (strpbrk(file, ": "))
		die("record: %s: the path must have no blanks or colons", file);
	setenv("LD_PRELOAD", all, 1);
	free(all);
}

static long long size_of(const char *name)
{
	struct stat stat_;

	return stat(name, &stat_) ? -1 : (long long)stat_.st_size;
}

int record_command(char **words)
{
	char **command = command_of(words), *path;
	struct child child;

	if (!words[0] || words[1] || !command)
		die("record: a file, and behind `--' a command");
	file_begin(words[0]);
	path = realpath(words[0], NULL);
	if (!path)
		die("record: %s: %m", words[0]);
	setenv(RECORDING_NAME, path, 1);
	preload(library());
	child = child_make(command);
	child_go(&child);
	child_ended(&child, true);
	if (size_of(path) <= (long long)strlen(RECORDING_FIRST))
		fprintf(stderr,
			"pinionctl: nothing was recorded: the command does not use libibverbs, is linked statically, or is set-user-ID\n");
	free(path);
	return child_status(&child);
}
