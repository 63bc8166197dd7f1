/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Delays for tests, at places where others must wait for us. A bug by which somebody does not wait
 * shows once in a million times; if we stay there for milliseconds it shows each time. Set by root
 * in debugfs. Compiled only with CONFIG_FAULT_INJECTION.
 */
#ifndef PINION_MEM_DWELL_H
#define PINION_MEM_DWELL_H

enum pinion_dwell_at {
	PINION_DWELL_COPY,	/* inside the gates of a copy, with its addresses translated */
	PINION_DWELL_CHILD,	/* inside a gate, a child of an implicit region was found */
	PINION_DWELL_PEER,	/* a peer's queue pair is visited */
	PINION_DWELL_REAP,	/* children that may be empty are still found; may sleep */
	PINION_DWELL_OWNER,	/* in query_qp, with both locks of a queue pair held; may sleep */
	PINION_DWELL_NUM_PLACES
};

struct dentry;

#ifdef CONFIG_FAULT_INJECTION

void pinion_dwell(enum pinion_dwell_at place);

/* Files below @root: microseconds for each place, and how many threads are delayed there now. */
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
