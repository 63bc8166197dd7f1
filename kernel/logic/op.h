/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Properties of work request opcodes. The rest of the driver looks at the table instead of
 * switching over opcodes.
 */
#ifndef PINION_LOGIC_OP_H
#define PINION_LOGIC_OP_H

#include <linux/types.h>

/* Services of QPs, as a mask. */
enum pinion_service {
	PINION_SVC_RC	= 1 << 0,	/* and XRC */
	PINION_SVC_UC	= 1 << 1,
	PINION_SVC_UD	= 1 << 2,	/* and GSI */
};

enum pinion_op_traits {
	PINION_OP_IS_LOCAL	= 1 << 0,	/* sends nothing to a peer */
	PINION_OP_READS_SGES	= 1 << 1,	/* payload comes from the sge list */
	PINION_OP_WRITES_SGES	= 1 << 2,	/* result goes to the sge list */
	PINION_OP_TAKES_RECV	= 1 << 3,	/* consumes a receive request */
	PINION_OP_HAS_IMM	= 1 << 4,
	PINION_OP_HAS_INV	= 1 << 5,
	PINION_OP_REMOTE_MEM	= 1 << 6,	/* names remote memory by rkey */
	PINION_OP_MAY_INLINE	= 1 << 7,
	PINION_OP_KERNEL_ONLY	= 1 << 8,
	PINION_OP_WORD		= 1 << 9,	/* exactly 8 aligned bytes */
	PINION_OP_RAW_ONLY	= 1 << 11,	/* created from requests in mlx5's format */
	PINION_OP_HAS_ANSWER	= 1 << 10,	/* counts against max_(dest_)rd_atomic */
};

struct pinion_op {
	const char *name;	/* NULL: no such opcode */
	u32 traits;
	u32 remote_rights;	/* IB_ACCESS_* that both the key and the QP must grant */
	u8 services;
	u8 wc_opcode;		/* enum ib_uverbs_wc_opcode of the sender */
	u8 recv_wc_opcode;	/* of the receiver, where PINION_OP_TAKES_RECV */
};

/* Is it an RDMA READ, whose answer has packets with payload? (That of an atomic is one word.) */
static inline bool pinion_op_is_read(const struct pinion_op *op)
{
	return (op->traits & (PINION_OP_WRITES_SGES | PINION_OP_WORD)) == PINION_OP_WRITES_SGES;
}

/* Does it change a word, and answer what was there before? ATOMIC_WRITE does not answer. */
static inline bool pinion_op_is_atomic(const struct pinion_op *op)
{
	return op->traits & PINION_OP_WORD && op->traits & PINION_OP_WRITES_SGES;
}

/* The properties of @opcode, which may be any number; NULL: no such opcode. */
const struct pinion_op *pinion_op(u8 opcode);

#endif
