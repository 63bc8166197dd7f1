/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Datagrams whose receiver lacks a page. A copy is queued until the receiver's page was faulted,
 * and the sender completes its request. So a receiver whose page comes late or never delays
 * neither senders nor other members of a multicast group.
 */
#ifndef PINION_PATH_LATE_H
#define PINION_PATH_LATE_H

#include "respond.h"

void pinion_late_init(struct pinion_qp *qp);

/*
 * Must @msg be queued since others wait already? @qp->resp.lock is held, here and in the functions
 * below but the last.
 */
static inline bool pinion_late_is_ahead(const struct pinion_qp *qp, const struct pinion_msg *msg)
{
	return qp->resp.num_late && !msg->late;
}

/*
 * Queue a copy of @msg. Return: PINION_ACK; PINION_SILENCE if there is no room; PINION_OWN_PAGE or
 * PINION_OWN_FAULT if the sender's payload cannot be read.
 */
enum pinion_verdict pinion_late_keep(struct pinion_qp *qp, struct pinion_msg *msg);

/* Drop all copies, and wait for no page any more: @qp is reset, broken or destroyed. */
void pinion_late_forget(struct pinion_qp *qp);

/* On destruction, after pinion_late_forget(), without the lock: waits for the work item. */
void pinion_late_stop(struct pinion_qp *qp);

#endif
