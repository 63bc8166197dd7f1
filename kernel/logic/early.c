// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The runs of packets that came early. Most come in order, so the place of a new one is looked for
 * from the end.
 */
#include <linux/minmax.h>

#include "early.h"
#include "psn.h"

/* The number behind @run. */
static u32 early_end(const struct pinion_run *run)
{
	return pinion_psn_add(run->psn, run->numbers);
}

bool pinion_early_add(struct pinion_early *early, struct pinion_run *run, u32 expected, u32 *gap)
{
	struct pinion_run *before, *after;
	u32 begin = expected, most;
	struct list_head *node;

	if (!pinion_psn_within(run->psn, expected, PINION_EARLY_WINDOW))
		return false;
	for (node = early->runs.prev; node != &early->runs; node = node->prev) {
		before = list_entry(node, struct pinion_run, node);
		if (pinion_psn_ahead(before->psn, run->psn) > 0)
			continue;
		if (pinion_psn_ahead(early_end(before), run->psn) > 0)
			return false;
		if (pinion_psn_ahead(early_end(before), begin) > 0)
			begin = early_end(before);
		break;
	}
	most = PINION_EARLY_WINDOW - pinion_psn_ahead(run->psn, expected);
	if (node->next != &early->runs) {
		after = list_entry(node->next, struct pinion_run, node);
		most = min_t(u32, most, pinion_psn_ahead(after->psn, run->psn));
	}
	run->numbers = min(run->numbers, most);
	list_add(&run->node, node);
	*gap = begin;
	return true;
}

bool pinion_early_is_due(const struct pinion_run *run, u32 expected)
{
	return pinion_psn_ahead(run->psn, expected) <= 0;
}

bool pinion_early_is_over(const struct pinion_run *run, u32 expected)
{
	return pinion_psn_ahead(early_end(run), expected) <= 0;
}
