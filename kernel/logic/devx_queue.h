/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * DEVX commands about queues: parses commands and writes answers.
 */
#ifndef PINION_LOGIC_DEVX_QUEUE_H
#define PINION_LOGIC_DEVX_QUEUE_H

#include "devx_cmd.h"

/* The current state of a completion queue, for QUERY_CQ. */
struct pinion_devx_cq_state {
	bool overflow;
	u32 producer;
	u32 consumer;
};

/* The current state of a queue pair, for QUERY_QP. */
struct pinion_devx_qp_state {
	u8 state;			/* enum ib_qp_state */
	u16 sq_done;			/* blocks of the send queue that were taken */
	u16 rq_done;			/* receive requests that were taken */
};

/*
 * Parse commands. The caller has checked the length of @in. The bits that mark umems as valid are
 * not checked: mlx5's own driver sets them in each command. Return: an enum pinion_devx_refusal.
 */
int pinion_devx_parse_cq(const u8 *in, struct pinion_devx_cq *cq);
int pinion_devx_parse_cq_change(const u8 *in, struct pinion_devx_cq_change *change);

int pinion_devx_parse_qp(const u8 *in, struct pinion_devx_qp *qp);
int pinion_devx_parse_qp_change(const u8 *in, struct pinion_devx_qp *qp);

int pinion_devx_parse_rmp(const u8 *in, struct pinion_devx_rmp *rmp);
int pinion_devx_parse_rmp_change(const u8 *in, struct pinion_devx_rmp_change *change);

/* Write the answer of QUERY_RMP. @out is zeroed and long enough. @done receives were taken. */
void pinion_devx_put_rmp(u8 *out, const struct pinion_devx_rmp *rmp, u16 done);

/* Write the answer of QUERY_QP. @out is zeroed and long enough. */
void pinion_devx_put_qp(u8 *out, const struct pinion_devx_qp *qp,
			const struct pinion_devx_qp_state *state);

/* Write the answer of QUERY_CQ. @out is zeroed and long enough. */
void pinion_devx_put_cq(u8 *out, const struct pinion_devx_cq *cq,
			const struct pinion_devx_cq_state *state);

#endif
