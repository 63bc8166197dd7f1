// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "harness.h"

void need_command(const char *name)
{
	char command[64];

	snprintf(command, sizeof(command), "command -v %s >/dev/null", name);
	if (system(command))
		skip("no %s here", name);
}

void must_run(const char *format, ...)
{
	char command[400];
	va_list args;

	va_start(args, format);
	CHECK(vsnprintf(command, sizeof(command), format, args) <
	      (int)sizeof(command));
	va_end(args);
	if (system(command))
		FAIL("failed: %s", command);
}

static void *command_run(void *command)
{
	must_run("%s", (const char *)command);
	return NULL;
}

pthread_t command_begin(char *command)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, command_run, command), 0);
	return thread;
}
