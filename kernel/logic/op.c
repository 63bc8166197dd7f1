// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The table of work request opcodes.
 */
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/pinion-abi.h>

#include "op.h"

#define RC PINION_SVC_RC
#define UC PINION_SVC_UC
#define UD PINION_SVC_UD

#define SOURCE (PINION_OP_READS_SGES | PINION_OP_MAY_INLINE)
#define REMOTE PINION_OP_REMOTE_MEM
#define ATOMIC (PINION_OP_WRITES_SGES | REMOTE | PINION_OP_WORD | PINION_OP_HAS_ANSWER)

/* Values of enum ib_wc_opcode that enum ib_uverbs_wc_opcode lacks. */
#define WC_RECV			128
#define WC_RECV_RDMA_WITH_IMM	129
#define WC_REG_MR		10

static const struct pinion_op ops[PINION_OP_MAX] = {
	[PINION_OP_RDMA_WRITE] = {
		.name = "RDMA_WRITE",
		.traits = SOURCE | REMOTE,
		.remote_rights = IB_UVERBS_ACCESS_REMOTE_WRITE,
		.services = RC | UC,
		.wc_opcode = IB_UVERBS_WC_RDMA_WRITE,
	},
	[PINION_OP_RDMA_WRITE_WITH_IMM] = {
		.name = "RDMA_WRITE_WITH_IMM",
		.traits = SOURCE | REMOTE | PINION_OP_TAKES_RECV | PINION_OP_HAS_IMM,
		.remote_rights = IB_UVERBS_ACCESS_REMOTE_WRITE,
		.services = RC | UC,
		.wc_opcode = IB_UVERBS_WC_RDMA_WRITE,
		.recv_wc_opcode = WC_RECV_RDMA_WITH_IMM,
	},
	[PINION_OP_SEND] = {
		.name = "SEND",
		.traits = SOURCE | PINION_OP_TAKES_RECV,
		.services = RC | UC | UD,
		.wc_opcode = IB_UVERBS_WC_SEND,
		.recv_wc_opcode = WC_RECV,
	},
	[PINION_OP_SEND_WITH_IMM] = {
		.name = "SEND_WITH_IMM",
		.traits = SOURCE | PINION_OP_TAKES_RECV | PINION_OP_HAS_IMM,
		.services = RC | UC | UD,
		.wc_opcode = IB_UVERBS_WC_SEND,
		.recv_wc_opcode = WC_RECV,
	},
	[PINION_OP_SEND_WITH_INV] = {
		.name = "SEND_WITH_INV",
		.traits = SOURCE | PINION_OP_TAKES_RECV | PINION_OP_HAS_INV,
		.services = RC,
		.wc_opcode = IB_UVERBS_WC_SEND,
		.recv_wc_opcode = WC_RECV,
	},
	[PINION_OP_RDMA_READ] = {
		.name = "RDMA_READ",
		.traits = PINION_OP_WRITES_SGES | REMOTE | PINION_OP_HAS_ANSWER,
		.remote_rights = IB_UVERBS_ACCESS_REMOTE_READ,
		.services = RC,
		.wc_opcode = IB_UVERBS_WC_RDMA_READ,
	},
	[PINION_OP_ATOMIC_CMP_AND_SWP] = {
		.name = "ATOMIC_CMP_AND_SWP",
		.traits = ATOMIC,
		.remote_rights = IB_UVERBS_ACCESS_REMOTE_ATOMIC,
		.services = RC,
		.wc_opcode = IB_UVERBS_WC_COMP_SWAP,
	},
	[PINION_OP_ATOMIC_FETCH_AND_ADD] = {
		.name = "ATOMIC_FETCH_AND_ADD",
		.traits = ATOMIC,
		.remote_rights = IB_UVERBS_ACCESS_REMOTE_ATOMIC,
		.services = RC,
		.wc_opcode = IB_UVERBS_WC_FETCH_ADD,
	},
	[PINION_OP_ATOMIC_WRITE] = {
		.name = "ATOMIC_WRITE",
		.traits = SOURCE | REMOTE | PINION_OP_WORD | PINION_OP_HAS_ANSWER,
		.remote_rights = IB_UVERBS_ACCESS_REMOTE_WRITE,
		.services = RC,
		.wc_opcode = IB_UVERBS_WC_ATOMIC_WRITE,
	},
	[PINION_OP_FLUSH] = {
		.name = "FLUSH",
		.traits = REMOTE,
		/* The request says which flush rights it needs. */
		.services = RC,
		.wc_opcode = IB_UVERBS_WC_FLUSH,
	},
	[PINION_OP_LOCAL_INV] = {
		.name = "LOCAL_INV",
		.traits = PINION_OP_IS_LOCAL | PINION_OP_HAS_INV,
		.services = RC | UC | UD,
		.wc_opcode = IB_UVERBS_WC_LOCAL_INV,
	},
	[PINION_OP_BIND_MW] = {
		.name = "BIND_MW",
		.traits = PINION_OP_IS_LOCAL,
		.services = RC | UC,
		.wc_opcode = IB_UVERBS_WC_BIND_MW,
	},
	[PINION_OP_REG_MR] = {
		.name = "REG_MR",
		.traits = PINION_OP_IS_LOCAL | PINION_OP_KERNEL_ONLY,
		.services = RC | UC | UD,
		.wc_opcode = WC_REG_MR,
	},
	[PINION_OP_LAYOUT] = {
		.name = "LAYOUT",
		.traits = PINION_OP_IS_LOCAL | PINION_OP_MAY_INLINE | PINION_OP_RAW_ONLY,
		.services = RC,
		.wc_opcode = WC_REG_MR,
	},
	[PINION_OP_COPY] = {
		.name = "COPY",
		.traits = PINION_OP_IS_LOCAL | PINION_OP_MAY_INLINE | PINION_OP_RAW_ONLY,
		.services = RC,
		.wc_opcode = WC_REG_MR,
	},
	[PINION_OP_NOP] = {
		.name = "NOP",
		.traits = PINION_OP_IS_LOCAL | PINION_OP_RAW_ONLY,
		.services = RC | UC | UD,
		.wc_opcode = WC_REG_MR,
	},
};

const struct pinion_op *pinion_op(u8 opcode)
{
	if (opcode >= PINION_OP_MAX)
		return NULL;
	/* Chosen by a user: bound the index for speculative execution, too. */
	opcode = array_index_nospec(opcode, PINION_OP_MAX);
	if (!ops[opcode].name)
		return NULL;
	return &ops[opcode];
}
