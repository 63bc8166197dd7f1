// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads /sys/kernel/debug/pinion/DEVICE/map.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "table.h"

static uint32_t key_number(const char *text)
{
	unsigned long long key;
	char *end;

	key = strtoull(text, &end, 0);
	if (end == text || *end || !key || key > UINT32_MAX)
		die("`%s' is not a key", text);
	return key;
}

uint32_t device_key(const char *command, char ***words)
{
	char **word = *words;

	if (!word[0] || !word[1])
		die("%s: name a device and a key", command);
	/* As in other commands, or without the word "key". */
	if (!strcmp(word[1], "key") && word[2]) {
		word[1] = word[0];
		word++;
	}
	*words = word;
	return key_number(word[1]);
}

int key_missing(const char *device, uint32_t key)
{
	fprintf(stderr, "pinionctl: %s has no key %#x, or it is not valid\n",
		device, key);
	return EXIT_FOUND;
}

/* Ask for the table of the key, from its beginning. */
static bool table_ask(struct table *table)
{
	char line[256];

	rewind(table->file);
	if (fprintf(table->file, "%#x\n", table->key) < 0 ||
	    fflush(table->file))
		die("debugfs: %m");
	rewind(table->file);
	if (!fgets(line, sizeof(line), table->file))
		return false;
	if (sscanf(line,
		   "key %*x base %" SCNx64 " length %" SCNx64
		   " block_size %" SCNx64 " generation %" SCNu32,
		   &table->base, &table->length, &table->block_size,
		   &table->generation) != 4)
		die("unexpected line in debugfs: %s", line);
	return true;
}

bool table_open(struct table *table, const char *device, uint32_t key)
{
	char *path = print("/sys/kernel/debug/pinion/%s/map", device);
	int err;

	memset(table, 0, sizeof(*table));
	table->key = key;
	table->file = fopen(path, "r+e");
	err = errno;
	if (!table->file)
		die_if_refused(path, err);
	if (!table->file)
		die("%s: %s: no pinion device, a module older than this, or no debugfs\n"
		    "(mount -t debugfs none /sys/kernel/debug)",
		    path, strerror(err));
	free(path);
	if (table_ask(table))
		return true;
	fclose(table->file);
	return false;
}

bool table_next(struct table *table, struct run *run)
{
	char line[256], right;

	if (!fgets(line, sizeof(line), table->file))
		return false;
	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %c", &run->offset,
		   &run->length, &run->address, &right) != 4)
		die("unexpected line in debugfs: %s", line);
	run->writable = right == 'w';
	return true;
}

bool table_close(struct table *table)
{
	uint32_t generation = table->generation;
	bool same = table_ask(table) && generation == table->generation;

	fclose(table->file);
	return same;
}
