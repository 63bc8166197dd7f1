/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Moves the payload of a message between the requester's and the responder's memory, and decides
 * what happens when a page is missing.
 */
#ifndef PINION_PATH_CARRY_H
#define PINION_PATH_CARRY_H

#include "respond.h"
#include "target.h"

/*
 * Move what is left of @msg (resp.left) to resp.cursor, or with @read from it. If a page is
 * missing, or the message gives way, the position is remembered in @qp->resp, and the message goes
 * on there when it is tried again (msg->resumed). Return: a verdict. If resp.cursor has a syndrome,
 * the caller decides on the verdict for it.
 */
enum pinion_verdict pinion_carry(struct pinion_qp *qp, const struct pinion_target *target,
				 struct pinion_msg *msg, bool read);

/* Asked between stretches: must @msg leave @qp with PINION_GAVE_WAY, for others? */
bool pinion_carry_gives_way(const struct pinion_qp *qp, const struct pinion_msg *msg);

/*
 * Remember that what is left of @msg is resp.left, and that it stands at resp.cursor, if that is
 * used. Only this message goes on there when it is tried again. Datagrams always begin anew.
 */
void pinion_carry_remember(struct pinion_qp *qp, struct pinion_msg *msg);

/*
 * @msg lacks a page of the responder's memory, of which msg->missing has a reference. Start a fault
 * for it and return PINION_PEER_PAGE; or, if a fault of this page has failed, set @cursor's
 * syndrome and return PINION_NAK_ACCESS.
 */
enum pinion_verdict pinion_lacks(struct pinion_qp *qp, const struct pinion_target *target,
				 struct pinion_msg *msg, struct pinion_cursor *cursor);

#endif
