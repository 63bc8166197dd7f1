// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../frame.h"
#include "lines.h"

/* Write the line with one call, so that lines of several hosts do not mix. */
static void put(const struct lines *l, const char *name, const char *text,
		size_t len)
{
	char buf[64 + sizeof(l->part)];
	int n = snprintf(buf, 64, "%s: ", name);

	memcpy(buf + n, text, len);
	n += len;
	buf[n++] = '\n';
	(void)!write_all(l->to, buf, n);
}

static void put_all(struct lines *l, const char *name)
{
	char *at = l->part, *end = at + l->have, *newline;

	while ((newline = memchr(at, '\n', end - at))) {
		put(l, name, at, newline - at);
		at = newline + 1;
	}
	l->have = end - at;
	memmove(l->part, at, l->have);
}

void lines_carry(struct lines *l, const char *name)
{
	ssize_t n =
		read(l->from, l->part + l->have, sizeof(l->part) - 1 - l->have);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0) {
		l->have += n;
		put_all(l, name);
	}
	if (l->have && (n <= 0 || l->have == sizeof(l->part) - 1)) {
		put(l, name, l->part, l->have);
		l->have = 0;
	}
	if (n <= 0) {
		close(l->from);
		l->from = -1;
	}
}
