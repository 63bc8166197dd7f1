/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Injected failures, for tests. In a debugfs file root orders what is to fail, for which process or
 * object, and how often. At each place that can fail, the driver calls pinion_inject(), which is a
 * branch of a static key while there are no orders. Does not need CONFIG_FAULT_INJECTION.
 */
#ifndef PINION_MEM_INJECT_H
#define PINION_MEM_INJECT_H

#include <linux/jump_label.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/types.h>

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
	/* Queue pairs, when a request is begun or a message is sent. */
	PINION_INJECT_STATUS,		/* the request fails and is not performed */
	PINION_INJECT_FATAL,		/* the queue pair breaks */
	PINION_INJECT_LATE,		/* the request is performed later */
	PINION_INJECT_LOSS,		/* the message, or one packet, is lost */
	PINION_INJECT_RNR,		/* the peer answers that it is not ready (reliable) */
	PINION_INJECT_OVERFLOW,		/* the completion queue is full for its completion */
	PINION_INJECT_NUM_KINDS
};

struct dentry;

DECLARE_STATIC_KEY_FALSE(pinion_injecting);

int pinion_inject_ask(enum pinion_inject_kind kind, pid_t pid, u32 number);

/*
 * Is a failure of @kind ordered for process @pid (0: the kernel) and the key or queue pair @number
 * (0: none yet)? Any context. Return: 0: no; else the order's value: a positive errno, a status, or
 * microseconds; 1 for kinds without a value.
 */
static inline int pinion_inject(enum pinion_inject_kind kind, pid_t pid, u32 number)
{
	if (!static_branch_unlikely(&pinion_injecting))
		return 0;
	return pinion_inject_ask(kind, pid, number);
}

/* The same in a system call of the process in question. */
static inline int pinion_inject_here(enum pinion_inject_kind kind)
{
	return pinion_inject(kind, task_tgid_nr(current), 0);
}

/* Execute one line of the file, without the newline. Modifies @line. Return: 0 or -errno. */
int pinion_inject_order(char *line);
/* Remove all orders. */
void pinion_inject_clear(void);

/* The file `inject' below @root. */
void pinion_inject_add_file(struct dentry *root);

#endif
