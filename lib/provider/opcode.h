/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which opcodes can be posted, on which QPs and by which functions.
 */
#ifndef PINION_OPCODE_H
#define PINION_OPCODE_H

#include <infiniband/verbs.h>
#include <rdma/pinion-abi.h>

/* Sets of opcodes have a bit for each. */
#define OP(name) (1U << PINION_OP_##name)

enum {
	OPS_SEND = OP(SEND) | OP(SEND_WITH_IMM),
	OPS_WRITE = OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM),
	OPS_LOCAL = OP(LOCAL_INV) | OP(BIND_MW),
	/* what only a reliable transport has */
	OPS_RELIABLE = OP(RDMA_READ) | OP(ATOMIC_CMP_AND_SWP) |
		       OP(ATOMIC_FETCH_AND_ADD) | OP(SEND_WITH_INV) |
		       OP(FLUSH) | OP(ATOMIC_WRITE),
	OPS_INLINE = OPS_SEND | OPS_WRITE | OP(SEND_WITH_INV) |
		     OP(ATOMIC_WRITE),
	/* without FLUSH, for which struct ibv_send_wr has no fields: ibv_wr_*() only */
	OPS_POSTED = OPS_SEND | OPS_WRITE | OPS_LOCAL |
		     (OPS_RELIABLE & ~OP(FLUSH)),
};

/* The opcodes that a queue pair of @type has, */
uint32_t pinion_allowed_opcodes(enum ibv_qp_type type);
/* and the same as IBV_QP_EX_WITH_*. */
uint64_t pinion_allowed_send_ops(enum ibv_qp_type type);

#endif /* PINION_OPCODE_H */
