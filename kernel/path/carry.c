// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Moves payload through a responder. A message that lacks a page, or gives way to others, leaves,
 * holding nothing; it continues where it was when it is retried.
 */
#include "carry.h"
#include "fault.h"
#include "move.h"

/* The last number (token) given to a message that left before its end. 0 means no number. */
static atomic64_t carry_tokens;

void pinion_carry_remember(struct pinion_qp *qp, struct pinion_msg *msg)
{
	if (!pinion_qp_is_connected(qp))
		return;
	if (!msg->token)
		msg->token = atomic64_inc_return(&carry_tokens);
	qp->resp.token = msg->token;
}

enum pinion_verdict pinion_lacks(struct pinion_qp *qp, const struct pinion_target *target,
				 struct pinion_msg *msg, struct pinion_cursor *cursor)
{
	struct pinion_resp *resp = &qp->resp;

	pinion_half_assert(&resp->lock);
	/* The fault that failed was for this place; for another page a new one is started. */
	if (msg->fault_err && msg->fault_left == resp->left) {
		pinion_missing_put(&msg->missing);
		cursor->syndrome = PINION_SYN_FAULT;
		return PINION_NAK_ACCESS;
	}
	if (pinion_qp_is_connected(qp))
		msg->asked = pinion_fault_start(msg->fault, target->faulter, &msg->missing,
						resp->left);
	return PINION_PEER_PAGE;
}

bool pinion_carry_gives_way(const struct pinion_qp *qp, const struct pinion_msg *msg)
{
	if (msg->brief)
		return true;
	/* A thread that is about to be scheduled away must not own a half of another user's. */
	return msg->yields && (pinion_half_is_wanted(&qp->resp.lock) || need_resched());
}

/* Return: PINION_MOVE_ON if @qp's responder is to be released before all of @msg is moved. */
static enum pinion_moved carry_all(struct pinion_qp *qp, struct pinion_msg *msg, bool read)
{
	struct pinion_cursor *sink = read ? msg->payload : &qp->resp.cursor;
	struct pinion_cursor *source = read ? &qp->resp.cursor : msg->payload;
	enum pinion_moved moved;

	for (;;) {
		moved = pinion_move_stretch(qp->node, sink, source, &qp->resp.left, &msg->missing);
		if (moved != PINION_MOVE_ON || pinion_carry_gives_way(qp, msg))
			return moved;
		pinion_half_resched(&qp->resp.lock);
	}
}

enum pinion_verdict pinion_carry(struct pinion_qp *qp, const struct pinion_target *target,
				 struct pinion_msg *msg, bool read)
{
	struct pinion_resp *resp = &qp->resp;
	enum pinion_moved moved = carry_all(qp, msg, read);

	if (moved == PINION_MOVED)
		return PINION_ACK;
	if (moved == PINION_MOVE_REFUSED)
		return resp->cursor.syndrome ? PINION_NAK_ACCESS : PINION_OWN_FAULT;
	pinion_carry_remember(qp, msg);
	if (moved == PINION_MOVE_ON)
		return PINION_GAVE_WAY;
	if (moved == (read ? PINION_MOVE_NO_SINK : PINION_MOVE_NO_SOURCE))
		return PINION_OWN_PAGE;
	return pinion_lacks(qp, target, msg, &resp->cursor);
}
