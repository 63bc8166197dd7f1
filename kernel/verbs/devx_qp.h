/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pairs created by DEVX commands: in umems, in mlx5's format. Peers see no difference to
 * other queue pairs.
 */
#ifndef PINION_VERBS_DEVX_QP_H
#define PINION_VERBS_DEVX_QP_H

#include "../logic/devx_queue.h"
#include "../path/qp.h"
#include "../path/raw_qp.h"
#include "devx_cq.h"
#include "devx_event.h"
#include "devx_rmp.h"
#include "devx_uar.h"
#include "pd.h"
#include "ucontext.h"

struct pinion_devx_pair {
	struct pinion_qp qp;
	struct pinion_raw_qp raw;
	struct pinion_devx_qp asked;
	struct pinion_ucontext *ucontext;
	struct pinion_devx_queue *send;
	struct pinion_devx_queue *recv;
	struct pinion_devx_pool *pool;	/* its RMP; NULL: its own ring, or no receives */
	struct pinion_pd *pd;
	struct pinion_devx_events events;
	struct pinion_devx_bell bell;	/* used if its send queue has no doorbell record */
};

/* Create a queue pair in RESET. Return: 0, a pinion_devx_refusal, or a negative errno. */
int pinion_devx_qp_make(struct pinion_dev *dev, struct ib_ucontext *context,
			const struct pinion_devx_qp *asked, struct pinion_devx_pair **made);
void pinion_devx_qp_end(struct pinion_dev *dev, struct pinion_devx_pair *pair);

/* Carry out @opcode, a command that changes the state of a queue pair. Return as above. */
int pinion_devx_qp_change(struct pinion_dev *dev, struct pinion_devx_pair *pair, u16 opcode,
			  const struct pinion_devx_qp *asked);
void pinion_devx_qp_tell(struct pinion_devx_pair *pair, u8 *out);

#endif
