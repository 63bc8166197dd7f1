// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Prints bits by their names.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl.h"
#include "words.h"

static const struct bit accesses[] = {
	{ 1 << 0, "local_write" },	 { 1 << 1, "remote_write" },
	{ 1 << 2, "remote_read" },	 { 1 << 3, "remote_atomic" },
	{ 1 << 4, "mw_bind" },		 { 1 << 5, "zero_based" },
	{ 1 << 6, "on_demand" },	 { 1 << 7, "hugetlb" },
	{ 1 << 8, "flush_global" },	 { 1 << 9, "flush_persistent" },
	{ 1 << 20, "relaxed_ordering" }, {},
};

void row_bits(struct row *row, const char *name, uint64_t value,
	      const struct bit *bits)
{
	char *words = NULL;
	size_t size = 0;
	FILE *out = need(open_memstream(&words, &size));

	for (; bits->bit; bits++) {
		if (!(value & bits->bit))
			continue;
		fprintf(out, "%s%s", ftell(out) ? "," : "", bits->word);
		value &= ~bits->bit;
	}
	if (value)
		fprintf(out, "%s0x%" PRIx64, ftell(out) ? "," : "", value);
	fclose(out);
	row_words(row, name, need(words));
	free(words);
}

void row_access(struct row *row, const char *name, uint64_t access)
{
	row_bits(row, name, access, accesses);
}
