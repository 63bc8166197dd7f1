/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets that wait for one half of a queue pair, in the order they came. How many they may be is
 * of the queue pair and of its user, so that nobody's packets keep out another's; what comes
 * beyond that is lost, as networks lose it.
 */
#ifndef PINION_WIRE_LINE_H
#define PINION_WIRE_LINE_H

#include <linux/skbuff.h>

struct pinion_line {
	struct sk_buff_head buffers;
	u32 next;			/* which packet of the first buffer; of who has the half */
	/* Under its lock: */
	bool open;			/* to what arrives */
	u32 bytes;
	atomic_t *share;		/* bytes in all lines of its user, or NULL */
};

/* It is closed. @share outlives it. */
void pinion_line_init(struct pinion_line *line, atomic_t *share);

/* Any context. Return: whether @skb is in it, and charged to it alone. */
bool pinion_line_add(struct pinion_line *line, struct sk_buff *skb);

/* By who has the half: the buffer that packet line->next is of, or NULL. */
struct sk_buff *pinion_line_look(struct pinion_line *line);
/* So many of its packets are over. */
void pinion_line_pass(struct pinion_line *line, u32 packets);

static inline bool pinion_line_waits(const struct pinion_line *line)
{
	return !skb_queue_empty_lockless(&line->buffers);
}

/* What is in it is forgotten. By who has the half. */
void pinion_line_forget(struct pinion_line *line);
/* That, and nothing comes into it until it is opened. */
void pinion_line_close(struct pinion_line *line);
void pinion_line_open(struct pinion_line *line);

#endif
