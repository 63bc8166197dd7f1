/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Creating and destroying a queue pair, apart from its queues: those are rings (qp.c) or queues in
 * a device's format (mlx5_qp.c, devx_qp.c). Process context.
 */
#ifndef PINION_VERBS_QP_H
#define PINION_VERBS_QP_H

#include "../path/qp.h"

/*
 * First step: check @init, count the queue pair against its user's limit, and set the work queue
 * and the faulter. Undone by pinion_qp_end(). @udata as in ib_device_ops.create_qp.
 */
int pinion_qp_begin(struct pinion_qp *qp, const struct ib_qp_init_attr *init,
		    struct ib_udata *udata);
void pinion_qp_end(struct pinion_qp *qp);

/* Last step, when the queues are ready: from here on peers can find @qp by its number. */
int pinion_qp_show(struct pinion_qp *qp, const struct ib_qp_init_attr *init);
/*
 * Unpublish @qp, and wait until no peer uses it. Its rings are moved to *@sq and *@rq, which the
 * caller frees. Sleeps.
 */
void pinion_qp_hide(struct pinion_qp *qp, struct pinion_ring *sq, struct pinion_ring *rq);

#endif
