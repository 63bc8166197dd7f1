/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The payload of a message between its requester and the responder's cursor, and what
 * becomes of a message that lacks a page.
 */
#ifndef PINION_PATH_CARRY_H
#define PINION_PATH_CARRY_H

#include "respond.h"
#include "target.h"

/*
 * Move what is left of @msg (resp.left) to resp.cursor, or from it with @read. Where a page is
 * missing the queue remembers how far it came, and the message that comes again goes on there
 * (msg->resumed). Return: a verdict. If resp.cursor has a syndrome then, it is for the caller
 * to say what that means.
 */
enum pinion_verdict pinion_carry(struct pinion_qp *qp, const struct pinion_target *target,
				 struct pinion_msg *msg, bool read);

/*
 * @msg lacks a page of ours, which msg->missing holds on to: it is asked for. With a syndrome
 * for @cursor if it was before, in vain. Return: a verdict.
 */
enum pinion_verdict pinion_lacks(struct pinion_qp *qp, const struct pinion_target *target,
				 struct pinion_msg *msg, struct pinion_cursor *cursor);

#endif
