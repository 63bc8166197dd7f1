// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rows of names and values, and their output. Each row is printed at once, so a million rows need
 * no memory.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "row.h"

bool json;

static struct field *row_field(struct row *row, const char *name)
{
	struct field *field;
	int i;

	for (i = 0; i < row->num; i++) {
		field = &row->fields[i];
		if (!strcmp(field->name, name)) {
			free(field->text);
			return field;
		}
	}
	if (row->num == row->room) {
		row->room = row->room ? 2 * row->room : 16;
		row->fields =
			need(realloc(row->fields, row->room * sizeof(*field)));
	}
	field = &row->fields[row->num++];
	field->name = need(strdup(name));
	return field;
}

static void row_add(struct row *row, const char *name, enum field_kind kind,
		    uint64_t number, char *text)
{
	struct field *field = row_field(row, name);

	field->kind = kind;
	field->number = number;
	field->text = need(text);
}

void row_number(struct row *row, const char *name, uint64_t value)
{
	row_add(row, name, FIELD_NUMBER, value, print("%" PRIu64, value));
}

void row_hex(struct row *row, const char *name, uint64_t value)
{
	row_add(row, name, FIELD_HEX, value, print("0x%" PRIx64, value));
}

void row_text(struct row *row, const char *name, const char *text)
{
	row_add(row, name, FIELD_TEXT, 0, strdup(text));
}

void row_words(struct row *row, const char *name, const char *words)
{
	row_add(row, name, FIELD_WORDS, 0, strdup(words));
}

const struct field *row_find(const struct row *row, const char *name)
{
	int i;

	for (i = 0; i < row->num; i++)
		if (!strcmp(row->fields[i].name, name))
			return &row->fields[i];
	return NULL;
}

uint64_t row_value(const struct row *row, const char *name)
{
	const struct field *field = row_find(row, name);

	return field ? field->number : 0;
}

bool row_has(const struct row *row, const char *name, const char *value)
{
	const struct field *field = row_find(row, name);
	uint64_t number;
	char *end;

	if (!field)
		return false;
	if (field->kind == FIELD_TEXT || field->kind == FIELD_WORDS)
		return !strcmp(field->text, value);
	number = strtoull(value, &end, 0);
	return end != value && !*end && number == field->number;
}

void row_clear(struct row *row)
{
	int i;

	for (i = 0; i < row->num; i++) {
		free(row->fields[i].name);
		free(row->fields[i].text);
	}
	row->num = 0;
}

/* ------------------------------------------------------------------- the output */

static struct {
	enum layout layout;
	const struct column *columns;
	unsigned long rows;
	int longest; /* name of a device */
} out;

/* A process's name may contain anything: escape what a terminal or a parser would act upon. */
static void print_quoted(const char *text, size_t length)
{
	putchar('"');
	for (; length--; text++) {
		unsigned char c = *text;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < ' ' || c >= 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print_plain(const char *text, int width)
{
	int length = strlen(text);

	if (width > length)
		printf("%*s", width - length, "");
	for (; *text; text++)
		putchar(isprint((unsigned char)*text) ? *text : '?');
	if (-width > length)
		printf("%*s", -width - length, "");
}

static void print_words(const char *words)
{
	size_t length;

	putchar('[');
	while (*words) {
		length = strcspn(words, ",");
		print_quoted(words, length);
		words += length;
		if (*words)
			putchar(*words++);
	}
	putchar(']');
}

static void print_json(const struct row *row)
{
	const struct field *field;

	printf("%s{", out.rows ? ",\n" : "");
	for (field = row->fields; field < row->fields + row->num; field++) {
		if (field > row->fields)
			putchar(',');
		print_quoted(field->name, strlen(field->name));
		putchar(':');
		if (field->kind == FIELD_WORDS)
			print_words(field->text);
		else if (field->kind == FIELD_TEXT)
			print_quoted(field->text, strlen(field->text));
		else
			printf("%" PRIu64, field->number);
	}
	putchar('}');
}

/* The first line has the device and the number of the object. */
static void print_block(const struct row *row)
{
	const struct field *field = row->fields;
	int i;

	if (out.rows)
		putchar('\n');
	for (i = 0; i < row->num && i < 2; i++, field++) {
		printf("%s%s", i ? " " : "", i ? field->name : "");
		printf("%s", i ? " " : "");
		print_plain(field->text, 0);
	}
	putchar('\n');
	for (; i < row->num; i++, field++) {
		printf("    ");
		print_plain(field->name, -27);
		putchar(' ');
		print_plain(*field->text ? field->text : "none", 0);
		putchar('\n');
	}
}

void out_device(const char *name)
{
	int length = strlen(name);

	if (length > out.longest)
		out.longest = length;
}

/* No padding after the last column. */
static int column_width(const struct column *column)
{
	if (column->width < 0 && !column[1].name)
		return 0;
	if (!strcmp(column->name, "dev") && -column->width < out.longest)
		return -out.longest;
	return column->width;
}

static void print_line(const struct row *row)
{
	const struct column *column;
	const struct field *field;

	for (column = out.columns; column->name; column++) {
		field = row_find(row, column->name);
		if (column > out.columns)
			putchar(' ');
		print_plain(field && *field->text ? field->text : "-",
			    column_width(column));
	}
	putchar('\n');
}

static void print_titles(void)
{
	const struct column *column;
	char title[32];
	size_t i;

	for (column = out.columns; column->name; column++) {
		for (i = 0; column->name[i] && i < sizeof(title) - 1; i++)
			title[i] = toupper((unsigned char)column->name[i]);
		title[i] = 0;
		if (column > out.columns)
			putchar(' ');
		print_plain(title, column_width(column));
	}
	putchar('\n');
}

void out_begin(enum layout layout, const struct column *columns)
{
	out.layout = layout;
	out.columns = columns;
	out.rows = 0;
	if (json)
		putchar('[');
	else if (layout == LAYOUT_TABLE)
		print_titles();
}

void out_row(const struct row *row)
{
	if (json)
		print_json(row);
	else if (out.layout == LAYOUT_TABLE)
		print_line(row);
	else
		print_block(row);
	out.rows++;
}

void out_end(void)
{
	if (json)
		puts("]");
	if (fflush(stdout) || ferror(stdout))
		die("cannot write: %m");
}
