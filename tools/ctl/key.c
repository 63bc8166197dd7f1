// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * key: lists all keys of a pinion device, from debugfs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "object.h"
#include "words.h"

struct keys {
	const struct selection *selection;
	struct row row;
	unsigned long num;
};

/* Skip lines of runs, which begin with blanks: mr map prints those. */
static void key_line(struct keys *keys, const char *device, const char *line)
{
	uint64_t base, length, size, blocks;
	char kind[16], state[16];
	uint32_t key, rights;
	int num;

	num = sscanf(line,
		     "0x%" SCNx32 " %15s %15s rights %" SCNx32 " base %" SCNx64
		     " length %" SCNx64 " block_size %" SCNx64
		     " blocks %" SCNu64,
		     &key, kind, state, &rights, &base, &length, &size,
		     &blocks);
	if (num < 6)
		return;
	row_clear(&keys->row);
	row_text(&keys->row, "dev", device);
	row_hex(&keys->row, "key", key);
	row_text(&keys->row, "kind", kind);
	row_text(&keys->row, "state", state);
	row_hex(&keys->row, "base", base);
	row_number(&keys->row, "length", length);
	if (num >= 8) {
		row_number(&keys->row, "block_size", size);
		row_number(&keys->row, "blocks", blocks);
	}
	row_access(&keys->row, "rights", rights);
	if (!selection_has(keys->selection, &keys->row))
		return;
	out_row(&keys->row);
	keys->num++;
}

/* Return: does it have such a list? */
static bool keys_of(struct keys *keys, const char *device)
{
	char *path = print("/sys/kernel/debug/pinion/%s/keys", device);
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	if (!file)
		die_if_refused(path, errno);
	free(path);
	if (!file)
		return false;
	while (getline(&line, &size, file) > 0)
		if (*line == '0')
			key_line(keys, device, line);
	free(line);
	fclose(file);
	return true;
}

static int key_list(char **words)
{
	static const struct column columns[] = {
		{ "dev", -8 },	 { "key", 10 },	   { "kind", -7 },
		{ "state", -5 }, { "base", 18 },   { "length", 20 },
		{ "blocks", 8 }, { "rights", -8 }, {},
	};
	struct selection selection = selection_of(words);
	struct keys keys = { .selection = &selection };
	struct device one, *all = NULL;
	int i, num = 1, found = 0;

	if (selection.device)
		one = device_named(selection.device);
	else
		all = devices_all(&num);
	out_begin(LAYOUT_TABLE, columns);
	for (i = 0; i < num; i++)
		found += keys_of(&keys, all ? all[i].name : one.name);
	out_end();
	row_clear(&keys.row);
	free(keys.row.fields);
	free(all);
	if (!found)
		die("no pinion device, or no debugfs\n"
		    "(mount -t debugfs none /sys/kernel/debug)");
	return keys.num || !*selection.pairs ? EXIT_GOOD : EXIT_FOUND;
}

static int key_watched(char **words)
{
	return watch(key_list, words);
}

int key_command(char **words)
{
	/* There is nothing else, so the word may be missing before a device, too. */
	if (words[0] && !strcmp(words[0], "list"))
		words++;
	return key_watched(words);
}
