// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The window of a reliable connection. Numbers from the network cannot be trusted: one that is not
 * of a packet under way changes nothing.
 */
#include <linux/minmax.h>

#include "psn.h"
#include "sender.h"

/* A number farther ahead than this would count as behind. */
#define SENDER_FARTHEST	((PINION_PSN_MASK >> 1) - 1)

void pinion_sender_init(struct pinion_sender *sender, u32 psn, u8 retry_count, u8 rnr_retry)
{
	psn &= PINION_PSN_MASK;
	*sender = (struct pinion_sender){
		.una = psn,
		.next = psn,
		.end = psn,
		.retry_count = retry_count,
		.rnr_retry = rnr_retry,
		.retry_left = retry_count,
		.rnr_left = rnr_retry,
	};
}

u32 pinion_sender_room(const struct pinion_sender *sender, u32 window)
{
	u32 sent = pinion_psn_ahead(sender->next, sender->una);

	window = min(window, SENDER_FARTHEST);
	return sender->waiting || sent >= window ? 0 : window - sent;
}

void pinion_sender_sent(struct pinion_sender *sender, u32 packets)
{
	sender->next = pinion_psn_add(sender->next, packets);
	if (pinion_psn_ahead(sender->next, sender->end) > 0)
		sender->end = sender->next;
}

void pinion_sender_owe(struct pinion_sender *sender, u32 due)
{
	sender->owed = true;
	sender->due = due;
}

void pinion_sender_owe_none(struct pinion_sender *sender)
{
	sender->owed = false;
}

/* All numbers before @psn are acknowledged. Return: whether @una has advanced. */
static bool sender_advance(struct pinion_sender *sender, u32 psn)
{
	if (psn == sender->una)
		return false;
	sender->una = psn;
	/* Packets that were sent before we went back have arrived after all. */
	if (pinion_psn_ahead(sender->next, psn) < 0)
		sender->next = psn;
	sender->back = false;
	sender->waiting = false;
	sender->retry_left = sender->retry_count;
	sender->rnr_left = sender->rnr_retry;
	return true;
}

static enum pinion_sender_step sender_go_back(struct pinion_sender *sender)
{
	if (!sender->retry_left)
		return PINION_SENDER_GIVE_UP;
	sender->retry_left--;
	sender->next = sender->una;
	sender->back = true;
	return PINION_SENDER_RESEND;
}

/*
 * The packet @una, or its answer, was lost: what came belongs to a later packet. Go back once. More
 * such packets may follow, from before we went back, and are ignored. If the packet is lost again,
 * the timer finds out.
 */
static enum pinion_sender_step sender_miss(struct pinion_sender *sender)
{
	if (sender->back)
		return PINION_SENDER_STALE;
	return sender_go_back(sender);
}

/*
 * The packets before @psn were performed. If @due is one of them its answer was lost, and only
 * numbers before @due count as acknowledged. Return: false in that case.
 */
static bool sender_advance_to(struct pinion_sender *sender, u32 psn, bool *advanced)
{
	if (sender->owed && pinion_psn_ahead(psn, sender->due) > 0) {
		*advanced = sender_advance(sender, sender->due);
		return false;
	}
	*advanced = sender_advance(sender, psn);
	return true;
}

static enum pinion_sender_step sender_not_ready(struct pinion_sender *sender)
{
	if (sender->waiting)
		return PINION_SENDER_STALE;
	if (sender->rnr_retry != PINION_RNR_RETRY_FOREVER) {
		if (!sender->rnr_left)
			return PINION_SENDER_GIVE_UP_RNR;
		sender->rnr_left--;
	}
	sender->next = sender->una;
	sender->waiting = true;
	sender->back = true;
	return PINION_SENDER_WAIT;
}

/* A NAK for the packet @una. */
static enum pinion_sender_step sender_refused(struct pinion_sender *sender, u8 syndrome)
{
	if ((syndrome & PINION_AETH_KIND) == PINION_AETH_RNR)
		return sender_not_ready(sender);
	if (syndrome == (PINION_AETH_NAK | PINION_NAK_CODE_SEQUENCE))
		return sender_miss(sender);
	return PINION_SENDER_REFUSED;
}

static bool sender_knows(u8 syndrome)
{
	switch (syndrome & PINION_AETH_KIND) {
	case PINION_AETH_ACK:
	case PINION_AETH_RNR:
		return true;
	case PINION_AETH_NAK:
		return (syndrome & ~PINION_AETH_KIND) <= PINION_NAK_CODE_OPERATION;
	default:
		return false;
	}
}

enum pinion_sender_step pinion_sender_acknowledge(struct pinion_sender *sender, u32 psn,
						  u8 syndrome)
{
	bool is_ack = (syndrome & PINION_AETH_KIND) == PINION_AETH_ACK;
	bool advanced;

	if (!sender_knows(syndrome) ||
	    !pinion_psn_within(psn, sender->una, pinion_psn_ahead(sender->end, sender->una)))
		return PINION_SENDER_STALE;
	/* An ACK includes packet @psn; a NAK says that @psn was not performed. */
	if (is_ack)
		psn = pinion_psn_add(psn, 1);
	if (!sender_advance_to(sender, psn, &advanced))
		return sender_miss(sender);
	if (!is_ack)
		return sender_refused(sender, syndrome);
	return advanced ? PINION_SENDER_ADVANCED : PINION_SENDER_STALE;
}

enum pinion_sender_step pinion_sender_answer(struct pinion_sender *sender, u32 psn)
{
	if (!sender->owed ||
	    !pinion_psn_within(psn, sender->due, pinion_psn_ahead(sender->end, sender->due)))
		return PINION_SENDER_STALE;
	sender_advance(sender, sender->due);
	return psn == sender->due ? PINION_SENDER_ANSWERED : sender_miss(sender);
}

void pinion_sender_take(struct pinion_sender *sender)
{
	sender->due = pinion_psn_add(sender->due, 1);
	sender_advance(sender, sender->due);
}

enum pinion_sender_step pinion_sender_timeout(struct pinion_sender *sender)
{
	if (!pinion_sender_awaits(sender))
		return PINION_SENDER_STALE;
	return sender_go_back(sender);
}

void pinion_sender_wake(struct pinion_sender *sender)
{
	sender->waiting = false;
}
