// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mr map: prints where all memory of a key is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "row.h"
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

int mr_map(char **words)
{
	static const struct column columns[] = {
		{ "offset", 14 },
		{ "length", 12 },
		{ "address", 14 },
		{ "rights", -2 },
		{},
	};
	const char *device = words[0], *key;
	struct table table;
	struct row row = {};
	struct run run;

	if (!words[0] || !words[1])
		die("mr map: a device and a key are wanted");
	/* As elsewhere, or without the word. */
	if (!strcmp(words[1], "key") && words[2])
		words++;
	key = words[1];
	if (words[2])
		die("mr map: one device and one key, and no more");
	if (!table_open(&table, device, key_number(key))) {
		fprintf(stderr,
			"pinionctl: no key of %s is %s and means something\n",
			device, key);
		return EXIT_FOUND;
	}
	out_begin(LAYOUT_TABLE, columns);
	while (table_next(&table, &run)) {
		row_hex(&row, "offset", run.offset);
		row_hex(&row, "length", run.length);
		row_hex(&row, "address", run.address);
		row_text(&row, "rights", run.writable ? "rw" : "r");
		out_row(&row);
		row_clear(&row);
	}
	out_end();
	free(row.fields);
	if (!table_close(&table))
		die("the key changed or ended meanwhile, so this is not of one table");
	return EXIT_GOOD;
}
