// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "device.h"
#include "rdma_tool.h"

void need_rdma_tool(void)
{
	need_root();
	if (system("rdma -V >/dev/null 2>&1"))
		skip("no rdma here");
}

/* Read all of @from, with one blank for each run of blanks and ends of lines. */
static void read_words(FILE *from, char *text, size_t size)
{
	size_t used = 0;
	int c;

	while ((c = fgetc(from)) != EOF && used < size - 1) {
		if (c == '\n' || c == '\t')
			c = ' ';
		if (c != ' ' || !used || text[used - 1] != ' ')
			text[used++] = c;
	}
	text[used] = 0;
}

char *rdma_says(const char *format, ...)
{
	static char text[1 << 15];
	char arguments[192], command[256];
	va_list args;
	FILE *out;

	va_start(args, format);
	vsnprintf(arguments, sizeof(arguments), format, args);
	va_end(args);
	snprintf(command, sizeof(command), "rdma %s", arguments);
	out = MUST(popen(command, "r"));
	read_words(out, text, sizeof(text));
	if (pclose(out))
		FAIL("%s failed", command);
	return text;
}

int rdma_does(const char *format, ...)
{
	char arguments[192], command[256];
	va_list args;
	int status;

	va_start(args, format);
	vsnprintf(arguments, sizeof(arguments), format, args);
	va_end(args);
	snprintf(command, sizeof(command), "rdma %s >/dev/null 2>&1",
		 arguments);
	status = system(command);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

long long rdma_counter(const char *name)
{
	const char *says = rdma_says("statistic show link %s/1", device_name());
	char word[64];
	const char *at;

	snprintf(word, sizeof(word), " %s ", name);
	at = strstr(says, word);
	CHECK(at);
	return atoll(at + strlen(word));
}
