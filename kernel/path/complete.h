/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The end of a work request: its completion, and the events that go with failure.
 */
#ifndef PINION_PATH_COMPLETE_H
#define PINION_PATH_COMPLETE_H

#include "cq.h"
#include "qp.h"

/*
 * Fill in one completion and wake who asked for it. Process context. Return: false if it
 * is lost, as @cq is full, or was once; the queue pair cannot go on then.
 */
bool pinion_complete(struct pinion_cq *cq, struct pinion_cqe *cqe);

/* A request of @qp's send queue; on success only if asked for. */
bool pinion_complete_send(struct pinion_qp *qp, const struct pinion_request *request,
			  enum ib_wc_status status, enum pinion_syndrome syndrome);

/* The receive request that was taken last, in @qp->resp.recv, got no message. */
bool pinion_complete_recv_error(struct pinion_qp *qp, struct pinion_cq *cq,
				enum ib_wc_status status, enum pinion_syndrome syndrome);

void pinion_qp_event(struct pinion_qp *qp, enum ib_event_type type);

/* What the verbs call a refusal of the requester's own request. */
enum ib_wc_status pinion_local_status(enum pinion_syndrome syndrome);

#endif
