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

/* Does @qp break when a message is refused? Else that is dropped. @qp->resp.lock is held. */
static inline bool pinion_refusal_breaks(const struct pinion_qp *qp)
{
	return pinion_qp_is_reliable(qp) && !qp->resp.doubtful;
}

/*
 * Refuse a message. A reliable @qp breaks with @event, and the sender gets @verdict; others drop
 * the message, and so does a reliable one if it is doubtful. Return: the verdict for the sender.
 * @qp->resp.lock is held.
 */
enum pinion_verdict pinion_refuse(struct pinion_qp *qp, enum pinion_verdict verdict,
				  enum ib_event_type event);

/* The same for a message that a key has refused with @syndrome. */
enum pinion_verdict pinion_refuse_key(struct pinion_qp *qp, enum pinion_syndrome syndrome);

#endif
