/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The wire's data of a queue pair whose peers are on other hosts: the state of its requester half
 * and of its responder half. Packets for it wait in two lines, one for each half, so that neither
 * half waits for the other. A UD queue pair has the line of requests only, which are datagrams.
 */
#ifndef PINION_WIRE_CONN_H
#define PINION_WIRE_CONN_H

#include <linux/hrtimer.h>

#include "../logic/inflight.h"
#include "../logic/receiver.h"
#include "../logic/sender.h"
#include "congestion.h"
#include "kept.h"
#include "line.h"
#include "outlet.h"
#include "route.h"
#include "train.h"
#include "wire.h"

/* The largest window: packets that a requester may have unacknowledged. */
#define PINION_CONN_WINDOW	256

struct pinion_asked;

/* A READ that is being answered, packet by packet. */
struct pinion_reading {
	bool active;
	bool again;			/* a duplicate: it was answered before */
	bool doubtful;			/* it had been kept: anybody may have sent it */
	u32 psn;			/* of the next packet of the answer */
	u32 srqn;			/* XRC */
	u32 offset;			/* of the next packet's payload in the answer */
	u32 length;			/* of the answer */
	struct pinion_asked *asked;	/* in conn.asked_for */
	struct pinion_cursor source;
};

/*
 * A FLUSH that has left before its end, and what it asks for: it goes on where it was only if it is
 * the same that comes again.
 */
struct pinion_flushing {
	u64 token;			/* see struct pinion_msg; 0: there is none */
	u64 addr;
	u64 length;
	u32 rkey;
	u32 rights;
	bool all;
	u32 psn;
};

/* The result of an atomic, to answer a duplicate of the request. */
struct pinion_found {
	u64 number;			/* pinion_receiver_number() of its packet */
	u64 before;			/* the old value */
};

/* A READ, to check a duplicate of the request, or one for what was lost of the answer. */
struct pinion_asked {
	u64 number;			/* of the first packet of its answer */
	u64 addr;
	u64 era;			/* in which it began; see struct pinion_cursor */
	u32 packets;
	u32 length;
	u32 rkey;
	u32 srqn;			/* XRC */
};

struct pinion_conn {
	struct pinion_qp *qp;
	struct pinion_outlet *outlet;
	struct sk_buff *held;		/* delayed by order until the next is sent; see harm.h */
	struct pinion_congestion congestion;

	/* The requester half: protected by sq.exec, apart from adding to @answers. */
	struct pinion_sender sender;
	struct pinion_line answers;
	struct pinion_kept kept_answers;	/* behind sender.due */
	u32 looked;			/* ring index: an executor has seen what is before it */
	bool attended;			/* pinion_requester_turn() runs, and will read @answers */
	struct pinion_errand errand;	/* of the holder of sq.exec */
	struct pinion_request *lacking;	/* the request that sq.fault brings a page for */
	struct hrtimer timer;
	struct pinion_outlet_wait requests_wait;	/* for room to send them */
	u64 deadline;			/* of the ACK or RNR timer, in ns; 0: none */
	u8 lateness;			/* log2 of the factor of the ACK timeout */
	u64 paced;			/* nothing is sent until then, in ns; 0: no pause */
	u64 full_until;			/* since a queue of the netdev was full; 0: it was not */
	u64 full_pause;			/* of the last time, 0 after something was sent */
	struct pinion_inflight inflight;	/* of requests and answers */
	u32 una;			/* sender.una at the last update of @inflight */
	struct pinion_route route;	/* of requests */

	/* The responder half: protected by resp.lock, apart from adding to @requests. */
	struct pinion_receiver receiver;
	struct pinion_line requests;
	struct pinion_kept kept_requests;	/* behind receiver.expected */
	struct pinion_errand *bringer;	/* errand of the thread that delivers packets, or NULL */
	u32 answers_here;		/* packets of answers that it may send besides */
	struct pinion_route answer_route;
	struct work_struct work;	/* responds */
	struct hrtimer pause;		/* queues @work: the socket may have room again */
	struct pinion_outlet_wait answers_wait;	/* for room to send them; wakes @work */
	bool ack_due;			/* an acknowledgment of @ack_psn must be sent */
	u32 ack_psn;			/* the last packet performed that has no other answer */
	bool has_unsaid;		/* nothing is done before @unsaid is sent, by @work */
	struct pinion_reading reading;
	struct pinion_flushing flushing;
	/* A missing page: */
	struct pinion_fault *fault;
	bool asked;			/* @fault was started, */
	u32 asked_psn;			/* for this packet */
	u8 page_timer;			/* RNR timer that was sent for it; 0: none yet */
	u32 page_psn;			/* the packet that @page_timer was sent for */

	struct pinion_packet unsaid;	/* what a stranger had no memory for */
	u64 num_found;			/* atomics performed so far */
	u64 num_asked_for;		/* READs performed so far */
	/* The last ones, as rings. Not allocated for UD, which has no duplicates. */
	struct pinion_found found[PINION_MAX_RD_ATOMIC];
	struct pinion_asked asked_for[PINION_MAX_RD_ATOMIC];
};

/*
 * Drop what waits in the line of requests, and have it accept none. resp.lock is held, or nobody
 * has it any more.
 */
static inline void pinion_conn_close_requests(struct pinion_conn *conn)
{
	pinion_stat_add(conn->qp, rx_overruns, pinion_line_close(&conn->requests));
}

/* The same of answers, and sq.exec. */
static inline void pinion_conn_close_answers(struct pinion_conn *conn)
{
	pinion_stat_add(conn->qp, rx_stale, pinion_line_close(&conn->answers));
}

/* conn.c: the engine's methods */
struct pinion_conn *pinion_conn_attach(struct pinion_qp *qp);
void pinion_conn_detach(struct pinion_qp *qp);
void pinion_conn_modified(struct pinion_qp *qp, enum ib_qp_state before, int mask);

/*
 * Deliver @skb to the half of @qp that @role says. The caller holds a reference to @qp. Process
 * context. @errand: of the calling thread, or NULL. @at_once: process requests here, if no other
 * thread does; else a work item does. Return: whether @skb was taken; if not, it was counted.
 */
bool pinion_conn_arrived(struct pinion_qp *qp, struct sk_buff *skb, enum pinion_packet_role role,
			 struct pinion_errand *errand, bool at_once);

/* The transport (enum pinion_transport) of its packets. */
u8 pinion_conn_transport(const struct pinion_qp *qp);

/* The flow is the same for all packets of a connection. */
static inline u32 pinion_conn_flow(const struct pinion_qp *qp)
{
	return pinion_wire_flow(&qp->av, qp->ibqp.qp_num, qp->attr.dest_qp_num);
}

/*
 * Does a packet with addresses @av come from the peer that @qp is connected to? sq.exec or
 * resp.lock is held; without a lock the answer may be wrong while @qp is being modified.
 */
bool pinion_conn_is_peer(const struct pinion_qp *qp, const struct pinion_av *av);

/* requester.c: the engine's method; sq.exec is held */
enum pinion_step pinion_requester_turn(struct pinion_qp *qp, u32 tail);

/*
 * Process answers in the thread that delivers them, when no executor runs. sq.exec is held. Return:
 * false if the executor must run, too.
 */
bool pinion_requester_glance(struct pinion_qp *qp);

/* sq.exec is held: drop all answers, and close the line. */
void pinion_requester_forget(struct pinion_conn *conn);

/*
 * responder.c: process waiting requests. @budget: how many packets, with those of answers, for a
 * stranger, who may also send conn->answers_here; how many steps for its own side. resp.lock is
 * held, as below.
 */
void pinion_responder_turn(struct pinion_conn *conn, int budget);
/* Drop all requests and answers, and close the line. */
void pinion_responder_forget(struct pinion_conn *conn);
/* The queue pair ends, and nobody else has its resp.lock any more. */
void pinion_responder_end(struct pinion_conn *conn);

/* datagram.c: likewise */
void pinion_datagram_turn(struct pinion_conn *conn, int packets);

#endif
