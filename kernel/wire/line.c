// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lines of packets, and their limits.
 */
#include "line.h"
#include "wire.h"

#define LINE_PACKETS	512
#define LINE_BYTES	(4 << 20)
/* What each line may have even beyond the limit of its user (PINION_MAX_WAITING). */
#define LINE_FLOOR	(64 << 10)

void pinion_line_init(struct pinion_line *line, atomic64_t *share)
{
	skb_queue_head_init(&line->buffers);
	line->next = 0;
	line->open = false;
	line->bytes = 0;
	line->share = share;
}

/* buffers.lock is held, here and in the next two functions. */
static void line_charge(struct pinion_line *line, const struct sk_buff *skb)
{
	line->bytes += skb->truesize;
	pinion_waiting_add(line->share, skb->truesize);
}

static void line_uncharge(struct pinion_line *line, const struct sk_buff *skb)
{
	line->bytes -= skb->truesize;
	pinion_waiting_add(line->share, -(s64)skb->truesize);
}

static bool line_has_room(const struct pinion_line *line)
{
	if (!line->open || skb_queue_len(&line->buffers) >= LINE_PACKETS ||
	    line->bytes >= LINE_BYTES)
		return false;
	return pinion_waiting_allows(line->share, line->bytes < LINE_FLOOR);
}

bool pinion_line_add(struct pinion_line *line, struct sk_buff *skb)
{
	unsigned long flags;
	bool added;

	/* Uncharge the socket. */
	skb_orphan(skb);
	spin_lock_irqsave(&line->buffers.lock, flags);
	added = line_has_room(line);
	if (added) {
		line_charge(line, skb);
		__skb_queue_tail(&line->buffers, skb);
	}
	spin_unlock_irqrestore(&line->buffers.lock, flags);
	return added;
}

static struct sk_buff *line_take(struct pinion_line *line)
{
	unsigned long flags;
	struct sk_buff *skb;

	spin_lock_irqsave(&line->buffers.lock, flags);
	skb = __skb_dequeue(&line->buffers);
	if (skb)
		line_uncharge(line, skb);
	spin_unlock_irqrestore(&line->buffers.lock, flags);
	return skb;
}

struct sk_buff *pinion_line_look(struct pinion_line *line)
{
	unsigned long flags;
	struct sk_buff *skb;

	if (!pinion_line_waits(line))
		return NULL;
	spin_lock_irqsave(&line->buffers.lock, flags);
	skb = skb_peek(&line->buffers);
	spin_unlock_irqrestore(&line->buffers.lock, flags);
	return skb;
}

void pinion_line_pass(struct pinion_line *line, u32 packets)
{
	struct sk_buff *skb = pinion_line_look(line);

	/* The caller may have dropped all packets while it processed this one. */
	if (!skb)
		return;
	line->next += packets;
	if (line->next < pinion_wire_packets(skb))
		return;
	line->next = 0;
	consume_skb(line_take(line));
}

static void line_set_open(struct pinion_line *line, bool open)
{
	unsigned long flags;

	spin_lock_irqsave(&line->buffers.lock, flags);
	line->open = open;
	spin_unlock_irqrestore(&line->buffers.lock, flags);
}

u32 pinion_line_forget(struct pinion_line *line)
{
	struct sk_buff *skb;
	u32 packets = 0;

	while (pinion_line_waits(line) && (skb = line_take(line))) {
		packets += pinion_wire_packets(skb) - line->next;
		line->next = 0;
		kfree_skb(skb);
	}
	return packets;
}

u32 pinion_line_close(struct pinion_line *line)
{
	line_set_open(line, false);
	return pinion_line_forget(line);
}

void pinion_line_open(struct pinion_line *line)
{
	line_set_open(line, true);
}
