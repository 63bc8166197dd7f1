// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The packets that came early. logic/early.c knows their order, this file their buffers.
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "../logic/receiver.h"
#include "../path/qp.h"
#include "kept.h"
#include "wire.h"

static bool selective = true;
module_param(selective, bool, 0644);
MODULE_PARM_DESC(selective, "send only lost packets again, if the peer is pinion, too (default Y)");

/* Limit of the bytes that one half of a connection keeps. */
#define KEPT_BYTES	(4 << 20)

struct kept_buffer {
	struct pinion_run run;		/* of its packets */
	struct sk_buff *skb;
	u32 next, end;			/* index in the buffer: of the first; behind the last */
};

bool pinion_kept_is_wanted(void)
{
	return READ_ONCE(selective);
}

void pinion_kept_init(struct pinion_kept *kept, struct pinion_qp *qp)
{
	pinion_early_init(&kept->early);
	kept->bytes = 0;
	kept->qp = qp;
}

static void kept_charge(struct pinion_kept *kept, const struct sk_buff *skb)
{
	kept->bytes += skb->truesize;
	pinion_waiting_add(kept->qp->waiting, skb->truesize);
}

/* Its packets from buffer->next on are dropped. */
static void kept_free(struct pinion_kept *kept, struct kept_buffer *buffer)
{
	if (buffer->end > buffer->next)
		pinion_stat_add(kept->qp, rx_early_drops, buffer->end - buffer->next);
	kept->bytes -= buffer->skb->truesize;
	pinion_waiting_add(kept->qp->waiting, -(s64)buffer->skb->truesize);
	consume_skb(buffer->skb);
	kfree(buffer);
}

static void kept_drop(struct pinion_kept *kept, struct kept_buffer *buffer)
{
	pinion_early_remove(&buffer->run);
	kept_free(kept, buffer);
}

static bool kept_has_room(const struct pinion_kept *kept, const struct sk_buff *skb)
{
	/* A peer may never send what is missing: leave half of the limit to the rest. */
	return kept->bytes + skb->truesize <= KEPT_BYTES &&
	       !pinion_waiting_reaches(kept->qp->waiting, PINION_MAX_WAITING / 2);
}

/*
 * Note the numbers from packet buffer->next on, as far as they are consecutive, which ends the
 * buffer. An acknowledgment need not wait, and is not one of them. Return: false if there is none.
 */
static bool kept_describe(struct kept_buffer *buffer, u32 mtu)
{
	struct pinion_packet packet;
	u32 i, numbers = 0;

	for (i = buffer->next; i < buffer->end && numbers < PINION_EARLY_WINDOW; i++) {
		if (!pinion_wire_parse(buffer->skb, i, &packet) ||
		    packet.opcode % PINION_PACKET_CODES == PINION_ACKNOWLEDGE)
			break;
		if (!numbers)
			buffer->run.psn = packet.psn;
		else if (packet.psn != pinion_psn_add(buffer->run.psn, numbers))
			break;
		numbers += pinion_receiver_numbers(&packet, mtu);
	}
	buffer->end = i;
	buffer->run.numbers = numbers;
	return numbers;
}

/* The run has become shorter: the packets behind it are not of this buffer any more. */
static void kept_cut(struct kept_buffer *buffer, u32 mtu)
{
	struct pinion_packet packet;
	u32 i, numbers = 0;

	for (i = buffer->next; i < buffer->end && numbers < buffer->run.numbers; i++)
		if (pinion_wire_parse(buffer->skb, i, &packet))
			numbers += pinion_receiver_numbers(&packet, mtu);
	buffer->end = i;
}

enum pinion_keeping pinion_kept_add(struct pinion_kept *kept, struct sk_buff *skb, u32 i, u32 mtu,
				    u32 expected, u32 *gap, u32 *packets)
{
	struct kept_buffer *buffer;

	if (!kept_has_room(kept, skb))
		return PINION_KEEPING_FULL;
	/* The owner of the half may be a stranger, and nothing need be kept. */
	buffer = kmalloc(sizeof(*buffer), GFP_NOWAIT | __GFP_NOWARN);
	if (!buffer)
		return PINION_KEEPING_FULL;
	buffer->skb = skb;
	buffer->next = i;
	buffer->end = pinion_wire_packets(skb);
	if (!kept_describe(buffer, mtu) ||
	    !pinion_early_add(&kept->early, &buffer->run, expected, gap)) {
		kfree(buffer);
		return PINION_KEEPING_KNOWN;
	}
	/* Some are known, but those behind them may not be: the caller tries these next. */
	kept_cut(buffer, mtu);
	skb_get(skb);
	kept_charge(kept, skb);
	*packets = buffer->end - i;
	return PINION_KEEPING;
}

static struct kept_buffer *kept_first(const struct pinion_kept *kept)
{
	struct pinion_run *run = pinion_early_first(&kept->early);

	return run ? container_of(run, struct kept_buffer, run) : NULL;
}

struct sk_buff *pinion_kept_look(struct pinion_kept *kept, u32 expected, u32 *i)
{
	struct kept_buffer *buffer;

	while ((buffer = kept_first(kept)) && pinion_early_is_over(&buffer->run, expected))
		kept_drop(kept, buffer);
	if (!buffer || !pinion_early_is_due(&buffer->run, expected))
		return NULL;
	*i = buffer->next;
	return buffer->skb;
}

void pinion_kept_pass(struct pinion_kept *kept, const struct sk_buff *skb, u32 packets, u32 mtu,
		      u32 expected)
{
	struct kept_buffer *buffer = kept_first(kept);
	u32 gap;

	if (!buffer || buffer->skb != skb)
		return;
	buffer->next += packets;
	pinion_early_remove(&buffer->run);
	/* What is left is shorter, if another buffer has the last of its numbers. */
	if (!kept_describe(buffer, mtu) ||
	    !pinion_early_add(&kept->early, &buffer->run, expected, &gap))
		kept_free(kept, buffer);
}

void pinion_kept_forget(struct pinion_kept *kept)
{
	struct kept_buffer *buffer;

	while ((buffer = kept_first(kept)))
		kept_drop(kept, buffer);
}
