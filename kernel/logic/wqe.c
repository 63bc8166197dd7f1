// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Checks the form of work requests. Keys and addresses are checked later.
 */
#include <linux/kernel.h>
#include <rdma/ib_user_verbs.h>

#include "wqe.h"

#define KNOWN_FLAGS (PINION_WQE_FENCE | PINION_WQE_SIGNALED | PINION_WQE_SOLICITED | \
		     PINION_WQE_INLINE)
#define FLUSH_TYPES (IB_FLUSH_GLOBAL | IB_FLUSH_PERSISTENT)
#define WORD_SIZE 8

enum pinion_syndrome pinion_wqe_check_head(const struct pinion_sq_wqe *wqe,
					   const struct pinion_wqe_limits *limits,
					   const struct pinion_op **op)
{
	*op = pinion_op(wqe->opcode);
	if (!*op || !((*op)->services & limits->service) ||
	    ((*op)->traits & PINION_OP_KERNEL_ONLY && limits->user) ||
	    ((*op)->traits & PINION_OP_RAW_ONLY && !limits->raw))
		return PINION_SYN_OPCODE;
	if ((*op)->traits & PINION_OP_HAS_ANSWER && !limits->depth)
		return PINION_SYN_DEPTH;
	if (wqe->flags & ~(limits->raw ? KNOWN_FLAGS | PINION_WQE_LEAD : KNOWN_FLAGS))
		return PINION_SYN_BAD_WQE;
	if (wqe->flags & PINION_WQE_LEAD &&
	    (!((*op)->traits & PINION_OP_MAY_INLINE) || wqe->flags & PINION_WQE_INLINE ||
	     !wqe->num_sge))
		return PINION_SYN_BAD_WQE;
	if (wqe->flags & PINION_WQE_INLINE) {
		if (!((*op)->traits & PINION_OP_MAY_INLINE) || wqe->num_sge)
			return PINION_SYN_BAD_WQE;
		if (wqe->inline_length > limits->max_inline)
			return PINION_SYN_LENGTH;
	}
	/* A FLUSH without a type would need no rights, so any key would allow it. */
	if (wqe->opcode == PINION_OP_FLUSH &&
	    (!wqe->flush.type || wqe->flush.type & ~FLUSH_TYPES || wqe->flush.level > IB_FLUSH_MR))
		return PINION_SYN_BAD_WQE;
	if (wqe->num_sge > limits->max_sge)
		return PINION_SYN_BAD_WQE;
	if (wqe->num_sge &&
	    !((*op)->traits & (PINION_OP_READS_SGES | PINION_OP_WRITES_SGES)))
		return PINION_SYN_BAD_WQE;
	if (wqe->flags & PINION_WQE_LEAD &&
	    (wqe->inline_length > limits->max_inline || pinion_wqe_tail(wqe) > limits->max_inline))
		return PINION_SYN_LENGTH;
	return 0;
}

enum pinion_syndrome pinion_wqe_measure(const struct pinion_sq_wqe *wqe, const struct pinion_op *op,
					const struct pinion_wqe_limits *limits, u64 *length)
{
	*length = wqe->flags & PINION_WQE_INLINE ? wqe->inline_length :
		  pinion_sge_sum(pinion_wqe_sges(wqe), wqe->num_sge);
	if (wqe->flags & PINION_WQE_LEAD && pinion_wqe_sges(wqe)->length != wqe->inline_length)
		return PINION_SYN_BAD_WQE;
	/* A local request sends no message. */
	if (op->traits & PINION_OP_IS_LOCAL)
		*length = 0;

	/* The buffer for the result of an atomic may be larger than needed. */
	if (pinion_op_is_atomic(op) && *length > WORD_SIZE)
		*length = WORD_SIZE;
	if (op->traits & PINION_OP_WORD && *length != WORD_SIZE)
		return PINION_SYN_LENGTH;
	if (*length > limits->max_length)
		return PINION_SYN_LENGTH;
	return 0;
}
