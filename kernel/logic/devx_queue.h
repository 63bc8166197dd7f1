/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The commands of DEVX about queues: what is asked for, and what there is.
 */
#ifndef PINION_LOGIC_DEVX_QUEUE_H
#define PINION_LOGIC_DEVX_QUEUE_H

#include "devx_cmd.h"

/* How a completion queue is just now. */
struct pinion_devx_cq_state {
	bool overflow;
	u32 producer;
	u32 consumer;
};

/* How a queue pair is just now, beside what it was asked to be. */
struct pinion_devx_qp_state {
	u8 state;			/* enum ib_qp_state */
	u16 sq_done;			/* blocks, and receives, that were taken */
	u16 rq_done;
};

/* Of commands that are long enough. Return: an enum pinion_devx_refusal. */
int pinion_devx_parse_cq(const u8 *in, struct pinion_devx_cq *cq);
int pinion_devx_parse_cq_change(const u8 *in, struct pinion_devx_cq_change *change);

int pinion_devx_parse_qp(const u8 *in, struct pinion_devx_qp *qp);
void pinion_devx_parse_qp_change(const u8 *in, struct pinion_devx_qp *qp);

int pinion_devx_parse_rmp(const u8 *in, struct pinion_devx_rmp *rmp);
int pinion_devx_parse_rmp_change(const u8 *in, struct pinion_devx_rmp_change *change);

/* The answer of QUERY_RMP, zeroed and long enough; @done receives were taken. */
void pinion_devx_put_rmp(u8 *out, const struct pinion_devx_rmp *rmp, u16 done);

/* The answer of QUERY_QP, zeroed and long enough. */
void pinion_devx_put_qp(u8 *out, const struct pinion_devx_qp *qp,
			const struct pinion_devx_qp_state *state);

/* The answer of QUERY_CQ, zeroed and long enough. */
void pinion_devx_put_cq(u8 *out, const struct pinion_devx_cq *cq,
			const struct pinion_devx_cq_state *state);

#endif
