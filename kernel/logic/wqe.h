/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Checks the form of work requests. Called with a private copy, never with the ring's.
 */
#ifndef PINION_LOGIC_WQE_H
#define PINION_LOGIC_WQE_H

#include <linux/bits.h>
#include <linux/types.h>
#include <rdma/pinion-abi.h>

#include "op.h"

#define PINION_MAX_MSG_SIZE	BIT(31)

/* Limits of the queue that the request was posted on. */
struct pinion_wqe_limits {
	u8 service;		/* enum pinion_service */
	bool user;
	bool raw;		/* in mlx5's format */
	u32 max_sge;
	u32 max_inline;
	u64 max_length;		/* of a message; for datagrams the MTU */
	u32 depth;		/* reads and atomics under way; 0: none are allowed */
};

/*
 * Check the fixed part, before its counts are used to copy the rest. Return: 0, and *@op is set; or
 * an enum pinion_syndrome.
 */
enum pinion_syndrome pinion_wqe_check_head(const struct pinion_sq_wqe *wqe,
					   const struct pinion_wqe_limits *limits,
					   const struct pinion_op **op);

/* The number of bytes behind the fixed part. */
static inline u32 pinion_wqe_tail(const struct pinion_sq_wqe *wqe)
{
	u32 list = wqe->num_sge * (u32)sizeof(struct pinion_sge);

	/* At most one of them is there, except with PINION_WQE_LEAD. */
	return list + (wqe->flags & (PINION_WQE_INLINE | PINION_WQE_LEAD) ? wqe->inline_length : 0);
}

/* Check the length of the payload, and store it in *@length. Return as above. */
enum pinion_syndrome pinion_wqe_measure(const struct pinion_sq_wqe *wqe, const struct pinion_op *op,
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
