// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "compat.h"
#include "opcode.h"

/* Opcodes and flags have the same values in the ABI and in verbs. */
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)
SAME(PINION_WQE_FENCE, IBV_SEND_FENCE);
SAME(PINION_WQE_SIGNALED, IBV_SEND_SIGNALED);
SAME(PINION_WQE_SOLICITED, IBV_SEND_SOLICITED);
SAME(PINION_WQE_INLINE, IBV_SEND_INLINE);
SAME(PINION_OP_RDMA_WRITE, IBV_WR_RDMA_WRITE);
SAME(PINION_OP_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM);
SAME(PINION_OP_SEND, IBV_WR_SEND);
SAME(PINION_OP_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM);
SAME(PINION_OP_RDMA_READ, IBV_WR_RDMA_READ);
SAME(PINION_OP_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_CMP_AND_SWP);
SAME(PINION_OP_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD);
SAME(PINION_OP_LOCAL_INV, IBV_WR_LOCAL_INV);
SAME(PINION_OP_BIND_MW, IBV_WR_BIND_MW);
SAME(PINION_OP_SEND_WITH_INV, IBV_WR_SEND_WITH_INV);
SAME(PINION_OP_ATOMIC_WRITE, IBV_WR_ATOMIC_WRITE);

uint32_t pinion_allowed_opcodes(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return OPS_SEND | OPS_WRITE | OPS_LOCAL | OPS_RELIABLE;
	case IBV_QPT_UC:
		return OPS_SEND | OPS_WRITE | OPS_LOCAL;
	case IBV_QPT_UD:
		return OPS_SEND;
	default:
		return 0;
	}
}

/* The flag of ibv_create_qp_ex() for each opcode. */
static const struct {
	uint64_t send_op;
	uint8_t opcode;
} send_ops[] = {
	{ IBV_QP_EX_WITH_RDMA_WRITE, PINION_OP_RDMA_WRITE },
	{ IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, PINION_OP_RDMA_WRITE_WITH_IMM },
	{ IBV_QP_EX_WITH_SEND, PINION_OP_SEND },
	{ IBV_QP_EX_WITH_SEND_WITH_IMM, PINION_OP_SEND_WITH_IMM },
	{ IBV_QP_EX_WITH_RDMA_READ, PINION_OP_RDMA_READ },
	{ IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, PINION_OP_ATOMIC_CMP_AND_SWP },
	{ IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, PINION_OP_ATOMIC_FETCH_AND_ADD },
	{ IBV_QP_EX_WITH_LOCAL_INV, PINION_OP_LOCAL_INV },
	{ IBV_QP_EX_WITH_BIND_MW, PINION_OP_BIND_MW },
	{ IBV_QP_EX_WITH_SEND_WITH_INV, PINION_OP_SEND_WITH_INV },
	{ IBV_QP_EX_WITH_FLUSH, PINION_OP_FLUSH },
	{ IBV_QP_EX_WITH_ATOMIC_WRITE, PINION_OP_ATOMIC_WRITE },
};

uint64_t pinion_allowed_send_ops(enum ibv_qp_type type)
{
	uint32_t allowed = pinion_allowed_opcodes(type);
	uint64_t ops = 0;
	size_t i;

	for (i = 0; i < sizeof(send_ops) / sizeof(send_ops[0]); i++) {
		if (1U << send_ops[i].opcode & allowed)
			ops |= send_ops[i].send_op;
	}
	return ops;
}
