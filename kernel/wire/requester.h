/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of the requester (requester*.c) have in common. sq.exec is held wherever nothing
 * else is said.
 */
#ifndef PINION_WIRE_REQUESTER_H
#define PINION_WIRE_REQUESTER_H

#include "../logic/psn.h"
#include "../path/exec.h"
#include "conn.h"

struct pinion_missing;
struct pinion_msg;

/* In other states the executor flushes requests. */
static inline bool pinion_requester_runs(const struct pinion_qp *qp)
{
	return qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD;
}

/* May another step follow the @steps of this turn? Not if somebody else wants sq.exec. */
static inline bool pinion_requester_goes_on(const struct pinion_qp *qp, int steps)
{
	return pinion_requester_runs(qp) && !(steps && pinion_half_is_wanted(&qp->sq.exec));
}

static inline struct pinion_request *pinion_requester_slot(struct pinion_requests *requests, u32 i)
{
	return &requests->slots[i & (requests->depth - 1)];
}

/* Where the payload of packet @psn begins. */
static inline u64 pinion_request_offset(const struct pinion_conn *conn,
					const struct pinion_request *request, u32 psn)
{
	return (u64)((psn - request->psn) & PINION_PSN_MASK) * conn->qp->mtu;
}

/* requester_window.c */

/* Find the request that has packet @psn; NULL: none has. */
struct pinion_request *pinion_requester_find(struct pinion_conn *conn, u32 psn);
/* Set the cursor of the payload to @offset. */
void pinion_request_seek(struct pinion_request *request, u64 offset);
/* The request has failed. It is completed with this status when it is the oldest. */
void pinion_request_stick(struct pinion_request *request, enum ib_wc_status status,
			  enum pinion_syndrome syndrome);
void pinion_request_stick_local(struct pinion_qp *qp, struct pinion_request *request,
				enum pinion_syndrome syndrome);
/* @request lacks a page of its own: start the fault. The packet is begun anew afterwards. */
enum pinion_step pinion_requester_lack(struct pinion_conn *conn, struct pinion_request *request,
				       struct pinion_missing *missing);
/* Tell conn->sender the number of the next answer that is due. */
void pinion_requester_owe(struct pinion_conn *conn);
/* Retire requests that are acknowledged. Return: whether there were any. */
bool pinion_requester_retire(struct pinion_conn *conn);
/*
 * The oldest request has failed: complete it, and break the queue pair. That takes both halves, so
 * a stranger only notes it, and the executor does it. Return: DONE; PARKED if it is noted.
 */
enum pinion_step pinion_requester_fail_oldest(struct pinion_conn *conn, enum ib_wc_status status,
					      enum pinion_syndrome syndrome);
/* Retire what is acknowledged, and fail the oldest of the rest. */
void pinion_requester_fail(struct pinion_conn *conn, enum ib_wc_status status,
			   enum pinion_syndrome syndrome);

/* Has the oldest request failed, and is not completed yet? Then no answers are processed. */
static inline bool pinion_requester_is_stuck(struct pinion_qp *qp)
{
	const struct pinion_request *request = pinion_requests_oldest(&qp->sq.requests);

	return request && request->stuck;
}

/* requester_clock.c */

/* Packets were acknowledged: reset the timer, and let the window grow. */
void pinion_requester_advanced(struct pinion_conn *conn);
/* Do what conn->sender has decided. */
void pinion_requester_obey(struct pinion_conn *conn, enum pinion_sender_step step, u8 syndrome);
/* Has a timer expired? */
void pinion_requester_look_at_clock(struct pinion_conn *conn);
/* Start the ACK timer if it is needed and does not run. (A deadline of 0 means that.) */
void pinion_requester_watch(struct pinion_conn *conn);

/* Do answers wait to be processed? */
static inline bool pinion_requester_hears(const struct pinion_conn *conn)
{
	return pinion_line_waits(&conn->answers) ||
	       (conn->sender.owed && pinion_kept_waits(&conn->kept_answers, conn->sender.due));
}

/* requester_answers.c: process waiting packets, at most some. Return: DONE if there were any. */
enum pinion_step pinion_requester_listen(struct pinion_conn *conn);

/*
 * requester_packet.c: make the headers of packet @psn of @request. *@packets is set to the numbers
 * that it takes.
 */
void pinion_requester_packet(struct pinion_conn *conn, const struct pinion_request *request,
			     const struct pinion_msg *msg, u32 psn, struct pinion_packet *packet,
			     u32 *packets);

/*
 * requester_send.c: send the next packets of @request. Return: DONE if they were sent, or the
 * request has failed.
 */
enum pinion_step pinion_requester_send(struct pinion_conn *conn, struct pinion_request *request);
/* Does the window have room for @packets? If nothing is under way, any packet may be sent. */
bool pinion_requester_has_room(const struct pinion_conn *conn, u32 packets);

#endif
