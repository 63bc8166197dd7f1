// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requests that a requester has under way: which packet is of which request, what their peer
 * owes an answer for, and how they retire or fail. sq.exec is held.
 */
#include "../path/complete.h"
#include "requester.h"

struct pinion_request *pinion_requester_find(struct pinion_conn *conn, u32 psn)
{
	struct pinion_requests *requests = &conn->qp->sq.requests;
	struct pinion_request *request;
	u32 i;

	for (i = requests->oldest; i != requests->next; i++) {
		request = pinion_requester_slot(requests, i);
		if (request->begun && pinion_psn_within(psn, request->psn, request->packets))
			return request;
	}
	return NULL;
}

/* Does the request have an answer of its own, instead of an acknowledgment? */
static bool request_is_answered(const struct pinion_request *request)
{
	return request->op->traits & PINION_OP_HAS_ANSWER ||
	       request->wqe->opcode == PINION_OP_FLUSH;
}

void pinion_request_seek(struct pinion_request *request, u64 offset)
{
	if (request->at != offset)
		pinion_cursor_seek(&request->payload, offset);
	request->at = offset;
}

void pinion_request_stick(struct pinion_request *request, enum ib_wc_status status,
			  enum pinion_syndrome syndrome)
{
	request->stuck = true;
	request->status = status;
	request->syndrome = syndrome;
}

void pinion_request_stick_local(struct pinion_qp *qp, struct pinion_request *request,
				enum pinion_syndrome syndrome)
{
	if (syndrome)
		pinion_stat_inc(qp, local_key_errors);
	pinion_request_stick(request, pinion_local_status(syndrome), syndrome);
}

enum pinion_step pinion_requester_lack(struct pinion_conn *conn, struct pinion_request *request,
				       struct pinion_missing *missing)
{
	request->at = U64_MAX;
	conn->lacking = request;
	return pinion_sq_bring_own(conn->qp, missing);
}

void pinion_requester_owe(struct pinion_conn *conn)
{
	struct pinion_requests *requests = &conn->qp->sq.requests;
	struct pinion_sender *sender = &conn->sender;
	u32 sent = (sender->end - sender->una) & PINION_PSN_MASK;
	struct pinion_request *request;
	u32 i;

	for (i = requests->oldest; i != requests->next; i++) {
		request = pinion_requester_slot(requests, i);
		if (!request->begun)
			break;
		if (!request_is_answered(request))
			continue;
		if (pinion_psn_within(sender->una, request->psn, request->packets) && sent) {
			pinion_sender_owe(sender, sender->una);
			return;
		}
		if (pinion_psn_within(request->psn, sender->una, sent)) {
			pinion_sender_owe(sender, request->psn);
			return;
		}
	}
	pinion_sender_owe_none(sender);
	/* What is kept came twice. It must not wait until numbers have wrapped. */
	pinion_kept_forget(&conn->kept_answers);
}

static bool requester_may_retire(const struct pinion_conn *conn)
{
	const struct pinion_request *request = pinion_requests_oldest(&conn->qp->sq.requests);

	return pinion_requester_runs(conn->qp) && request && request->begun &&
	       !pinion_psn_within(conn->sender.una, request->psn, request->packets);
}

/* An acknowledgment that came before the last answer counts now. Return: whether there was one. */
static bool requester_settle(struct pinion_conn *conn)
{
	if (!pinion_sender_settle(&conn->sender))
		return false;
	pinion_requester_advanced(conn);
	return true;
}

bool pinion_requester_retire(struct pinion_conn *conn)
{
	struct pinion_qp *qp = conn->qp;
	struct pinion_request *request;
	bool any = false;

	do {
		while (requester_may_retire(conn)) {
			request = pinion_requests_oldest(&qp->sq.requests);
			pinion_sq_count_traffic(qp, request);
			pinion_sq_succeed(qp, request);
			any = true;
		}
		pinion_requester_owe(conn);
	} while (requester_settle(conn));
	/* Without requests the line is not read any more, so drop late duplicates. */
	if (any && !pinion_requests_count(&qp->sq.requests))
		pinion_stat_add(qp, rx_stale, pinion_line_forget(&conn->answers));
	return any;
}

enum pinion_step pinion_requester_fail_oldest(struct pinion_conn *conn, enum ib_wc_status status,
					      enum pinion_syndrome syndrome)
{
	struct pinion_qp *qp = conn->qp;

	if (!qp->sq.exec.visited)
		return pinion_sq_fail(qp, status, syndrome);
	pinion_request_stick(pinion_requests_oldest(&qp->sq.requests), status, syndrome);
	return PINION_STEP_PARKED;
}

void pinion_requester_fail(struct pinion_conn *conn, enum ib_wc_status status,
			   enum pinion_syndrome syndrome)
{
	pinion_requester_retire(conn);
	if (pinion_requester_runs(conn->qp) && pinion_requests_oldest(&conn->qp->sq.requests))
		pinion_requester_fail_oldest(conn, status, syndrome);
}
