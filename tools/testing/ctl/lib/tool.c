// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Runs pinionctl and keeps its output.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "tool.h"

const char *tool_path(void)
{
	static char path[4096 + 16];
	ssize_t length = readlink("/proc/self/exe", path, 4095);

	CHECK(length > 0);
	path[length] = 0;
	strcpy(strrchr(path, '/'), "/../pinionctl");
	return path;
}

static char *tool_line(const char *fmt, va_list args)
{
	char *words, *line;

	CHECK(vasprintf(&words, fmt, args) >= 0);
	CHECK(asprintf(&line, "exec %s %s 2>&1", tool_path(), words) >= 0);
	free(words);
	return line;
}

static struct said tool_run(const char *line)
{
	static char *out;
	size_t size = 0, room = 1 << 16, got;
	FILE *pipe = MUST(popen(line, "re"));
	struct said said;
	int status;

	free(out);
	out = MUST(malloc(room));
	while ((got = fread(out + size, 1, room - size - 1, pipe))) {
		size += got;
		if (size == room - 1) {
			room *= 2;
			out = MUST(realloc(out, room));
		}
	}
	out[size] = 0;
	status = pclose(pipe);
	if (!WIFEXITED(status))
		FAIL("%s: ended by signal %d", line, WTERMSIG(status));
	said = (struct said){ .status = WEXITSTATUS(status), .out = out };
	return said;
}

struct said tool(const char *fmt, ...)
{
	struct said said;
	va_list args;
	char *line;

	va_start(args, fmt);
	line = tool_line(fmt, args);
	va_end(args);
	said = tool_run(line);
	free(line);
	return said;
}

const char *tool_says(const char *fmt, ...)
{
	struct said said;
	va_list args;
	char *line;

	va_start(args, fmt);
	line = tool_line(fmt, args);
	va_end(args);
	said = tool_run(line);
	if (said.status)
		FAIL("%s: status %d: %s", line, said.status, said.out);
	free(line);
	return said.out;
}

const char *tool_value(const char *out, const char *name)
{
	static char value[512];
	const char *line = out;
	size_t length = strlen(name);

	for (; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "    ", 4) ||
		    strncmp(line + 4, name, length) || line[4 + length] != ' ')
			continue;
		line += 4 + length;
		line += strspn(line, " ");
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(line, "\n"),
			 line);
		return value;
	}
	return NULL;
}

uint64_t tool_number(const char *out, const char *name)
{
	const char *value = tool_value(out, name);
	char *end;
	uint64_t number;

	if (!value)
		FAIL("no %s in: %s", name, out);
	number = strtoull(value, &end, 0);
	if (end == value || *end)
		FAIL("%s is `%s'", name, value);
	return number;
}

void tool_is_at(const char *file, int line, const char *out, const char *name,
		const char *want)
{
	const char *value = tool_value(out, name);

	if (!value)
		failed(file, line, "no %s in: %s", name, out);
	if (strcmp(value, want))
		failed(file, line, "%s is `%s', not `%s'", name, value, want);
}

int tool_lines(const char *out)
{
	int lines = 0;

	for (; *out; out++)
		lines += *out == '\n';
	return lines;
}
