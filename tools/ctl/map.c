// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mr map: prints where all memory of a key is.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ctl.h"
#include "row.h"
#include "table.h"

int mr_map(char **words)
{
	static const struct column columns[] = {
		{ "offset", 14 },
		{ "length", 12 },
		{ "address", 14 },
		{ "rights", -2 },
		{},
	};
	uint32_t key = device_key("mr map", &words);
	struct table table;
	struct row row = {};
	struct run run;

	if (words[2])
		die("mr map: name one device and one key");
	if (!table_open(&table, words[0], key))
		return key_missing(words[0], key);
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
		die("the key changed or was destroyed meanwhile: this is not one table");
	return EXIT_GOOD;
}
