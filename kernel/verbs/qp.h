/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What making and ending a queue pair takes beside its queues, whose form is another's matter.
 */
#ifndef PINION_VERBS_QP_H
#define PINION_VERBS_QP_H

#include "../path/qp.h"

/*
 * First of all: is this what a queue pair can be? Then it is counted in, and has who works for
 * it; pinion_qp_end() takes both back. @udata as in ib_device_ops.create_qp.
 */
int pinion_qp_begin(struct pinion_qp *qp, const struct ib_qp_init_attr *init,
		    struct ib_udata *udata);
void pinion_qp_end(struct pinion_qp *qp);

/* Last: its queues are there, and from here on others may find it. */
int pinion_qp_show(struct pinion_qp *qp, const struct ib_qp_init_attr *init);
/* Nobody finds it any more; its rings are the caller's. */
void pinion_qp_hide(struct pinion_qp *qp, struct pinion_ring *sq, struct pinion_ring *rq);

#endif
