// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lists of calls: made of random numbers, carried out, and shortened when they fail.
 */
#define _GNU_SOURCE
#include <stdarg.h>

#include "model.h"

struct counts *counts;
bool loud;

const char *const kind_names[KINDS] = {
	"reg",	   "dereg",  "rereg", "bind", "invalidate", "message",
	"look",	   "advise", "poke",  "drop", "unmap",	    "map",
	"protect", "remap",  "punch", "move", "take",
};

static void (*const functions[KINDS])(const uint32_t *n) = {
	call_reg,     call_dereg, call_rereg,	call_bind,  call_invalidate,
	call_message, call_look,  call_advise,	call_poke,  call_drop,
	call_unmap,   call_map,	  call_protect, call_remap, call_punch,
	call_move,    call_take,
};

void tell(const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	context("%s", text);
	if (loud)
		note("%s", text);
}

void judge(enum kind kind, bool good, bool expected)
{
	if (good != expected)
		FAIL("%s (errno %d)", good ? "succeeded" : "failed", errno);
	good ? counts->done[kind]++ : counts->refused[kind]++;
}

void list_make(struct list *list, const uint8_t *weights)
{
	uint64_t state = list->seed, sum = 0;
	size_t i, k, n;

	for (k = 0; k < KINDS; k++)
		sum += weights[k];
	for (i = 0; i < list->count; i++) {
		struct call *call = &list->calls[i];

		*call = (struct call){};
		k = rnd_next(&state) % sum;
		while (k >= weights[call->kind])
			k -= weights[call->kind++];
		for (n = 0; n < NUMBERS; n++)
			call->r[n] = rnd_next(&state);
	}
}

/*
 * Is memory left alone after such a call? Looking at it would make its pages present, and the
 * device is to be the first to touch some of them.
 */
static bool leaves_pages_missing(enum kind kind)
{
	return kind == DROP || kind == MAP || kind == PUNCH || kind == REMAP ||
	       kind == MOVE;
}

static void play(const struct list *list)
{
	size_t i;

	region_set_up(list->special);
	memory_set_up(list->special);
	window_set_up();
	message_set_up();
	for (i = 0; i < list->count; i++) {
		const struct call *call = &list->calls[i];

		if (call->left_out)
			continue;
		functions[call->kind](call->r);
		if (!leaves_pages_missing(call->kind))
			memory_check();
	}
	message_look_all();
	tell("the end");
	memory_check();
	memory_check_exporter();
}

static void play_list(void *arg)
{
	struct list *list = arg;

	if (list->silent)
		be_silent();
	rnd_seed(list->seed);
	device_open();
	play(list);
}

bool list_fails(struct list *list)
{
	return reap(spawn(play_list, list));
}

/* Try without the calls [@at, @at + @count). Returns whether any were left out for good. */
static bool leave_out(struct list *list, size_t at, size_t count)
{
	bool was[CALLS], any = false;
	size_t i;

	for (i = at; i < at + count && i < list->count; i++) {
		was[i - at] = list->calls[i].left_out;
		any |= !was[i - at];
		list->calls[i].left_out = true;
	}
	if (!any || list_fails(list))
		return any;
	for (i = at; i < at + count && i < list->count; i++)
		list->calls[i].left_out = was[i - at];
	return false;
}

/*
 * Halves, quarters, ... single calls; and single ones again while that helps, since a call may be
 * needed only by one that came later and is left out now.
 */
size_t list_shorten(struct list *list)
{
	size_t piece, at, i, left = 0;
	bool again = true;

	list->silent = true;
	for (piece = list->count / 2; piece > 1; piece /= 2)
		for (at = 0; at < list->count; at += piece)
			leave_out(list, at, piece);
	while (again) {
		again = false;
		for (at = 0; at < list->count; at++)
			again |= leave_out(list, at, 1);
	}
	for (i = 0; i < list->count; i++)
		left += !list->calls[i].left_out;
	list->silent = false;
	return left;
}
