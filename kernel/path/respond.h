/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The responder: what a message that arrives does to a queue pair. The same for all engines.
 */
#ifndef PINION_PATH_RESPOND_H
#define PINION_PATH_RESPOND_H

#include "cursor.h"
#include "qp.h"

struct pinion_fault;

/*
 * One message, as both sides of an engine see it. An engine that hands messages over in pieces
 * fills one in for each piece; then @length, @payload and @packets are those of the piece.
 */
struct pinion_msg {
	const struct pinion_op *op;
	u8 opcode;			/* enum pinion_opcode */
	u8 service;			/* enum pinion_service it is sent by */
	bool xrc;
	bool solicited;
	bool begins;			/* the first piece, */
	bool ends;			/* and the last: of most messages the same */
	bool yields;			/* the sender retries after PINION_GAVE_WAY */
	bool brief;			/* likewise; others wait for the thread itself */
	u64 length;
	u64 whole;			/* with PINION_OP_REMOTE_MEM and @begins: of all pieces */
	u32 ex;				/* immediate, or the rkey to invalidate */
	u32 src_qpn;
	u32 dst_qpn;			/* or PINION_MULTICAST_QPN */
	struct pinion_cursor *payload;	/* of the requester: source, or sink of READ */

	/* Set by the sender, if the message lacked a page before and is tried again: */
	u64 token;			/* the responder's number for it; 0: it has none */
	int fault_err;			/* the fault of the responder's page failed, */
	u64 fault_left;			/* with so many bytes of the message left */
	struct pinion_fault *fault;	/* to bring a page of the responder's; or NULL */
	/* Set by the responder: */
	bool resumed;			/* goes on where it was; else from its beginning */
	bool asked;			/* with PINION_PEER_PAGE: @fault is running */
	struct pinion_missing missing;	/* with PINION_OWN_PAGE: holds a reference */

	u32 psn;			/* connected services */
	u32 packets;
	u32 srqn;			/* XRC */
	u8 rnr_timer;			/* of the peer, with PINION_RNR */

	u64 remote_addr;		/* with PINION_OP_REMOTE_MEM */
	u32 rkey;
	u64 operand;			/* atomics: to compare with, or to add */
	u64 swap;
	u64 before;			/* atomics: the answer */
	u32 flush_rights;		/* FLUSH: IB_ACCESS_FLUSH_* */
	bool flush_all;			/* FLUSH: the region, not the range */

	u32 qkey;			/* datagrams */
	bool late;			/* one that was kept, see path/late.h */
	const struct pinion_av *av;
};

enum pinion_verdict {
	PINION_ACK,
	PINION_SILENCE,		/* no answer, as if the message was lost */
	PINION_RNR,		/* no receive request: try again after the peer's RNR timer */
	PINION_NAK_REQUEST,	/* invalid request */
	PINION_NAK_ACCESS,	/* remote access error */
	PINION_NAK_OPERATION,	/* remote operational error */
	PINION_OWN_FAULT,	/* the requester's own memory was refused */
	PINION_OWN_PAGE,	/* a page of the requester's is missing: bring it, try again */
	PINION_PEER_PAGE,	/* a page of the responder's is missing: wait, try again */
	PINION_GAVE_WAY,	/* in the middle of the message (@yields, @brief): try again now */
	PINION_BUSY,		/* the responder has another owner: wait, try again */
};

/* Has the message left before its end, to be retried from there? */
static inline bool pinion_verdict_goes_on(enum pinion_verdict verdict)
{
	return verdict == PINION_OWN_PAGE || verdict == PINION_PEER_PAGE ||
	       verdict == PINION_GAVE_WAY;
}

/*
 * Perform @msg on @qp, whose resp.lock is held. Never waits for a page. The engine hands over the
 * pieces of a message in order, with no other message of the queue pair between them; a piece
 * that was not performed may be handed over again.
 */
enum pinion_verdict pinion_respond(struct pinion_qp *qp, struct pinion_msg *msg);

/* Is @qp in a state to receive at all? @qp->resp.lock is held. */
bool pinion_resp_listens(const struct pinion_qp *qp);

/*
 * A READ that is answered in pieces: is it let in? Nothing is moved yet. If not, the queue pair
 * breaks, but not for what is asked for @again: that may have been on its way since before its
 * memory was taken away, and its sender breaks only if it still waits for the answer. @source is
 * what pinion_respond_give() takes from. @qp->resp.lock is held.
 */
enum pinion_verdict pinion_respond_read(struct pinion_qp *qp, struct pinion_msg *msg,
					struct pinion_cursor *source, bool again);

/* The next msg->length bytes of it to msg->payload. Likewise. */
enum pinion_verdict pinion_respond_give(struct pinion_qp *qp, struct pinion_msg *msg,
					struct pinion_cursor *source, bool again);

#endif
