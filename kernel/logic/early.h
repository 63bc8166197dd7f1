/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets that came early, while others before them are missing: what is known of them, as runs of
 * consecutive numbers (PSNs). The caller has the packets, and takes them when it is their turn.
 */
#ifndef PINION_LOGIC_EARLY_H
#define PINION_LOGIC_EARLY_H

#include <linux/list.h>
#include <linux/types.h>

/* Only numbers less than this ahead of the next expected one: an honest peer sends no others. */
#define PINION_EARLY_WINDOW	256

struct pinion_run {
	struct list_head node;
	u32 psn;			/* of its first packet */
	u32 numbers;			/* at least 1 */
};

/*
 * The runs of one half of a connection, under its lock: sorted, and no two have a number in common.
 */
struct pinion_early {
	struct list_head runs;
};

static inline void pinion_early_init(struct pinion_early *early)
{
	INIT_LIST_HEAD(&early->runs);
}

/*
 * Add @run, whose psn and numbers are set. If the last of them are known already, its numbers
 * become fewer. *@gap is set to the first of the missing numbers before it, to @run's own if there
 * are none. Return: false if its first number is known, or outside of the window that begins with
 * @expected.
 */
bool pinion_early_add(struct pinion_early *early, struct pinion_run *run, u32 expected, u32 *gap);

static inline void pinion_early_remove(struct pinion_run *run)
{
	list_del(&run->node);
}

/* The run with the lowest numbers, or NULL. */
static inline struct pinion_run *pinion_early_first(const struct pinion_early *early)
{
	if (list_empty(&early->runs))
		return NULL;
	return list_first_entry(&early->runs, struct pinion_run, node);
}

/* Is it the turn of @run's packets, or past? */
bool pinion_early_is_due(const struct pinion_run *run, u32 expected);
/* Is it past the turn of all of them? */
bool pinion_early_is_over(const struct pinion_run *run, u32 expected);

#endif
