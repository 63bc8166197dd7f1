// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads tracefs. Does not interpret the events.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "file.h"
#include "tracing.h"

#define TRACING "/sys/kernel/tracing"
#define INSTANCES TRACING "/instances"
#define NAME "pinion-test"

/* Of lines of our own, open while there is a buffer. */
static int marker = -1;

static void set(const char *file, const char *value)
{
	int err = file_write(value, TRACING "/%s", file);

	if (err == ENOENT)
		skip("no %s: errno %d", file, err);
	CHECK_EQ(err, 0);
}

void tracing_start(void)
{
	need_root();
	if (access(INSTANCES, F_OK) &&
	    mount("tracefs", TRACING, "tracefs", 0, NULL))
		skip("no tracefs: errno %d", errno);
	/*
	 * Do not record command names: events contain the pid already. For record-cmd the
	 * kernel patches code of the scheduler, and an emulated processor may then execute
	 * a half-written instruction.
	 */
	set("options/record-cmd", "0");
	/* A test that failed may have left it. */
	rmdir(INSTANCES "/" NAME);
	if (mkdir(INSTANCES "/" NAME, 0700))
		skip("no buffer for tracing: errno %d", errno);
	/* Number the events: clocks of processors may differ, and would not show their order. */
	set("instances/" NAME "/trace_clock", "counter");
	set("instances/" NAME "/events/pinion/enable", "1");
	marker = open(INSTANCES "/" NAME "/trace_marker", O_WRONLY | O_CLOEXEC);
	CHECK(marker >= 0);
}

void tracing_stop(void)
{
	set("instances/" NAME "/events/pinion/enable", "0");
	close(marker);
	CHECK_EQ(rmdir(INSTANCES "/" NAME), 0);
}

void tracing_mark(const char *text)
{
	ssize_t length = strlen(text);

	CHECK_EQ(write(marker, text, length), length);
}

unsigned int tracing_marks_within(const char *event, const char *text)
{
	FILE *file = MUST(fopen(INSTANCES "/" NAME "/trace", "r"));
	unsigned int since = 0, within = 0;
	bool begun = false;
	char line[512], name[64];

	snprintf(name, sizeof(name), " %s: ", event);
	while (fgets(line, sizeof(line), file)) {
		if (strstr(line, name)) {
			within += since;
			since = 0;
			begun = true;
		} else if (begun && strstr(line, " tracing_mark_write: ")) {
			since += strstr(line, text) != NULL;
		}
	}
	fclose(file);
	return within;
}

/* The next line of this event that contains @with, from its name on. */
static const char *next_line(FILE *file, const char *event, const char *with)
{
	static char line[512];
	char name[64];

	snprintf(name, sizeof(name), " %s: ", event);
	while (fgets(line, sizeof(line), file))
		if (strstr(line, name) && strstr(line, with))
			return strstr(line, name) + 1;
	return NULL;
}

static unsigned int find(const char *event, const char *with, char *last,
			 size_t size)
{
	FILE *file = MUST(fopen(INSTANCES "/" NAME "/trace", "r"));
	unsigned int count;
	const char *line;

	for (count = 0; (line = next_line(file, event, with)); count++)
		snprintf(last, size, "%s", line);
	fclose(file);
	return count;
}

const char *tracing_last(const char *event, const char *with)
{
	static char line[512];

	if (!find(event, with, line, sizeof(line)))
		FAIL("no event %s with %s", event, with);
	return line;
}

unsigned int tracing_count(const char *event, const char *with)
{
	char line[512];

	return find(event, with, line, sizeof(line));
}

uint64_t tracing_sum(const char *event, const char *name)
{
	FILE *file = MUST(fopen(INSTANCES "/" NAME "/trace", "r"));
	const char *line;
	uint64_t sum = 0;

	while ((line = next_line(file, event, "")))
		sum += tracing_value(line, name);
	fclose(file);
	return sum;
}

uint64_t tracing_value(const char *line, const char *name)
{
	char text[64];
	const char *at;

	snprintf(text, sizeof(text), " %s=", name);
	at = strstr(line, text);
	if (!at)
		FAIL("no %s in %s", name, line);
	return strtoull(at + strlen(text), NULL, 0);
}
