/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Datagrams whose receiver lacks a page, or whose responder has another owner. A copy is queued
 * until the receiver's page was faulted, or until the responder is free, and the sender completes
 * its request. So neither a page that comes late or never, nor an owner that is not scheduled,
 * delays senders or other members of a multicast group.
 */
#ifndef PINION_PATH_LATE_H
#define PINION_PATH_LATE_H

#include "respond.h"

void pinion_late_init(struct pinion_qp *qp);

/* Do others wait that came before @msg? @qp->resp.lock is held, here and below but where said. */
static inline bool pinion_late_is_ahead(const struct pinion_qp *qp, const struct pinion_msg *msg)
{
	return READ_ONCE(qp->resp.num_late) && !msg->late;
}

/*
 * Deliver those that have waited for the lock only, so that few are dropped where many send.
 * Return: false if others still wait: for a page, or because the responder is wanted.
 */
bool pinion_late_catch_up(struct pinion_qp *qp);

/*
 * Queue a copy of @msg. The lock need not be held; then whoever holds it may change @qp meanwhile.
 * Whether @msg is admitted is decided when it is delivered. Return: PINION_ACK; PINION_SILENCE if
 * there is no room; PINION_OWN_PAGE or PINION_OWN_FAULT if the sender's payload cannot be read.
 */
enum pinion_verdict pinion_late_keep(struct pinion_qp *qp, struct pinion_msg *msg);

/* Drop all copies, and wait for no page any more: @qp is reset, broken or destroyed. */
void pinion_late_forget(struct pinion_qp *qp);

/* On destruction, after pinion_late_forget(), without the lock: waits for the work item. */
void pinion_late_stop(struct pinion_qp *qp);

#endif
