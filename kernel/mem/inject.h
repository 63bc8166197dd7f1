/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Injected failures, for tests. In a debugfs file root orders what is to fail, for which process or
 * object, and how often. At each place that can fail, the driver calls pinion_inject(), which is a
 * branch of a static key while there are no orders. Sizes can be made smaller in the same way, so
 * that small buffers cross limits. Does not need CONFIG_FAULT_INJECTION; with it, there are also
 * its attributes (inject_attr.h).
 */
#ifndef PINION_MEM_INJECT_H
#define PINION_MEM_INJECT_H

#include <linux/jump_label.h>
#include <linux/minmax.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/types.h>

#include "gate.h"

enum pinion_inject_kind {
	/* System calls; the value is the errno that a step returns. */
	PINION_INJECT_PIN,		/* pinning memory of a region or DEVX umem */
	PINION_INJECT_WATCH,		/* setting up an on-demand region */
	PINION_INJECT_TABLE,		/* making a translation table */
	PINION_INJECT_KEY,		/* allocating a key */
	PINION_INJECT_COPY_OUT,		/* copying the driver's part of an answer to the user */
	PINION_INJECT_ATTACH,		/* attaching to a dma-buf */
	PINION_INJECT_MAP,		/* mapping of a dma-buf by its exporter, each time */
	/* Regions. */
	PINION_INJECT_FAULT,		/* a fault for missing pages fails */
	PINION_INJECT_FAULT_DELAY,	/* such a fault takes longer */
	PINION_INJECT_INVALIDATE,	/* pages that a message finds are invalidated first */
	/* Sizes; the value is the largest. */
	PINION_INJECT_LEAF,		/* entries of a leaf of a new table */
	PINION_INJECT_SPAN,		/* pages of a child of a new on-demand region */
	PINION_INJECT_BATCH,		/* blocks that one fault brings */
	PINION_INJECT_STRETCH,		/* bytes copied before the gates are left */
	/* Queue pairs, when a request is begun or a message is sent. */
	PINION_INJECT_STATUS,		/* the request fails and is not performed */
	PINION_INJECT_FATAL,		/* the queue pair breaks */
	PINION_INJECT_LATE,		/* the request is performed later */
	PINION_INJECT_LOSS,		/* the message, or one packet, is lost */
	PINION_INJECT_CORRUPT,		/* a packet has a wrong ICRC */
	PINION_INJECT_DUPLICATE,	/* a packet is sent twice */
	PINION_INJECT_REORDER,		/* a packet is sent behind the next one */
	PINION_INJECT_RNR,		/* the peer answers that it is not ready (reliable) */
	PINION_INJECT_OVERFLOW,		/* the completion queue is full for its completion */
	PINION_INJECT_HOLD,		/* its completion is written later */
	PINION_INJECT_NUM_KINDS
};

/* What the answer of PINION_INJECT_RNR says: try again in 0.64 ms. */
#define PINION_INJECTED_RNR_TIMER	12

/* The value of PINION_INJECT_HOLD that means: until the order is removed. */
#define PINION_INJECT_FOREVER	INT_MAX

/* The name of a kind, and the default and the limits of its value. */
struct pinion_inject_info {
	const char *name;
	u32 usual;
	u32 most;
	u32 least;			/* 0 is 1 */
};

struct dentry;
struct pinion_keys;
struct wait_queue_entry;

DECLARE_STATIC_KEY_FALSE(pinion_injecting);

const struct pinion_inject_info *pinion_inject_info(enum pinion_inject_kind kind);

int pinion_inject_ask(enum pinion_inject_kind kind, pid_t pid, u32 number);

/*
 * Is a failure of @kind ordered for process @pid (0: the kernel) and the key or queue pair @number
 * (0: none yet)? Any context. Return: 0: no; else its value: a positive errno, a status,
 * microseconds or a size; 1 for kinds without a value.
 */
static inline int pinion_inject(enum pinion_inject_kind kind, pid_t pid, u32 number)
{
	if (!static_branch_unlikely(&pinion_injecting))
		return 0;
	return pinion_inject_ask(kind, pid, number);
}

/*
 * Is there still an order of @kind for this target, due or not? Does not count as a match. Any
 * context.
 */
bool pinion_inject_lasts(enum pinion_inject_kind kind, pid_t pid, u32 number);

/*
 * For who keeps something because of an order, and not only fails at once: pinion_injecting stays
 * on until he has let go. Whenever orders were removed, @entry->func is called, and looks by
 * pinion_inject_lasts() whether the order is gone. The order is asked for and kept in one RCU
 * read-side section. Any context.
 */
void pinion_inject_keep(struct wait_queue_entry *entry);
void pinion_inject_let_go(struct wait_queue_entry *entry);

/* Have pinion_injecting on, or not any more, for other reasons than orders. Sleeps. */
void pinion_inject_use(bool on);

/* The same in a system call of the process in question. */
static inline int pinion_inject_here(enum pinion_inject_kind kind)
{
	return pinion_inject(kind, task_tgid_nr(current), 0);
}

/* Return: @size, or less if that is ordered. @kind is one of the sizes. */
static inline u32 pinion_inject_size(enum pinion_inject_kind kind, pid_t pid, u32 number,
				     u32 size)
{
	u32 ordered = pinion_inject(kind, pid, number);

	return ordered && ordered < size ? ordered : size;
}

/* Bytes to copy before the gates are left: PINION_STRETCH, or less. */
static inline u32 pinion_stretch(void)
{
	return pinion_inject_size(PINION_INJECT_STRETCH, task_tgid_nr(current), 0, PINION_STRETCH);
}

/* A run counts as so many bytes of a stretch at least, since finding it takes time, too. */
#define PINION_STRETCH_RUN	1024

/* What is left of @stretch after a run of @bytes. */
static inline u64 pinion_stretch_after(u64 stretch, u64 bytes)
{
	return stretch - min_t(u64, stretch, max_t(u64, bytes, PINION_STRETCH_RUN));
}

/*
 * Execute one line of the file, without the newline. Modifies @line. When orders were removed, what
 * was kept because of them is let go before this returns, unless others remain. Return: 0 or
 * -errno. Sleeps.
 */
int pinion_inject_order(char *line);
/* Remove all orders. */
void pinion_inject_clear(void);

/*
 * inject_pages.c: take the pages of @length bytes (0: all) from @offset on away from the region
 * that has this key. Return: 0; -ENOENT: no region has the key; -ERANGE; -EOPNOTSUPP: the pages
 * cannot come again; -EBUSY: a fault brings one of them, and does not end. Sleeps; in no gate.
 */
int pinion_inject_invalidate(struct pinion_keys *keys, u32 value, u64 offset, u64 length);

/* The file `inject' below @root. */
void pinion_inject_add_file(struct dentry *root);

#endif
