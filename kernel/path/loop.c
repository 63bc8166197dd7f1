// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The engine for peers that are reached without packets, all on this host. It finds the peer and
 * calls its responder, which works on the requester's cursor directly: no state, and no extra copy
 * but for multicast. Runs in the sender's executor.
 */
#include <linux/processor.h>
#include <linux/slab.h>

#include "../logic/psn.h"
#include "../mem/dwell.h"
#include "../mem/inject.h"
#include "late.h"
#include "loop.h"
#include "mcast.h"
#include "move.h"

/*
 * How often to try to own a responder. That takes 3 to 9 us, depending on the processor; a
 * message of 8 bytes of another sender takes less than 1 us. For longer ones a timer waits
 * (BUSY_NS in exec.c).
 */
#define SPINS			200

/*
 * Checked before @peer's responder is owned, so that only the connected peer, or for datagrams a
 * sender with its Q_Key, can keep others out of it. While @peer is being modified this may see the
 * attributes from before: then @msg came before the change.
 */
static bool loop_may_own(const struct pinion_qp *peer, const struct pinion_msg *msg)
{
	if (msg->service != peer->service)
		return false;
	if (!pinion_qp_is_connected(peer))
		/* data_race(): it is checked again with the lock held. */
		return data_race(peer->attr.qkey) == msg->qkey;
	/* data_race(): likewise. */
	return data_race(peer->attr.dest_qp_num) == msg->src_qpn;
}

/*
 * Does @msg come from the queue pair that @peer is connected to, and is it the next in order? The
 * kernel itself has filled in the sender's fields of @msg, so they can be trusted.
 */
static bool loop_is_expected(const struct pinion_qp *peer, const struct pinion_msg *msg)
{
	pinion_half_assert(&peer->resp.lock);
	if (!pinion_qp_is_connected(peer))
		return true;
	if (peer->engine != &pinion_loop_engine)
		return false;
	if (msg->src_qpn != peer->attr.dest_qp_num || msg->av->vlan != peer->av.vlan ||
	    memcmp(&msg->av->sgid, &peer->av.dgid, sizeof(union ib_gid)))
		return false;
	/* An unreliable connection accepts any PSN: messages before it may be lost. */
	return !pinion_qp_is_reliable(peer) || msg->psn == peer->resp.psn;
}

static enum pinion_verdict loop_respond(struct pinion_qp *peer, struct pinion_msg *msg)
{
	enum pinion_verdict verdict;

	if (!loop_is_expected(peer, msg))
		return PINION_SILENCE;
	verdict = pinion_respond(peer, msg);
	/* The next PSN follows from this message, not from the last: see above. */
	if (verdict == PINION_ACK && pinion_qp_is_connected(peer))
		peer->resp.psn = pinion_psn_add(msg->psn, msg->packets);
	return verdict;
}

/* Own the responder of @peer, if it is free or will be at once. Does not sleep. */
static bool loop_own(struct pinion_qp *peer)
{
	int i;

	for (i = 0; i < SPINS; i++) {
		if (pinion_half_visit(&peer->resp.lock))
			return true;
		if (need_resched())
			break;
		cpu_relax();
	}
	return false;
}

/* The responder of @peer has another owner, or is wanted: do not wait for it. */
static enum pinion_verdict loop_leave(struct pinion_qp *peer, struct pinion_msg *msg)
{
	pinion_stat_inc(peer, busy_peers);
	return pinion_qp_is_connected(peer) ? PINION_BUSY : pinion_late_keep(peer, msg);
}

static enum pinion_verdict loop_deliver(struct pinion_qp *peer, struct pinion_msg *msg)
{
	enum pinion_verdict verdict;

	pinion_dwell(PINION_DWELL_PEER);
	if (!loop_may_own(peer, msg))
		return PINION_SILENCE;
	if (!loop_own(peer))
		return loop_leave(peer, msg);
	verdict = loop_respond(peer, msg);
	if (verdict == PINION_RNR)
		msg->rnr_timer = peer->attr.min_rnr_timer;
	pinion_half_leave(&peer->resp.lock);
	return verdict;
}

void pinion_loop_deliver_to_members(struct pinion_qp *qp, struct pinion_msg *msg)
{
	const struct pinion_mcast_reach reach = {
		.mgid = &msg->av->dgid,
		.net = READ_ONCE(qp->node->link.net),
		.node = qp->node,
		.qpn = qp->ibqp.qp_num,
	};
	struct pinion_qp *members[PINION_MCAST_MAX_QPS];
	struct pinion_mcast_walk walk = {};
	u32 count, i;

	if (!READ_ONCE(qp->node->link.up))
		return;
	do {
		count = pinion_mcast_members(&reach, &walk, members, ARRAY_SIZE(members));
		for (i = 0; i < count; i++) {
			if (loop_deliver(members[i], msg) != PINION_ACK)
				pinion_stat_inc(members[i], ud_drops);
			pinion_qp_leave(members[i]);
		}
	} while (count == ARRAY_SIZE(members));
}

/*
 * Copy the payload once, then deliver the copy to all members. Without the copy a page of the
 * sender's could go missing in the middle: the message would be tried again, and some members would
 * get it twice. And a payload that cannot be read fails before any member gets the message.
 */
static enum pinion_verdict loop_deliver_to_group(struct pinion_qp *qp, struct pinion_msg *msg)
{
	struct pinion_cursor *payload = msg->payload, copy;
	enum pinion_moved moved;
	u64 left = msg->length;
	void *data;

	data = kmalloc(msg->length, GFP_KERNEL_ACCOUNT);
	if (!data)
		return PINION_SILENCE;
	pinion_cursor_memory(&copy, data);
	pinion_cursor_rewind(payload);
	moved = pinion_move(qp->node, &copy, payload, &left, &msg->missing);
	if (moved == PINION_MOVED) {
		msg->payload = &copy;
		pinion_loop_deliver_to_members(qp, msg);
		msg->payload = payload;
	}
	kfree(data);
	if (moved == PINION_MOVED)
		return PINION_ACK;
	return moved == PINION_MOVE_NO_SOURCE ? PINION_OWN_PAGE : PINION_OWN_FAULT;
}

static enum pinion_verdict loop_start(struct pinion_qp *qp, struct pinion_msg *msg)
{
	bool keep = pinion_qp_is_connected(qp);
	struct pinion_qp *peer;
	enum pinion_verdict verdict;

	if (pinion_inject(PINION_INJECT_LOSS, qp->pid, qp->ibqp.qp_num))
		return PINION_SILENCE;
	if (pinion_qp_is_reliable(qp) &&
	    pinion_inject(PINION_INJECT_RNR, qp->pid, qp->ibqp.qp_num)) {
		msg->rnr_timer = PINION_INJECTED_RNR_TIMER;
		return PINION_RNR;
	}
	if (qp->service == PINION_SVC_UD && msg->dst_qpn == PINION_MULTICAST_QPN)
		return loop_deliver_to_group(qp, msg);
	peer = keep ? pinion_peer_keep(qp) : pinion_peer_visit(qp->node, msg->av, msg->dst_qpn);
	if (!peer) {
		pinion_stat_inc(qp, no_peer);
		return PINION_SILENCE;
	}
	verdict = loop_deliver(peer, msg);
	if (!keep)
		pinion_qp_leave(peer);
	else if (verdict != PINION_ACK)
		pinion_peer_leave(qp);
	return verdict;
}

const struct pinion_engine pinion_loop_engine = {
	.start = loop_start,
	.services = PINION_SVC_RC | PINION_SVC_UC | PINION_SVC_UD,
};
