/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The refusals of a responder.
 */
#ifndef PINION_PATH_REFUSE_H
#define PINION_PATH_REFUSE_H

#include "respond.h"

/*
 * Whatever the service, the queue pair cannot go on, by no fault of the message. Return: what
 * the sender learns. @qp->resp.lock is held.
 */
enum pinion_verdict pinion_break(struct pinion_qp *qp, enum pinion_verdict verdict,
				 enum ib_event_type event);

/*
 * Refuse with @verdict, and break for @event where that is how it is done. Return: what
 * the sender learns. @qp->resp.lock is held.
 */
enum pinion_verdict pinion_refuse(struct pinion_qp *qp, enum pinion_verdict verdict,
				  enum ib_event_type event);

/* The same where a key of ours refused, and why. */
enum pinion_verdict pinion_refuse_key(struct pinion_qp *qp, int syndrome);

#endif
