// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random calls against a model of what they mean (items MO1 to MO5): regions of all kinds over the
 * same memory, changed and ended; memory that is unmapped, protected, replaced and moved under
 * them; windows; messages in several domains. The model says which call succeeds, which status and
 * syndrome a message completes with, and what each byte is. A list that fails is shortened to the
 * calls it takes, and these are printed. With rdma_rxe the same lists are carried out, but for
 * what that lacks.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "model.h"

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
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(counts != MAP_FAILED);
	for (lists = 0; go_on(end, lists >= 3 && seen_all(mixture)); lists++) {
		list_make(&list, mixture->weights);
		if (list_fails(&list))
			explain(&list, mixture);
		list.seed++;
	}
	note("%u lists of %d calls", lists, CALLS);
	seen_tell(mixture);
	CHECK(seen_all(mixture));
}

static const struct mixture with_regions = {
	.item = "MO1",
	.weights = { [REG] = 6,
		     [DEREG] = 2,
		     [REREG] = 3,
		     [MESSAGE] = 12,
		     [SEND] = 8,
		     [FLUSH] = 2,
		     [BREAK] = 1,
		     [ALLOC_PD] = 1,
		     [DEALLOC_PD] = 1,
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
		     [SEND] = 6,
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
		     [SEND] = 10,
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
		     [SEND] = 10,
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

static const struct mixture with_queues = {
	.item = "MO5",
	.weights = { [REG] = 8,
		     [DEREG] = 3,
		     [REREG] = 3,
		     [BIND] = 6,
		     [INVALIDATE] = 1,
		     [MESSAGE] = 8,
		     [SEND] = 16,
		     [FLUSH] = 5,
		     [BREAK] = 4,
		     [RELINK] = 2,
		     [ALLOC_PD] = 2,
		     [DEALLOC_PD] = 2,
		     [LOOK] = 1,
		     [UNMAP] = 1,
		     [MAP] = 2,
		     [PROTECT] = 1 },
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
	LONG_TEST_WITH(against_the_model, &with_queues,
		       "MO5 messages, queue pairs and domains against a model",
		       120),
};

HARNESS_MAIN("Random calls against a model", tests)
