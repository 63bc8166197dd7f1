// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Refusals of a responder: statistics, the verdict, and whether the queue pair breaks.
 */
#include "refuse.h"

static void refusal_count(struct pinion_node *node, enum pinion_syndrome syndrome)
{
	switch (syndrome) {
	case PINION_SYN_KEY_UNKNOWN:
		pinion_stat_inc(node, remote_key_unknown);
		break;
	case PINION_SYN_KEY_RIGHTS:
		pinion_stat_inc(node, remote_key_rights);
		break;
	case PINION_SYN_KEY_RANGE:
		pinion_stat_inc(node, remote_key_range);
		break;
	default:
		pinion_stat_inc(node, remote_key_state);
	}
}

/* The executor changes the state: that needs sq.exec, which comes before resp.lock. */
enum pinion_verdict pinion_break(struct pinion_qp *qp, enum pinion_verdict verdict,
				 enum ib_event_type event)
{
	pinion_qp_fail(qp, event);
	return pinion_qp_is_reliable(qp) ? verdict : PINION_SILENCE;
}

/*
 * Only a reliable connection breaks: on other services anybody might have sent the message, and
 * must not be able to break the queue pair by it.
 */
enum pinion_verdict pinion_refuse(struct pinion_qp *qp, enum pinion_verdict verdict,
				  enum ib_event_type event)
{
	pinion_stat_inc(qp, invalid_requests);
	if (!pinion_refusal_breaks(qp))
		return PINION_SILENCE;
	return pinion_break(qp, verdict, event);
}

enum pinion_verdict pinion_refuse_key(struct pinion_qp *qp, enum pinion_syndrome syndrome)
{
	refusal_count(qp->node, syndrome);
	pinion_stat_inc(qp, resp_remote_access_errors);
	return pinion_refuse(qp, PINION_NAK_ACCESS, IB_EVENT_QP_ACCESS_ERR);
}
