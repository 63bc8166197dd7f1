/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The end of a work request: its completion, and the events that go with failure.
 */
#ifndef PINION_PATH_COMPLETE_H
#define PINION_PATH_COMPLETE_H

#include "cq.h"
#include "qp.h"

/*
 * Write one completion and wake whoever waits for it, or hold it by order. Process context. Return:
 * false if the completion is lost because @cq is full, or overflowed before. The queue pair must
 * break then.
 */
bool pinion_complete(struct pinion_cq *cq, struct pinion_cqe *cqe);

/* Complete a request of @qp's send queue. A success that is not signaled has no completion. */
bool pinion_complete_send(struct pinion_qp *qp, const struct pinion_request *request,
			  enum ib_wc_status status, enum pinion_syndrome syndrome);

/* Complete the receive request in @qp->resp.recv with an error. */
bool pinion_complete_recv_error(struct pinion_qp *qp, struct pinion_cq *cq,
				enum ib_wc_status status, enum pinion_syndrome syndrome);

/*
 * @qp is reset or destroyed: drop its held completions from its completion queues. It completes
 * nothing meanwhile.
 */
void pinion_complete_forget(struct pinion_qp *qp);

void pinion_qp_event(struct pinion_qp *qp, enum ib_event_type type);

/* The completion status for a request that was refused by its own side. */
enum ib_wc_status pinion_local_status(enum pinion_syndrome syndrome);

#endif
