// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Request packets that come early, behind a missing one: they are kept, and the sender is told what
 * is missing (selective repeat). resp.lock is held.
 */
#include "responder.h"

/* Only the packets before number @end are to be sent again, from @gap on. */
static void responder_say_gap(struct pinion_conn *conn, u32 gap, u32 end)
{
	struct pinion_packet packet =
		pinion_responder_packet(conn, PINION_ACKNOWLEDGE, conn->receiver.expected,
					PINION_AETH_NAK | PINION_NAK_CODE_GAP);

	packet.msn = pinion_gap_msn(pinion_psn_ahead(gap, conn->receiver.expected),
				    pinion_psn_ahead(end, gap));
	pinion_responder_say(conn, &packet);
}

u32 pinion_responder_keep(struct pinion_conn *conn, u32 psn, struct sk_buff *skb, u32 i)
{
	struct pinion_kept *kept = &conn->kept_requests;
	struct pinion_receiver *receiver = &conn->receiver;
	u32 gap, first, packets;

	switch (pinion_kept_add(kept, skb, i, receiver->mtu, receiver->expected, &gap,
				&packets)) {
	case PINION_KEEPING_FULL:
		pinion_stat_inc(conn->qp, rx_early_drops);
		pinion_stat_inc(conn->qp, out_of_sequence);
		pinion_responder_ask_again(conn);
		return 1;
	case PINION_KEEPING_KNOWN:
		pinion_stat_inc(conn->qp, rx_early_drops);
		pinion_stat_inc(conn->qp, out_of_sequence);
		return 1;
	case PINION_KEEPING:
		break;
	}
	pinion_stat_add(conn->qp, rx_early_packets, packets);
	pinion_stat_add(conn->qp, out_of_sequence, packets);
	first = pinion_early_first(&kept->early)->psn;
	if (pinion_receiver_tell(receiver)) {
		responder_say_gap(conn, receiver->expected, first);
		if (first == psn)
			gap = psn;
	}
	if (gap != psn)
		responder_say_gap(conn, gap, psn);
	return packets;
}
