/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Lines: packets that wait for one half of a queue pair, in the order of their arrival. They are
 * limited per line and per user, so that packets for one user cannot use up the memory for
 * others. More packets are dropped, as a network may drop them.
 */
#ifndef PINION_WIRE_LINE_H
#define PINION_WIRE_LINE_H

#include <linux/skbuff.h>

struct pinion_line {
	struct sk_buff_head buffers;
	u32 next;			/* next packet of the first buffer; the owner's */
	/* Protected by buffers.lock: */
	bool open;			/* accepts packets */
	u32 bytes;
	atomic64_t *share;		/* pinion_qp.waiting of the queue pair */
};

/*
 * "The owner" below is the holder of the lock of that half of the queue pair: sq.exec for answers,
 * resp.lock for requests.
 */

/* The line is closed at first. @share must outlive it. */
void pinion_line_init(struct pinion_line *line, atomic64_t *share);

/* Add @skb, any context. Return: whether it was added; then it is charged to the line only. */
bool pinion_line_add(struct pinion_line *line, struct sk_buff *skb);

/* By the owner: the first buffer, which has packet line->next, or NULL. */
struct sk_buff *pinion_line_look(struct pinion_line *line);
/* By the owner: @packets have been processed. Frees the buffer after its last one. */
void pinion_line_pass(struct pinion_line *line, u32 packets);

static inline bool pinion_line_waits(const struct pinion_line *line)
{
	return !skb_queue_empty_lockless(&line->buffers);
}

/* By the owner: drop all packets. Return: how many. */
u32 pinion_line_forget(struct pinion_line *line);
/* Likewise, and accept none until the line is opened. */
u32 pinion_line_close(struct pinion_line *line);
void pinion_line_open(struct pinion_line *line);

#endif
