/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is known of one object, as names and values; and how many of them are shown: as a
 * table, as a block of lines each, or as a list of JSON objects.
 */
#ifndef PINIONCTL_ROW_H
#define PINIONCTL_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
	FIELD_NUMBER,
	FIELD_HEX, /* a key, an address */
	FIELD_TEXT,
	FIELD_WORDS, /* none or more, with commas between */
};

struct field {
	char *name;
	enum field_kind kind;
	uint64_t number;
	char *text; /* as people read it */
};

struct row {
	struct field *fields;
	int num, room;
};

/* Each overrides what has this name already. */
void row_number(struct row *row, const char *name, uint64_t value);
void row_hex(struct row *row, const char *name, uint64_t value);
void row_text(struct row *row, const char *name, const char *text);
void row_words(struct row *row, const char *name, const char *words);

const struct field *row_find(const struct row *row, const char *name);
/* Its number, or 0 if there is none. */
uint64_t row_value(const struct row *row, const char *name);
/* Does a field have this value, a number in any base or a text? */
bool row_has(const struct row *row, const char *name, const char *value);
/* Empty again. */
void row_clear(struct row *row);

/* ------------------------------------------------------------------- the output */

/* Of a table: fields, each as wide as that, or to the left with a negative width. */
struct column {
	const char *name;
	int width;
};

enum layout { LAYOUT_TABLE, LAYOUT_BLOCKS };

extern bool json;

/* @columns: of a table, the last has no name. */
void out_begin(enum layout layout, const struct column *columns);
void out_row(const struct row *row);
void out_end(void);

#endif
