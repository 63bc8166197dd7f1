// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random calls against a model of what they mean (items MO1 to MO4): regions of all kinds over the
 * same memory, changed and ended; memory that is unmapped, protected, replaced and moved under
 * them; windows; messages in several domains. The model says which call succeeds, which status and
 * syndrome a message completes with, and what each byte is. A list that fails is shortened to the
 * calls it takes, and these are printed. With rdma_rxe the same lists are carried out, but for
 * what that lacks.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "model.h"

/* A test: how often each kind of call comes, and whether there are regions of all kinds. */
struct mixture {
	const char *item;
	bool special;
	uint8_t weights[KINDS];
};

/* Have those that can be refused been so? */
static bool can_be_refused(const struct mixture *mixture, enum kind kind)
{
	switch (kind) {
	case REG:
	case REREG:
	case BIND:
	case MESSAGE:
		return true;
	case ADVISE:
		/* What rxe would refuse is mostly left out. */
		return dev.pinion;
	case DEREG:
		return mixture->weights[BIND];
	default:
		return false;
	}
}

/* Calls of this kind cannot be made here. */
static bool is_missing(const struct mixture *mixture, enum kind kind)
{
	if (!mixture->weights[kind])
		return true;
	return (kind == MOVE || kind == TAKE) &&
	       !dmabuf_there(&dmabuf_kinds[4]);
}

static bool special_seen(void)
{
	bool implicit = dev.attr.odp_caps.general_caps &
			IBV_ODP_SUPPORT_IMPLICIT;

	return (!implicit || counts->kinds[REGION_IMPLICIT]) &&
	       counts->kinds[REGION_NULL] &&
	       (!dev.attr.max_dm_size || counts->kinds[REGION_DEVICE]) &&
	       (!dmabuf_there(&dmabuf_kinds[4]) ||
		(counts->kinds[REGION_DMABUF] && counts->away &&
		 counts->moved));
}

/*
 * Of a pinion device each reason is known: has each been met? Rights are rarely what a message
 * lacks at its own side.
 */
static bool refusals_seen(const struct mixture *mixture)
{
	const unsigned int *own = counts->why[0], *other = counts->why[1];

	return own[PINION_SYN_KEY_UNKNOWN] && own[PINION_SYN_KEY_RANGE] &&
	       other[PINION_SYN_KEY_UNKNOWN] && other[PINION_SYN_KEY_RIGHTS] &&
	       other[PINION_SYN_KEY_RANGE] &&
	       (!mixture->weights[BIND] || other[PINION_SYN_KEY_STATE]);
}

/* Messages of each operation have come, and the key of a window was refused, and was not. */
static bool messages_seen(const struct mixture *mixture)
{
	size_t i;

	for (i = 0; i < MESSAGE_OPS; i++)
		if (!counts->ops[i])
			return false;
	return !mixture->weights[BIND] ||
	       (counts->by_window[false] && counts->by_window[true]);
}

/*
 * Each call has succeeded at least once, and failed if it has a reason to; messages have met pages
 * that were not there, and pages that were pinned and then replaced.
 */
static bool all_seen(const struct mixture *mixture)
{
	enum kind kind;

	for (kind = 0; kind < KINDS; kind++) {
		if (is_missing(mixture, kind))
			continue;
		if (!counts->done[kind] ||
		    (can_be_refused(mixture, kind) && !counts->refused[kind]))
			return false;
	}
	if (!messages_seen(mixture) || (mixture->special && !special_seen()) ||
	    (dev.pinion && !refusals_seen(mixture)))
		return false;
	return !mixture->weights[UNMAP] ||
	       (counts->local_faults && counts->remote_faults && counts->gone);
}

static void tell_counts(const struct mixture *mixture)
{
	enum kind kind;

	for (kind = 0; kind < KINDS; kind++)
		if (mixture->weights[kind])
			note("%s: %u done, %u refused", kind_names[kind],
			     counts->done[kind], counts->refused[kind]);
	note("writes: %u, reads: %u, additions: %u, swaps: %u; by windows: %u, refused: %u",
	     counts->ops[0], counts->ops[1], counts->ops[2], counts->ops[3],
	     counts->by_window[true], counts->by_window[false]);
	note("refused: %u unknown, %u rights, %u range; at the other side %u, %u, %u, %u by windows' states",
	     counts->why[0][PINION_SYN_KEY_UNKNOWN],
	     counts->why[0][PINION_SYN_KEY_RIGHTS],
	     counts->why[0][PINION_SYN_KEY_RANGE],
	     counts->why[1][PINION_SYN_KEY_UNKNOWN],
	     counts->why[1][PINION_SYN_KEY_RIGHTS],
	     counts->why[1][PINION_SYN_KEY_RANGE],
	     counts->why[1][PINION_SYN_KEY_STATE]);
	note("dma-bufs that were away: %u, had moved: %u", counts->away,
	     counts->moved);
	note("pages missing at their own side: %u, at the other: %u; not seen by the process: %u",
	     counts->local_faults, counts->remote_faults, counts->gone);
	other_tell();
}

/* Print the calls that are enough for the failure, and how to have them again. */
static void explain(struct list *list, const struct mixture *mixture)
{
	note("%zu calls are enough:", list_shorten(list));
	loud = true;
	list_fails(list);
	note("this list first: --only %s --seed %#llx", mixture->item,
	     (unsigned long long)list->seed);
	FAIL("the model knows better");
}

/* Random calls, mixed as @argument says, have the results that a model predicts. */
static void against_the_model(const void *argument)
{
	const struct mixture *mixture = argument;
	static struct call calls[CALLS];
	struct list list = { .calls = calls,
			     .count = CALLS,
			     .seed = opt.seed,
			     .special = mixture->special };
	double end = now() + opt.seconds;
	unsigned int lists;

	need_odp();
	if (!other_known())
		skip("other devices refuse other things");
	if (mixture->special && !dev.pinion)
		skip("rxe has regions of memory of the process only");
	counts = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(counts != MAP_FAILED);
	for (lists = 0; go_on(end, lists >= 3 && all_seen(mixture)); lists++) {
		list_make(&list, mixture->weights);
		if (list_fails(&list))
			explain(&list, mixture);
		list.seed++;
	}
	note("%u lists of %d calls", lists, CALLS);
	tell_counts(mixture);
	CHECK(all_seen(mixture));
}

static const struct mixture with_regions = {
	.item = "MO1",
	.weights = { [REG] = 6,
		     [DEREG] = 2,
		     [REREG] = 3,
		     [MESSAGE] = 12,
		     [LOOK] = 1,
		     [POKE] = 1,
		     [DROP] = 1 },
};

static const struct mixture with_windows = {
	.item = "MO2",
	.weights = { [REG] = 6,
		     [DEREG] = 2,
		     [REREG] = 2,
		     [BIND] = 6,
		     [INVALIDATE] = 2,
		     [MESSAGE] = 12,
		     [POKE] = 1,
		     [DROP] = 1 },
};

static const struct mixture with_mappings = {
	.item = "MO3",
	.weights = { [REG] = 8,
		     [DEREG] = 2,
		     [REREG] = 3,
		     [BIND] = 4,
		     [INVALIDATE] = 1,
		     [MESSAGE] = 22,
		     [LOOK] = 2,
		     [ADVISE] = 2,
		     [POKE] = 1,
		     [DROP] = 1,
		     [UNMAP] = 1,
		     [MAP] = 2,
		     [PROTECT] = 3,
		     [REMAP] = 1,
		     [PUNCH] = 1 },
};

static const struct mixture with_all_kinds = {
	.item = "MO4",
	.special = true,
	.weights = { [REG] = 8,
		     [DEREG] = 2,
		     [REREG] = 3,
		     [BIND] = 4,
		     [INVALIDATE] = 1,
		     [MESSAGE] = 24,
		     [LOOK] = 2,
		     [ADVISE] = 1,
		     [POKE] = 1,
		     [DROP] = 1,
		     [UNMAP] = 1,
		     [MAP] = 2,
		     [PROTECT] = 2,
		     [REMAP] = 1,
		     [PUNCH] = 1,
		     [MOVE] = 2,
		     [TAKE] = 1 },
};

static const struct test tests[] = {
	LONG_TEST_WITH(against_the_model, &with_regions,
		       "MO1 regions against a model", 120),
	LONG_TEST_WITH(against_the_model, &with_windows,
		       "MO2 regions and windows against a model", 120),
	LONG_TEST_WITH(against_the_model, &with_mappings,
		       "MO3 memory that changes under regions, against a model",
		       120),
	LONG_TEST_WITH(against_the_model, &with_all_kinds,
		       "MO4 regions of all kinds against a model", 120),
};

HARNESS_MAIN("Random calls against a model", tests)
