/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The refusals of a responder.
 */
#ifndef PINION_PATH_REFUSE_H
#define PINION_PATH_REFUSE_H

#include "respond.h"

/*
 * Break @qp, on any service, for a reason that is not the message's fault. @event is raised later,
 * or is PINION_NO_EVENT. Return: the verdict for the sender. @qp->resp.lock is held.
 */
enum pinion_verdict pinion_break(struct pinion_qp *qp, enum pinion_verdict verdict,
				 enum ib_event_type event);

/*
 * Refuse a message. A reliable @qp breaks with @event, and the sender gets @verdict; others drop
 * the message. Return: the verdict for the sender. @qp->resp.lock is held.
 */
enum pinion_verdict pinion_refuse(struct pinion_qp *qp, enum pinion_verdict verdict,
				  enum ib_event_type event);

/* The same for a message that a key has refused with @syndrome. */
enum pinion_verdict pinion_refuse_key(struct pinion_qp *qp, enum pinion_syndrome syndrome);

#endif
