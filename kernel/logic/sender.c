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

/* The most packets of an answer that one request asks for. */
#define SENDER_PART	64U

void pinion_sender_init(struct pinion_sender *sender, u32 psn, u8 retry_count, u8 rnr_retry)
{
	psn &= PINION_PSN_MASK;
	*sender = (struct pinion_sender){
		.una = psn,
		.next = psn,
		.end = psn,
		.done = psn,
		.retry_count = retry_count,
		.rnr_retry = rnr_retry,
		.retry_left = retry_count,
		.rnr_left = rnr_retry,
	};
}

u32 pinion_sender_first(const struct pinion_sender *sender)
{
	if (!pinion_numbers_any(&sender->lost))
		return sender->next;
	return pinion_psn_add(sender->una, pinion_numbers_first(&sender->lost, sender->una));
}

u32 pinion_sender_room(const struct pinion_sender *sender, u32 window)
{
	u32 first = pinion_sender_first(sender);
	u32 before = pinion_psn_ahead(first, sender->una);

	window = min(window, SENDER_FARTHEST);
	if (sender->waiting || before >= window)
		return 0;
	window -= before;
	return first == sender->next ? window : min(window, pinion_sender_lost(sender, first));
}

u32 pinion_sender_part(const struct pinion_sender *sender, u32 psn, u32 left, u32 window)
{
	/* Half of it, so that the next part is asked for before the last has come. */
	u32 most = clamp(window / 2, 1U, SENDER_PART);
	u32 lost = pinion_sender_lost(sender, psn);

	if (lost)
		left = min(left, lost);
	if (pinion_psn_ahead(sender->end, psn) <= 0)
		return min(left, most);
	left = min(left, pinion_numbers_first(&sender->ends, psn) + 1);
	return sender->others ? left : min(left, most);
}

void pinion_sender_ask(struct pinion_sender *sender, u32 packets)
{
	u32 last = pinion_psn_add(pinion_sender_first(sender), packets - 1);

	pinion_numbers_add(&sender->ends, last, 1);
}

u32 pinion_sender_asked(const struct pinion_sender *sender)
{
	return pinion_numbers_count(&sender->ends, sender->una,
				    pinion_psn_ahead(sender->next, sender->una));
}

void pinion_sender_sent(struct pinion_sender *sender, u32 packets)
{
	u32 first = pinion_sender_first(sender);

	if (first != sender->next) {
		packets = min(packets, pinion_sender_lost(sender, first));
		pinion_numbers_remove(&sender->lost, first, packets);
		pinion_numbers_add(&sender->again, first, packets);
		return;
	}
	sender->next = pinion_psn_add(sender->next, packets);
	if (pinion_psn_ahead(sender->next, sender->end) > 0)
		sender->end = sender->next;
}

void pinion_sender_unsent(struct pinion_sender *sender, u32 psn, u32 packets)
{
	pinion_numbers_remove(&sender->again, psn, packets);
	pinion_numbers_add(&sender->lost, psn, packets);
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
	pinion_numbers_remove(&sender->lost, sender->una,
			      pinion_psn_ahead(psn, sender->una));
	pinion_numbers_remove(&sender->ends, sender->una,
			      pinion_psn_ahead(psn, sender->una));
	pinion_numbers_clear(&sender->again);
	sender->una = psn;
	if (pinion_psn_ahead(sender->done, psn) < 0)
		sender->done = psn;
	/* Packets that were sent before we went back have arrived after all. */
	if (pinion_psn_ahead(sender->next, psn) < 0)
		sender->next = psn;
	sender->back = false;
	sender->waiting = false;
	sender->retry_left = sender->retry_count;
	sender->rnr_left = sender->rnr_retry;
	return true;
}

/* Everything from @una on is sent again. */
static void sender_begin_again(struct pinion_sender *sender)
{
	sender->next = sender->una;
	sender->back = true;
	pinion_numbers_clear(&sender->lost);
	pinion_numbers_clear(&sender->again);
}

static enum pinion_sender_step sender_go_back(struct pinion_sender *sender)
{
	if (!sender->retry_left)
		return PINION_SENDER_GIVE_UP;
	sender->retry_left--;
	sender_begin_again(sender);
	return PINION_SENDER_RESEND;
}

/* Is packet @psn, or its answer, missing, although it is neither to be sent nor was sent again? */
static bool sender_has_lost(const struct pinion_sender *sender, u32 psn)
{
	u32 sent = pinion_psn_ahead(sender->next, sender->una);

	return pinion_psn_within(psn, sender->una, min(sent, PINION_NUMBERS)) &&
	       !pinion_numbers_has(&sender->lost, psn) && !pinion_numbers_has(&sender->again, psn);
}

/*
 * The @count numbers from @psn on are missing. Like going back this uses up a retry, once until
 * something is acknowledged: there may be several gaps.
 */
static enum pinion_sender_step sender_lose(struct pinion_sender *sender, u32 psn, u32 count)
{
	bool any = false;
	u32 i;

	if (sender->waiting)
		return PINION_SENDER_STALE;
	for (i = 0; i < min(count, PINION_NUMBERS); i++, psn = pinion_psn_add(psn, 1)) {
		if (!sender_has_lost(sender, psn))
			continue;
		if (!sender->back && !sender->retry_left)
			return PINION_SENDER_GIVE_UP;
		pinion_numbers_add(&sender->lost, psn, 1);
		any = true;
	}
	if (!any || sender->back)
		return PINION_SENDER_STALE;
	sender->retry_left--;
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
	if (pinion_psn_ahead(psn, sender->done) > 0)
		sender->done = psn;
	if (sender->owed && pinion_psn_ahead(psn, sender->due) > 0) {
		*advanced = sender_advance(sender, sender->due);
		return false;
	}
	*advanced = sender_advance(sender, psn);
	return true;
}

bool pinion_sender_settle(struct pinion_sender *sender)
{
	u32 psn = sender->done;

	if (sender->owed && pinion_psn_ahead(psn, sender->due) > 0)
		psn = sender->due;
	return pinion_psn_ahead(psn, sender->una) > 0 && sender_advance(sender, psn);
}

/*
 * An RNR NAK shows that the peer can be reached, so packets that were lost before it do not count
 * any more. Otherwise a connection that waits long for a page or a receive request would be given
 * up after a few losses in all, although the peer answers between them.
 */
static enum pinion_sender_step sender_not_ready(struct pinion_sender *sender)
{
	if (sender->waiting)
		return PINION_SENDER_STALE;
	sender->retry_left = sender->retry_count;
	if (sender->rnr_retry != PINION_RNR_RETRY_FOREVER) {
		if (!sender->rnr_left)
			return PINION_SENDER_GIVE_UP_RNR;
		sender->rnr_left--;
	}
	sender_begin_again(sender);
	sender->waiting = true;
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

static bool sender_is_under_way(const struct pinion_sender *sender, u32 psn)
{
	return pinion_psn_within(psn, sender->una, pinion_psn_ahead(sender->end, sender->una));
}

void pinion_sender_heard(struct pinion_sender *sender, u32 psn, bool selective)
{
	if (sender_is_under_way(sender, psn))
		sender->others = !selective;
}

enum pinion_sender_step pinion_sender_acknowledge(struct pinion_sender *sender, u32 psn,
						  u8 syndrome)
{
	bool is_ack = (syndrome & PINION_AETH_KIND) == PINION_AETH_ACK;
	bool advanced;

	if (!sender_knows(syndrome) || !sender_is_under_way(sender, psn))
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

enum pinion_sender_step pinion_sender_gap(struct pinion_sender *sender, u32 psn, u32 gap,
					  u32 count)
{
	enum pinion_sender_step step;
	bool advanced;

	if (!sender_is_under_way(sender, psn))
		return PINION_SENDER_STALE;
	if (!sender_advance_to(sender, psn, &advanced))
		return sender_miss(sender);
	step = sender_lose(sender, gap, count);
	return step == PINION_SENDER_STALE && advanced ? PINION_SENDER_ADVANCED : step;
}

bool pinion_sender_is_early(const struct pinion_sender *sender, u32 psn)
{
	return sender->owed && psn != sender->due &&
	       pinion_psn_within(psn, sender->due, pinion_psn_ahead(sender->end, sender->due));
}

enum pinion_sender_step pinion_sender_early(struct pinion_sender *sender, u32 gap, u32 end)
{
	sender_advance(sender, sender->due);
	return sender_lose(sender, gap, max(pinion_psn_ahead(end, gap), 0));
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
