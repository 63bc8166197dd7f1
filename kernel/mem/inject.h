/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Failures by order: root says in a file of debugfs what is to fail, whose, and which time; at
 * the places where it may fail by itself the driver asks here. Costs a branch that is not
 * taken while nothing is ordered. Works without the kernel's own fault injection.
 */
#ifndef PINION_MEM_INJECT_H
#define PINION_MEM_INJECT_H

#include <linux/jump_label.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/types.h>

enum pinion_inject_kind {
	/* of a call: what is returned */
	PINION_INJECT_PIN,		/* memory of a region or DEVX umem is pinned */
	PINION_INJECT_WATCH,		/* memory of an on-demand region is watched */
	PINION_INJECT_TABLE,		/* a table is made */
	PINION_INJECT_KEY,		/* a key is made */
	PINION_INJECT_COPY_OUT,		/* the driver's part of an answer goes to its user */
	PINION_INJECT_ATTACH,		/* a dma-buf is attached */
	PINION_INJECT_MAP,		/* its exporter maps it, the first time or again */
	/* of a region */
	PINION_INJECT_FAULT,		/* its pages are brought */
	PINION_INJECT_FAULT_DELAY,	/* the same, later */
	/* of a queue pair: as its next request is begun, or a message leaves */
	PINION_INJECT_STATUS,		/* it fails, and is not performed */
	PINION_INJECT_FATAL,		/* the queue pair breaks */
	PINION_INJECT_LATE,		/* it is performed later */
	PINION_INJECT_LOSS,		/* the message, or one packet, reaches nobody */
	PINION_INJECT_RNR,		/* the peer of a reliable one is not ready to receive */
	PINION_INJECT_OVERFLOW,		/* a completion of it finds its queue full */
	PINION_INJECT_NUM_KINDS
};

struct dentry;

DECLARE_STATIC_KEY_FALSE(pinion_injecting);

int pinion_inject_ask(enum pinion_inject_kind kind, pid_t pid, u32 number);

/*
 * Is the thing to fail, for process @pid (0: the kernel) and the key or queue pair @number (0:
 * it has none yet)? Any context. Return: 0, or how: a positive errno, a status, or microseconds;
 * of kinds that need no more, 1.
 */
static inline int pinion_inject(enum pinion_inject_kind kind, pid_t pid, u32 number)
{
	if (!static_branch_unlikely(&pinion_injecting))
		return 0;
	return pinion_inject_ask(kind, pid, number);
}

/* In a call of the process that it is about. */
static inline int pinion_inject_here(enum pinion_inject_kind kind)
{
	return pinion_inject(kind, task_tgid_nr(current), 0);
}

/* One line of the file, without its end. Return: 0 or a negative errno. Changes @line. */
int pinion_inject_order(char *line);
/* Nothing fails by order any more. */
void pinion_inject_clear(void);

/* The file `inject' below @root. */
void pinion_inject_add_file(struct dentry *root);

#endif
