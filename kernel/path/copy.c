// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Performs COPY. Source and sink are both behind keys of the sender's own domain.
 */
#include "copy.h"
#include "move.h"

/* Check both keys before anything is written. Return: 0 or a syndrome. */
static enum pinion_syndrome copy_begin(struct pinion_qp *qp, struct pinion_request *request,
				       const struct pinion_sge *ends)
{
	struct pinion_keys *keys = &qp->node->keys;
	enum pinion_syndrome syndrome;

	if (request->copying)
		return 0;
	request->copying = true;
	pinion_cursor_local(&request->payload, keys, qp->ibqp.pd, &ends[0], 1, 0);
	pinion_cursor_local(&request->sink, keys, qp->ibqp.pd, &ends[1], 1,
			    IB_ACCESS_LOCAL_WRITE);
	syndrome = pinion_cursor_check(&request->payload);
	return syndrome ?: pinion_cursor_check(&request->sink);
}

/*
 * After a page was missing the copy goes on where it was. The cursors are kept meanwhile, so that
 * a key whose memory was exchanged is refused.
 */
enum pinion_step pinion_copy(struct pinion_qp *qp, struct pinion_request *request)
{
	/* raw_qp.c has put the source and the sink there. They have the same length. */
	const struct pinion_sge *ends = (const void *)(request->wqe + 1);
	struct pinion_missing missing;
	enum pinion_moved moved;
	enum pinion_syndrome syndrome;
	u64 left;

	syndrome = copy_begin(qp, request, ends);
	if (syndrome)
		return pinion_sq_fail_local(qp, syndrome);
	left = ends[0].length - request->at;
	moved = pinion_move(qp->node, &request->sink, &request->payload, &left, &missing);
	request->at = ends[0].length - left;
	if (moved == PINION_MOVED)
		return pinion_sq_succeed(qp, request);
	if (moved == PINION_MOVE_REFUSED)
		return pinion_sq_fail_local(qp, request->payload.syndrome ?:
						request->sink.syndrome);
	return pinion_sq_bring_own(qp, &missing);
}
