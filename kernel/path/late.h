/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Datagrams whose receiver lacks a page: kept for it, copied, until it has brought the page.
 * Their sender is done with them, so a receiver whose memory is slow, or never comes, holds
 * up no sender and no other member of a group.
 */
#ifndef PINION_PATH_LATE_H
#define PINION_PATH_LATE_H

#include "respond.h"

void pinion_late_init(struct pinion_qp *qp);

/* Others wait already: @msg goes behind them. @qp->resp.lock is held, as for all below. */
static inline bool pinion_late_is_ahead(const struct pinion_qp *qp, const struct pinion_msg *msg)
{
	return qp->resp.num_late && !msg->late;
}

/*
 * Keep a copy of @msg. Return: done; silence if there is no room; or what is wrong with the
 * sender's payload.
 */
enum pinion_verdict pinion_late_keep(struct pinion_qp *qp, struct pinion_msg *msg);

/* The queue is reset, broken, or at its end. No page is waited for any more. */
void pinion_late_forget(struct pinion_qp *qp);

/* At the queue's end, after that and without the lock. */
void pinion_late_stop(struct pinion_qp *qp);

#endif
