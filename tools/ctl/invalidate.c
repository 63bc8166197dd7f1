// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mr invalidate: pages of a region are taken away, as if the owner of the memory had.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "table.h"

static uint64_t number(const char *text)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (end == text || *end || errno || *text == '-')
		die("`%s' is not a number", text);
	return value;
}

/* All of it, or a part. */
static char *line_of(uint32_t key, char **part)
{
	if (!part[0])
		return print("%" PRIu32, key);
	if (!part[1] || part[2])
		die("mr invalidate: an offset and a length, or neither");
	return print("%" PRIu32 " %" PRIu64 " %" PRIu64, key, number(part[0]),
		     number(part[1]));
}

int mr_invalidate(char **words)
{
	uint32_t key = device_key("mr invalidate", &words);
	char *line = line_of(key, words + 2);
	int err = device_tell(words[0], "invalidate", line);

	free(line);
	switch (err) {
	case 0:
		return EXIT_GOOD;
	case ENOENT:
		return key_missing(words[0], key);
	case EOPNOTSUPP:
		die("what %#x is of is pinned, and cannot go", key);
	case ERANGE:
		die("that is not within %#x", key);
	}
	die("mr invalidate: %s", strerror(err));
}
