/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Is this work request well formed? Asked of a private copy, never of the ring.
 */
#ifndef PINION_LOGIC_WQE_H
#define PINION_LOGIC_WQE_H

#include <linux/bits.h>
#include <linux/types.h>
#include <rdma/pinion-abi.h>

#include "op.h"

#define PINION_MAX_MSG_SIZE	BIT(31)

/* What the queue it was posted on allows. */
struct pinion_wqe_limits {
	u8 service;		/* enum pinion_service */
	bool user;
	u32 max_sge;
	u32 max_inline;
	u64 max_length;		/* of a message: the MTU for datagrams */
	u32 depth;		/* reads and atomics at a time; 0: none */
};

/*
 * The fixed part: must hold before its counts are used to copy the rest. Return:
 * 0 and the opcode's row in *@op, or an enum pinion_syndrome.
 */
int pinion_wqe_check_head(const struct pinion_sq_wqe *wqe,
			  const struct pinion_wqe_limits *limits,
			  const struct pinion_op **op);

/* Bytes that follow the head. */
static inline u32 pinion_wqe_tail(const struct pinion_sq_wqe *wqe)
{
	return wqe->flags & PINION_WQE_INLINE ? wqe->inline_length :
	       wqe->num_sge * (u32)sizeof(struct pinion_sge);
}

/* The whole: sums the payload into *@length. Return as above. */
int pinion_wqe_measure(const struct pinion_sq_wqe *wqe, const struct pinion_op *op,
		       const struct pinion_wqe_limits *limits, u64 *length);

static inline const struct pinion_sge *pinion_wqe_sges(const struct pinion_sq_wqe *wqe)
{
	return (const struct pinion_sge *)(wqe + 1);
}

/* Sum of an sge list; cannot overflow: counts are small and lengths 32 bits. */
static inline u64 pinion_sge_sum(const struct pinion_sge *sge, u32 num_sge)
{
	u64 sum = 0;

	while (num_sge--)
		sum += sge++->length;
	return sum;
}

#endif
