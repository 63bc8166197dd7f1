// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * replay: repeats the calls of a recording on a device, in their order, and reports different
 * results.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "recording.h"
#include "replay.h"

bool replay_run(const struct replay_call *calls, const struct call *call)
{
	for (; calls->name; calls++) {
		if (!strcmp(calls->name, call->name)) {
			calls->run(call);
			return true;
		}
	}
	return false;
}

static unsigned long calls_done, calls_differ, calls_left;

/* A request that was refused here. A later line of the recording may say that it was, too. */
struct refusal {
	struct refusal *next;
	unsigned long line;
	char *name;
	uint64_t pid, object;
	int err;
};

static struct refusal *refusals;

/* ---------------------------------------------------------------------------- calls */

uint64_t call_value(const struct call *call, const char *name)
{
	return row_value(&call->row, name);
}

int call_segments(const struct call *call, struct segment *segments)
{
	const struct field *field = row_find(&call->row, "sge");
	const char *at = field ? field->text : NULL;
	int num = 0, length;

	while (at && num < MAX_SGES &&
	       sscanf(at, "%" SCNx64 ":%" SCNu32 ":%" SCNx32 "%n",
		      &segments[num].addr, &segments[num].length,
		      &segments[num].key, &length) == 3) {
		num++;
		at += length;
		at = *at == ',' ? at + 1 : NULL;
	}
	return num;
}

uint64_t call_length(const struct call *call)
{
	struct segment segments[MAX_SGES];
	int num = call_segments(call, segments);
	uint64_t length = 0;

	while (num--)
		length += segments[num].length;
	return length;
}

static void call_field(struct row *row, char *word)
{
	char *value = strchr(word, '='), *end;
	uint64_t number;

	if (!value)
		return;
	*value++ = 0;
	number = strtoull(value, &end, 0);
	if (end == value || *end)
		row_text(row, word, value);
	else
		row_hex(row, word, number);
}

/* "SECONDS PID CALL NAME=VALUE..." */
static bool call_parse(struct call *call, char *text)
{
	char *word, *end;

	text[strcspn(text, "\n")] = 0;
	word = strsep(&text, " ");
	strtod(word, &end);
	if (end == word || *end || !text)
		return false;
	word = strsep(&text, " ");
	call->pid = strtoull(word, &end, 10);
	if (end == word || *end || !text)
		return false;
	call->name = strsep(&text, " ");
	while ((word = strsep(&text, " ")))
		call_field(&call->row, word);
	return true;
}

static void calls_each(const char *name, void (*visit)(const struct call *call))
{
	FILE *file = fopen(name, "re");
	struct call call = {};
	char *text = NULL;
	size_t size = 0;

	if (!file)
		die("%s: %m", name);
	if (getline(&text, &size, file) < 0 || strcmp(text, RECORDING_FIRST))
		die("%s: not a file of `pinionctl record'", name);
	for (call.line = 2; getline(&text, &size, file) > 0; call.line++) {
		if (!call_parse(&call, text))
			die("%s: line %lu is not of a recording", name,
			    call.line);
		visit(&call);
		row_clear(&call.row);
	}
	free(call.row.fields);
	free(text);
	fclose(file);
}

/* ---------------------------------------------------------------------- differences */

static void tell(unsigned long line, const char *call, const char *recorded,
		 const char *here)
{
	struct row row = {};

	calls_differ++;
	row_number(&row, "line", line);
	row_text(&row, "call", call);
	row_text(&row, "recorded", recorded);
	row_text(&row, "here", here);
	out_row(&row);
	/* The next line may take long. */
	fflush(stdout);
	row_clear(&row);
	free(row.fields);
}

void replay_left(void)
{
	calls_left++;
}

void replay_differs(const struct call *call, const char *recorded,
		    const char *here)
{
	tell(call->line, call->name, recorded, here);
}

static const char *errno_word(int err)
{
	return err ? strerrorname_np(err) ?: "?" : "well";
}

/* The object of a call whose refusal is recorded by a line of its own. */
static uint64_t call_object(const struct call *call)
{
	static const char *const names[] = { "qp", "srq", "mr", "mw",
					     "cq", "pd",  "ah" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (row_find(&call->row, names[i]))
			return call_value(call, names[i]);
	return 0;
}

static bool call_says_later(const struct call *call)
{
	return !strncmp(call->name, "post_", 5) ||
	       !strncmp(call->name, "de", 2) ||
	       !strcmp(call->name, "modify_qp");
}

static void refusal_keep(const struct call *call, int err)
{
	struct refusal *refusal = need(malloc(sizeof(*refusal)));

	*refusal = (struct refusal){ .next = refusals,
				     .line = call->line,
				     .name = print("%s", call->name),
				     .pid = call->pid,
				     .object = call_object(call),
				     .err = err };
	refusals = refusal;
}

static void refusal_end(struct refusal **place)
{
	struct refusal *refusal = *place;

	*place = refusal->next;
	free(refusal->name);
	free(refusal);
}

void replay_compare(const struct call *call, int recorded, int here)
{
	if (here == recorded)
		calls_done++;
	else if (here && call_says_later(call))
		refusal_keep(call, here);
	else
		replay_differs(call, errno_word(recorded), errno_word(here));
}

static void refused(const struct call *call)
{
	int err = call_value(call, "errno");
	struct refusal **place = &refusals;

	while (*place && ((*place)->pid != call->pid ||
			  (*place)->object != call_object(call)))
		place = &(*place)->next;
	if (*place && (*place)->err == err)
		calls_done++;
	else
		tell(call->line, *place ? (*place)->name : call->name,
		     errno_word(err), errno_word(*place ? (*place)->err : 0));
	if (*place)
		refusal_end(place);
}

/* ------------------------------------------------------------------------ the device */

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **all = ibv_get_device_list(NULL), **device = all;
	struct ibv_context *context = NULL;

	while (device && *device && name &&
	       strcmp(ibv_get_device_name(*device), name))
		device++;
	if (!device || !*device)
		die("%s: libibverbs has no such device", name ?: "no device");
	context = ibv_open_device(*device);
	if (!context)
		die("%s cannot be opened: `pinionctl doctor' may tell why",
		    ibv_get_device_name(*device));
	ibv_free_device_list(all);
	return context;
}

/* The first GID of RoCE v2 over IPv4, else the first GID. */
static void device_gid(struct replay_device *device)
{
	struct ibv_gid_entry entries[64];
	ssize_t num = ibv_query_gid_table(device->context, entries, 64, 0), i;

	for (i = num - 1; i >= 0; i--) {
		if (i && (entries[i].gid_type != IBV_GID_TYPE_ROCE_V2 ||
			  entries[i].gid.raw[10] != 0xff))
			continue;
		if (!i && device->gid.raw[10])
			continue;
		device->gid = entries[i].gid;
		device->gid_index = entries[i].gid_index;
	}
}

static void device_begin(const char *name)
{
	struct replay_device *device = &replay_device;
	int err;

	device->context = device_open(name);
	device_gid(device);
	err = ibv_query_port(device->context, 1, &device->port);
	if (err)
		die("port 1: %s", strerror(err));
	device->pd = ibv_alloc_pd(device->context);
	device->cq = ibv_create_cq(device->context, 1024, NULL, NULL, 0);
	if (!device->pd || !device->cq)
		die("no domain or completion queue: %m");
}

static void replay_one(const struct call *call)
{
	if (!strcmp(call->name, "refused"))
		refused(call);
	else if (!replay_object(call) && !replay_queue(call) &&
		 !replay_post(call))
		calls_left += !strstr(call->name, "_device");
}

int replay_command(char **words)
{
	static const struct column columns[] = {
		{ "line", 8 },
		{ "call", -14 },
		{ "recorded", -28 },
		{ "here", -1 },
		{},
	};

	if (!words[0] || (words[1] && words[2]))
		die("replay: name a file and at most one device");
	calls_each(words[0], memory_note);
	memory_make();
	device_begin(words[1]);
	out_begin(LAYOUT_TABLE, columns);
	calls_each(words[0], replay_one);
	while (refusals) {
		tell(refusals->line, refusals->name, errno_word(0),
		     errno_word(refusals->err));
		refusal_end(&refusals);
	}
	out_end();
	fprintf(stderr,
		"pinionctl: %s: %lu calls came out the same, %lu differently, %lu were left out\n",
		words[0], calls_done, calls_differ, calls_left);
	return calls_differ ? EXIT_FOUND : EXIT_GOOD;
}
