/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fields of one object, as names and values; and the output of many objects: as a table, as
 * blocks of lines, or as a list of JSON objects.
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
	FIELD_WORDS, /* none or more, separated by commas */
};

struct field {
	char *name;
	enum field_kind kind;
	uint64_t number;
	char *text; /* as printed for people */
};

struct row {
	struct field *fields;
	int num, room;
};

/* Each replaces a field of the same name. */
void row_number(struct row *row, const char *name, uint64_t value);
void row_hex(struct row *row, const char *name, uint64_t value);
void row_text(struct row *row, const char *name, const char *text);
void row_words(struct row *row, const char *name, const char *words);

const struct field *row_find(const struct row *row, const char *name);
/* Return: the number in a field, or 0 without that field. */
uint64_t row_value(const struct row *row, const char *name);
/* Does a field have this value, a number in any base or a text? */
bool row_has(const struct row *row, const char *name, const char *value);
/* Remove all fields. */
void row_clear(struct row *row);

/* ------------------------------------------------------------------- the output */

/* A column of a table: a field and its width; left-aligned if the width is negative. */
struct column {
	const char *name;
	int width;
};

enum layout { LAYOUT_TABLE, LAYOUT_BLOCKS };

extern bool json;

/* From here on the column `dev' of all tables has room for this name. */
void out_device(const char *name);
/* @columns: of a table; ends with one without a name. */
void out_begin(enum layout layout, const struct column *columns);
void out_row(const struct row *row);
void out_end(void);

#endif
