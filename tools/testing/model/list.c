// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lists of calls: made of random numbers, carried out, and shortened when they fail.
 */
#define _GNU_SOURCE
#include <stdarg.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "model.h"
#include "raw.h"

struct counts *counts;
bool loud;

static const struct {
	const char *name;
	void (*function)(const uint32_t *n);
} kinds[KINDS] = {
	[REG] = { "reg", call_reg },
	[DEREG] = { "dereg", call_dereg },
	[REREG] = { "rereg", call_rereg },
	[BIND] = { "bind", call_bind },
	[INVALIDATE] = { "invalidate", call_invalidate },
	[MESSAGE] = { "message", call_message },
	[SEND] = { "send", call_send },
	[FLUSH] = { "flush", call_flush },
	[BREAK] = { "break", call_break },
	[RELINK] = { "relink", call_relink },
	[ALLOC_PD] = { "alloc_pd", call_alloc_pd },
	[DEALLOC_PD] = { "dealloc_pd", call_dealloc_pd },
	[LOOK] = { "look", call_look },
	[ADVISE] = { "advise", call_advise },
	[POKE] = { "poke", call_poke },
	[DROP] = { "drop", call_drop },
	[UNMAP] = { "unmap", call_unmap },
	[MAP] = { "map", call_map },
	[PROTECT] = { "protect", call_protect },
	[REMAP] = { "remap", call_remap },
	[PUNCH] = { "punch", call_punch },
	[MOVE] = { "move", call_move },
	[TAKE] = { "take", call_take },
};

const char *kind_name(enum kind kind)
{
	return kinds[kind].name;
}

void tell(const char *fmt, ...)
{
	char text[600];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	context("%s", text);
	if (loud)
		note("%s", text);
}

void judge_good(enum kind kind, bool good, bool expected)
{
	if (good != expected)
		FAIL("%s (errno %d)", good ? "succeeded" : "failed", errno);
	good ? counts->done[kind]++ : counts->refused[kind]++;
}

void judge(enum kind kind, int err, int expected)
{
	if (err != expected && (dev.pinion || !err || !expected))
		FAIL("its errno is %d, not %d", err, expected);
	counts->errnos[kind][err < ERRNOS ? err : 0]++;
	judge_good(kind, !err, !expected);
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

/* At the end of the process its queue pairs may go before the windows that are bound to them. */
static void leave_windows(void)
{
	int link;

	if (other_lacks(LACK_WINDOW_QUEUE))
		for (link = 0; link < LINKS; link++)
			window_leave(link);
}

static void play(const struct list *list)
{
	size_t i;

	if (!dev.pinion)
		raw_driver = RDMA_DRIVER_RXE;
	domain_set_up();
	region_set_up(list->special);
	memory_set_up(list->special);
	link_set_up();
	window_set_up();
	look_set_up();
	for (i = 0; i < list->count; i++) {
		const struct call *call = &list->calls[i];

		if (call->left_out)
			continue;
		kinds[call->kind].function(call->r);
		if (!leaves_pages_missing(call->kind))
			memory_check();
	}
	look_at_all();
	tell("the end");
	memory_check();
	memory_check_exporter();
	leave_windows();
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
