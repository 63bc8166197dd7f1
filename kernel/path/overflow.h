/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues that have overflowed, and the queue pairs that complete there.
 */
#ifndef PINION_PATH_OVERFLOW_H
#define PINION_PATH_OVERFLOW_H

#include "qp.h"

struct pinion_cq;

/* Has the send or the receive completion queue of @qp overflowed? No lock needed. */
bool pinion_qp_is_cut_off(const struct pinion_qp *qp);

/* Initialize the list of queue pairs, and pinion_cq.overflowed, which runs their executors. */
void pinion_overflow_init(struct pinion_cq *cq);
/* Undo pinion_overflow_init(). No queue pair is listed any more. */
void pinion_overflow_fini(struct pinion_cq *cq);

/* Add @qp to the lists of its completion queues; they may queue qp->sq.work. Sleeps. */
void pinion_overflow_watch(struct pinion_qp *qp);
/* Remove it; afterwards they do not queue qp->sq.work. Sleeps. */
void pinion_overflow_unwatch(struct pinion_qp *qp);

#endif
