// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Performs requests that send nothing. Those that change keys are calls of the memory layer.
 */
#include "../mem/fastreg.h"
#include "../mem/layout.h"
#include "../mem/window.h"
#include "copy.h"
#include "local.h"

/* Return: 0 or a syndrome. */
static enum pinion_syndrome local_change_key(struct pinion_qp *qp,
					     const struct pinion_request *request)
{
	struct pinion_keys *keys = &qp->node->keys;
	const struct pinion_sq_wqe *wqe = request->wqe;
	enum pinion_syndrome syndrome;

	switch (wqe->opcode) {
	case PINION_OP_BIND_MW:
		syndrome = pinion_window_bind(keys, qp->ibqp.pd, qp->ibqp.qp_num, &wqe->bind);
		return syndrome ? PINION_SYN_BIND : 0;
	case PINION_OP_LOCAL_INV:
		return pinion_key_invalidate(keys, qp->ibqp.pd, wqe->ex, 0);
	case PINION_OP_REG_MR:
		return pinion_fastreg(keys, qp->ibqp.pd, &wqe->reg);
	case PINION_OP_LAYOUT:
		/* raw_qp.c has put layout.num ranges behind the request. */
		syndrome = pinion_layout_set(keys, qp->ibqp.pd, &wqe->layout,
					     (const void *)(wqe + 1));
		return syndrome ? PINION_SYN_BIND : 0;
	}
	return PINION_SYN_OPCODE;
}

enum pinion_step pinion_local_perform(struct pinion_qp *qp, struct pinion_request *request)
{
	enum pinion_syndrome syndrome;

	if (request->wqe->opcode == PINION_OP_COPY)
		return pinion_copy(qp, request);
	/* It only completes, behind all before it. */
	if (request->wqe->opcode == PINION_OP_NOP)
		return pinion_sq_succeed(qp, request);
	syndrome = local_change_key(qp, request);
	if (syndrome)
		return pinion_sq_fail(qp, pinion_local_status(syndrome), syndrome);
	return pinion_sq_succeed(qp, request);
}
