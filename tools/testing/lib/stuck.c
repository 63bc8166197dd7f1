// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads /proc only. Every file may be missing: a thread may exit at any moment.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stuck.h"

/* A hang concerns few threads. The limit keeps them visible on a machine with many threads. */
enum { MOST_SHOWN = 40 };

struct thread {
	char path[64]; /* its folder in /proc */
	char name[32];
	char state;
	long group;
	unsigned long user, system; /* ticks */
};

static bool thread_read(struct thread *thread)
{
	char path[sizeof(thread->path) + 8], line[1024], *rest;
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "%s/stat", thread->path);
	file = fopen(path, "r");
	if (!file)
		return false;
	length = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[length] = 0;
	/* The name may contain parentheses, so look for the last one. */
	rest = strrchr(line, ')');
	return rest &&
	       sscanf(strchr(line, '('), "(%31[^)]", thread->name) == 1 &&
	       sscanf(rest + 1,
		      " %c %*d %ld %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
		      &thread->state, &thread->group, &thread->user,
		      &thread->system) == 4;
}

/* Threads of the group, and kernel workers; those in state I are idle. */
static bool thread_matters(const struct thread *thread, pid_t group)
{
	if (thread->group == group)
		return true;
	return thread->state != 'I' && !strncmp(thread->name, "kworker", 7);
}

static void thread_print_file(FILE *to, const struct thread *thread,
			      const char *name)
{
	char path[sizeof(thread->path) + 16], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", thread->path, name);
	file = fopen(path, "r");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		fprintf(to, "#     %s: %s\n", name, line);
	}
	fclose(file);
}

static void thread_print(FILE *to, const struct thread *thread)
{
	fprintf(to,
		"#   %s %s: state %c, %lu ticks of its own, %lu of the kernel\n",
		thread->path, thread->name, thread->state, thread->user,
		thread->system);
	thread_print_file(to, thread, "syscall");
	thread_print_file(to, thread, "wchan");
	thread_print_file(to, thread, "stack");
}

static int process_print(FILE *to, const char *pid, pid_t group, int shown)
{
	struct thread thread;
	struct dirent *entry;
	char path[32];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%.10s/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return shown;
	while (shown < MOST_SHOWN && (entry = readdir(tasks))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(thread.path, sizeof(thread.path), "%s/%.10s", path,
			 entry->d_name);
		if (!thread_read(&thread) || !thread_matters(&thread, group))
			continue;
		thread_print(to, &thread);
		shown++;
	}
	closedir(tasks);
	return shown;
}

int stuck_print(FILE *to, pid_t group)
{
	struct dirent *entry;
	int shown = 0;
	DIR *proc;

	proc = opendir("/proc");
	if (!proc)
		return 0;
	fprintf(to, "# what it and the kernel's workers do:\n");
	while ((entry = readdir(proc))) {
		if (atoi(entry->d_name) > 0)
			shown = process_print(to, entry->d_name, group, shown);
	}
	closedir(proc);
	return shown;
}
