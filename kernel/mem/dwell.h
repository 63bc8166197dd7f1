/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Stays for a while at places where something is held that somebody else has to wait for.
 * Whoever does not wait is met there once in a million times, and each time if the place is
 * held for milliseconds. For tests, by root, in debugfs; no code at all in a kernel
 * without fault injection.
 */
#ifndef PINION_MEM_DWELL_H
#define PINION_MEM_DWELL_H

enum pinion_dwell_at {
	PINION_DWELL_COPY,	/* in all gates that a copy needs, its addresses known */
	PINION_DWELL_CHILD,	/* in a gate, a child of an implicit region found */
	PINION_DWELL_PEER,	/* a queue pair found that is another's; may sleep */
	PINION_DWELL_NUM_PLACES
};

struct dentry;

#ifdef CONFIG_FAULT_INJECTION

void pinion_dwell(enum pinion_dwell_at place);

/* Below @root: for each place the microseconds, and how many dwell just now. */
void pinion_dwell_add_files(struct dentry *root);

#else

static inline void pinion_dwell(enum pinion_dwell_at place)
{
}

static inline void pinion_dwell_add_files(struct dentry *root)
{
}

#endif

#endif
