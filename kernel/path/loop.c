// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The same-host engine: finds the peer and lets its responder work on the
 * requester's cursor directly. No packets, no copies of its own, no state.
 */
#include "../mem/dwell.h"
#include "loop.h"
#include "mcast.h"

static enum pinion_verdict deliver(struct pinion_qp *peer, struct pinion_msg *msg)
{
	enum pinion_verdict verdict;

	pinion_dwell(PINION_DWELL_PEER);
	mutex_lock(&peer->resp.lock);
	verdict = pinion_respond(peer, msg);
	if (verdict == PINION_RNR)
		msg->rnr_timer = peer->attr.min_rnr_timer;
	mutex_unlock(&peer->resp.lock);
	return verdict;
}

/* What becomes of it at a member is not told, but that its sender's memory is gone. */
static enum pinion_verdict deliver_to_group(struct pinion_qp *qp, struct pinion_msg *msg)
{
	struct pinion_qp *members[PINION_MCAST_MAX_QPS];
	enum pinion_verdict verdict = PINION_ACK;
	struct pinion_mcast_walk walk = {};
	u32 count, i;

	do {
		count = pinion_mcast_members(qp->node, &msg->av->dgid, qp, &walk, members,
					     ARRAY_SIZE(members));
		for (i = 0; i < count; i++) {
			if (verdict != PINION_OWN_FAULT) {
				pinion_cursor_rewind(msg->payload);
				verdict = deliver(members[i], msg);
			}
			pinion_qp_put(members[i]);
		}
	} while (count == ARRAY_SIZE(members) && verdict != PINION_OWN_FAULT);
	return verdict == PINION_OWN_FAULT ? verdict : PINION_ACK;
}

enum pinion_verdict pinion_loop_send(struct pinion_qp *qp, struct pinion_msg *msg, u32 qpn)
{
	struct pinion_qp *peer;
	enum pinion_verdict verdict;

	if (qp->service == PINION_SVC_UD && qpn == PINION_MULTICAST_QPN)
		return deliver_to_group(qp, msg);
	peer = pinion_peer_get(qp->node, msg->av, qpn);
	if (!peer) {
		pinion_stat_inc(qp->node, no_peer);
		return PINION_SILENCE;
	}
	verdict = deliver(peer, msg);
	pinion_qp_put(peer);
	return verdict;
}
