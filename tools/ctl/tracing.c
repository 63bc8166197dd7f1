// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A trace instance of its own in tracefs. Does not interpret the events.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"
#include "tracing.h"

int tracing_open(const struct tracing *tracing, const char *file, int flags)
{
	char *path = print("%s/%s", tracing->path, file);
	int fd = open(path, flags | O_CLOEXEC);

	free(path);
	return fd;
}

static bool tracing_write(const struct tracing *tracing, const char *file,
			  const char *text)
{
	int fd = tracing_open(tracing, file, O_WRONLY);
	bool good = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return good;
}

#define ROOT "/sys/kernel/tracing"

static void tracing_make(struct tracing *tracing)
{
	static const char *const roots[] = { ROOT,
					     "/sys/kernel/debug/tracing" };
	int i;

	tracing->path = NULL;
	for (i = 0; i < 2 && !tracing->path; i++) {
		tracing->path =
			print("%s/instances/pinionctl-%d", roots[i], getpid());
		if (!mkdir(tracing->path, 0700))
			break;
		free(tracing->path);
		tracing->path = NULL;
	}
}

bool tracing_begin(struct tracing *tracing, pid_t pid)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", pid);
	tracing_make(tracing);
	/* Some systems have not mounted tracefs at its usual place. */
	if (!tracing->path && !mount("tracefs", ROOT, "tracefs", 0, NULL))
		tracing_make(tracing);
	if (!tracing->path)
		return false;
	if (!pid || (tracing_write(tracing, "options/event-fork", "1") &&
		     tracing_write(tracing, "set_event_pid", number)))
		return true;
	tracing_end(tracing);
	return false;
}

bool tracing_add(struct tracing *tracing, const char *event)
{
	char *file = print("events/pinion/%s%senable", event ?: "",
			   event ? "/" : "");
	bool good = tracing_write(tracing, file, "1");

	free(file);
	return good;
}

char *tracing_events(const struct tracing *tracing)
{
	char *path = print("%s/events/pinion", tracing->path), *more;
	char *names = need(strdup(""));
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		more = print("%s %s", names, entry->d_name);
		free(names);
		names = more;
	}
	if (folder)
		closedir(folder);
	free(path);
	return names;
}

void tracing_end(struct tracing *tracing)
{
	if (tracing->path) {
		tracing_write(tracing, "events/pinion/enable", "0");
		rmdir(tracing->path);
		free(tracing->path);
	}
	tracing->path = NULL;
}
