// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * inject: adds, lists and removes orders of injected failures; see pinion(4). With a command, the
 * orders are for that command, and removed when it ends.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "child.h"
#include "ctl.h"
#include "row.h"

#define ORDERS "/sys/kernel/debug/pinion/inject"

static int orders_open(int flags)
{
	int fd = open(ORDERS, flags | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	die_if_refused(ORDERS, errno);
	die("no %s: the module pinion and debugfs are needed\n"
	    "(mount -t debugfs none /sys/kernel/debug)",
	    ORDERS);
}

/* Return: 0 or an errno. */
static int orders_write(const char *text)
{
	int fd = orders_open(O_WRONLY), err = 0;

	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

/* ------------------------------------------------------------------- values by name */

static bool by_number(const char *word, uint32_t *value)
{
	unsigned long long number;
	char *end;

	number = strtoull(word, &end, 0);
	*value = number;
	return isdigit((unsigned char)*word) && !*end && number <= UINT32_MAX;
}

static uint32_t errno_of(const char *word)
{
	const char *name;
	uint32_t value;

	if (by_number(word, &value))
		return value;
	for (value = 1; value < 4096; value++) {
		name = strerrorname_np(value);
		if (name && !strcasecmp(name, word))
			return value;
	}
	die("`%s' is no errno", word);
}

/* A status by the string of ibv_wc_status_str(), with - or _ in place of blanks. */
static bool is_status(const char *word, const char *status)
{
	for (; *word && *status; word++, status++)
		if (tolower((unsigned char)*word) !=
			    tolower((unsigned char)*status) &&
		    !(strchr("-_", *word) && *status == ' '))
			return false;
	return !*word && !*status;
}

static uint32_t status_of(const char *word)
{
	uint32_t value;

	if (by_number(word, &value))
		return value;
	for (value = 1; value <= IBV_WC_GENERAL_ERR; value++)
		if (is_status(word, ibv_wc_status_str(value)))
			return value;
	die("`%s' is no status of a completion; `remote-access-error' is one",
	    word);
}

static uint32_t number_of(const char *word)
{
	uint32_t value;

	if (!by_number(word, &value))
		die("`%s' is not a number", word);
	return value;
}

static uint32_t ms_of(const char *word)
{
	uint32_t value = number_of(word);

	if (value > UINT32_MAX / 1000)
		die("%s milliseconds are too many", word);
	return value * 1000;
}

static const struct word {
	const char *word;
	const char *name; /* the file's */
	uint32_t (*value)(const char *word);
} words_known[] = {
	{ "errno", "value", errno_of },	     { "status", "value", status_of },
	{ "us", "value", number_of },	     { "ms", "value", ms_of },
	{ "size", "value", number_of },	     { "pid", "pid", number_of },
	{ "key", "number", number_of },	     { "qp", "number", number_of },
	{ "skip", "skip", number_of },	     { "every", "every", number_of },
	{ "percent", "percent", number_of }, { "seed", "seed", number_of },
	{ "count", "count", number_of },     {},
};

/* Append a word and its value to @line, which is freed. */
static char *order_add(char *line, const char *word, const char *value)
{
	const struct word *known = words_known;
	char *more;

	while (known->word && strcmp(known->word, word))
		known++;
	if (!known->word)
		die("inject: `%s' is not known; see pinionctl(1)", word);
	if (!value)
		die("inject: %s wants a value", word);
	more = print("%s %s %" PRIu32, line, known->name, known->value(value));
	free(line);
	return more;
}

static char *order_line(char **words)
{
	char *line = print("%s", *words++);

	for (; *words; words += 2)
		line = order_add(line, words[0], words[1]);
	return line;
}

static void order_give(const char *line)
{
	int err = orders_write(line);

	if (err == ENOSPC)
		die("inject: there are as many orders as can be; `pinionctl inject off' ends them");
	if (err == ERANGE)
		die("inject: %s: a number is too large, or too small", line);
	if (err)
		die("inject: %s: not understood; see pinionctl(1)", line);
}

/* ------------------------------------------------------------------- present orders */

/* Of kinds whose values are numbers, or are none; those of the others are errnos. */
static const struct {
	const char *kind, *word;
} order_values[] = {
	{ "late", "us" },      { "fault-delay", "us" }, { "leaf", "size" },
	{ "span", "size" },    { "batch", "size" },	{ "stretch", "size" },
	{ "fatal", NULL },     { "loss", NULL },	{ "rnr", NULL },
	{ "overflow", NULL },  { "invalidate", NULL },	{ "corrupt", NULL },
	{ "duplicate", NULL }, { "reorder", NULL },	{ "hold", "us" },
};

/* As kernel/mem/inject.h has it: the value of a hold without an end. */
#define FOREVER INT32_MAX

static void order_value(struct row *row, const char *kind, uint32_t value)
{
	size_t i;

	for (i = 0; i < sizeof(order_values) / sizeof(*order_values); i++) {
		if (strcmp(kind, order_values[i].kind))
			continue;
		if (order_values[i].word && value != FOREVER)
			row_number(row, order_values[i].word, value);
		return;
	}
	if (!strcmp(kind, "status"))
		row_text(row, "status", ibv_wc_status_str(value));
	else
		row_text(row, "errno", strerrorname_np(value) ?: "?");
}

/* "ID KIND NAME NUMBER..." */
static bool order_row(struct row *row, char *line)
{
	char *word = strsep(&line, " "), *kind = strsep(&line, " "), *value;

	if (!word || !kind)
		return false;
	row_number(row, "id", strtoull(word, NULL, 10));
	row_text(row, "kind", kind);
	while ((word = strsep(&line, " ")) && (value = strsep(&line, " \n"))) {
		uint64_t number = strtoull(value, NULL, 0);

		if (!strcmp(word, "value"))
			order_value(row, kind, number);
		else if (!strcmp(word, "number"))
			row_hex(row, "number", number);
		else
			row_number(row, word, number);
	}
	return true;
}

/* Print the orders of process @pid (0: all). Return: the number of failures so far. */
static uint64_t orders_show(pid_t pid, bool show)
{
	FILE *file = need(fdopen(orders_open(O_RDONLY), "re"));
	char *line = NULL;
	struct row row = {};
	uint64_t failed = 0;
	size_t size = 0;

	while (getline(&line, &size, file) > 0) {
		if (order_row(&row, line) &&
		    (!pid || row_value(&row, "pid") == (uint64_t)pid)) {
			failed += row_value(&row, "failed");
			if (show)
				out_row(&row);
		}
		row_clear(&row);
	}
	free(row.fields);
	free(line);
	fclose(file);
	return failed;
}

static int inject_list(char **words)
{
	static const struct column columns[] = {
		{ "id", 4 },
		{ "kind", -11 },
		{ "pid", 7 },
		{ "number", 10 },
		{ "skip", 6 },
		{ "every", 6 },
		{ "percent", 7 },
		{ "count", 6 },
		{ "met", 9 },
		{ "failed", 9 },
		{},
	};

	(void)words;
	out_begin(LAYOUT_TABLE, columns);
	orders_show(0, true);
	out_end();
	return EXIT_GOOD;
}

static int inject_off(char **words)
{
	char *line = print("off %s", words[0] ?: "");
	int err;

	if (words[0])
		number_of(words[0]);
	if (words[0] && words[1])
		die("inject off: one number, or none");
	err = orders_write(line);
	free(line);
	if (err && err != ENOENT)
		die("inject off: %s", strerror(err));
	return err ? EXIT_FOUND : EXIT_GOOD;
}

/* ------------------------------------------------------------------- orders */

/* The number of the last order of @pid. */
static uint64_t order_of(pid_t pid)
{
	FILE *file = need(fdopen(orders_open(O_RDONLY), "re"));
	struct row row = {};
	char *line = NULL;
	uint64_t id = 0;
	size_t size = 0;

	while (getline(&line, &size, file) > 0) {
		if (order_row(&row, line) &&
		    row_value(&row, "pid") == (uint64_t)pid)
			id = row_value(&row, "id");
		row_clear(&row);
	}
	free(row.fields);
	free(line);
	fclose(file);
	return id;
}

/* Only for the command's own process, not for its children. */
static int inject_run(const char *order, char **command)
{
	struct child child = child_make(command);
	char *line = print("%s pid %d", order, child.pid), *cancel;
	uint64_t failed;

	order_give(line);
	cancel = print("off %" PRIu64, order_of(child.pid));
	child_go(&child);
	child_ended(&child, true);
	failed = orders_show(child.pid, false);
	orders_write(cancel);
	fprintf(stderr, "pinionctl: %s: failed %" PRIu64 " times\n", order,
		failed);
	free(cancel);
	free(line);
	return child_status(&child);
}

static int inject_order(char **words, char **command)
{
	char *line = order_line(words);
	int rc = EXIT_GOOD;

	if (command)
		rc = inject_run(line, command);
	else
		order_give(line);
	free(line);
	return rc;
}

/* ------------------------------------------------------------------- devices */

/* What happens to a device at once, and lasts without an order. */
static const struct {
	const char *kind, *file, *line;
} device_kinds[] = {
	{ "port-down", "port", "down" },
	{ "port-up", "port", "up" },
	{ "device-fatal", "fatal", "1" },
};

enum { DEVICE_KINDS = sizeof(device_kinds) / sizeof(*device_kinds) };

static int device_kind(const char *word)
{
	int i;

	for (i = 0; i < DEVICE_KINDS; i++)
		if (word && !strcmp(word, device_kinds[i].kind))
			break;
	return i;
}

static int inject_device(int kind, char **words, char **command)
{
	int err;

	if (!words[0] || words[1] || command)
		die("inject %s: which device?", device_kinds[kind].kind);
	err = device_tell(words[0], device_kinds[kind].file,
			  device_kinds[kind].line);
	if (err == EIO)
		die("inject %s: %s is broken; `rdma link del' and `add' mend it",
		    device_kinds[kind].kind, words[0]);
	if (err)
		die("inject %s: %s", device_kinds[kind].kind, strerror(err));
	return EXIT_GOOD;
}

int inject_command(char **words)
{
	char **command = command_of(words);
	int kind = device_kind(words[0]);

	if (kind < DEVICE_KINDS)
		return inject_device(kind, words + 1, command);
	if (words[0] && strcmp(words[0], "list") && strcmp(words[0], "off"))
		return inject_order(words, command);
	if (command)
		die("inject: what is to fail?");
	if (words[0] && !strcmp(words[0], "off"))
		return inject_off(words + 1);
	return watch(inject_list, words);
}
