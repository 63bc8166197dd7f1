/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The responder: what arriving messages do to a queue pair, whichever engine
 * brought them.
 */
#ifndef PINION_PATH_RESPOND_H
#define PINION_PATH_RESPOND_H

#include "cursor.h"
#include "qp.h"

struct pinion_fault;

/*
 * One message, as both sides of an engine see it; or a piece of one, where an engine has several:
 * then @length, @payload and @packets are of the piece.
 */
struct pinion_msg {
	const struct pinion_op *op;
	u8 opcode;			/* enum pinion_opcode */
	u8 service;			/* enum pinion_service it is sent by */
	bool xrc;
	bool solicited;
	bool begins;			/* the first piece, */
	bool ends;			/* and the last: of most messages the same */
	u64 length;
	u64 whole;			/* with PINION_OP_REMOTE_MEM and @begins: of all pieces */
	u32 ex;				/* immediate, or the rkey to invalidate */
	u32 src_qpn;
	u32 dst_qpn;			/* or PINION_MULTICAST_QPN */
	struct pinion_cursor *payload;	/* of the requester: source, or sink of READ */

	/* It lacked a page before, and comes again: */
	u64 token;			/* what the responder knows it by; 0: not at all */
	int fault_err;			/* the peer's page could not be had, */
	u64 fault_left;			/* which was lacking with so much left */
	struct pinion_fault *fault;	/* for a page of the peer's; NULL: there is none */
	/* What the responder says to that: */
	bool resumed;			/* both cursors stand where they were */
	bool asked;			/* with PINION_PEER_PAGE: @fault is running */
	struct pinion_missing missing;	/* with PINION_OWN_PAGE, and held on to */

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
	PINION_SILENCE,		/* nobody answers */
	PINION_RNR,		/* no receive request; wait for its timer */
	PINION_NAK_REQUEST,	/* invalid request */
	PINION_NAK_ACCESS,	/* remote access error */
	PINION_NAK_OPERATION,	/* remote operational error */
	PINION_OWN_FAULT,	/* the requester's payload cursor was refused */
	PINION_OWN_PAGE,	/* a page of it is missing: bring it, come again */
	PINION_PEER_PAGE,	/* a page of the peer's is: wait for it, come again */
};

/*
 * @qp->resp.lock is held. Performs @msg as far as the verdict says; waits for no page. The
 * payload is taken from its beginning, unless @msg is resumed. The pieces of a message come in
 * order, and nothing else of its queue pair comes between; one that was not performed may come
 * again.
 */
enum pinion_verdict pinion_respond(struct pinion_qp *qp, struct pinion_msg *msg);

/* Does anything that arrives act on @qp at all? @qp->resp.lock is held. */
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
