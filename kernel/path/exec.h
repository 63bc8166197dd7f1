/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The executor: performs the work requests of one send queue, in order.
 */
#ifndef PINION_PATH_EXEC_H
#define PINION_PATH_EXEC_H

#include "qp.h"

/*
 * Perform what is posted until the queue is empty, waits, or may not run in its
 * state; or until this turn is over, and the work item goes on. @qp->sq.exec is held.
 * Sleeps.
 */
void pinion_sq_run(struct pinion_qp *qp);

/* The request that waited is flushed, or was completed. @sq->exec is held. */
void pinion_sq_stop_waiting(struct pinion_sq *sq);

/* Wait for no page any more, whether or not it comes. @sq->exec is held. */
void pinion_sq_turn_away(struct pinion_sq *sq);

/* Forget waiting and the requests that were begun. @sq->exec is held. */
void pinion_sq_forget(struct pinion_sq *sq);

#endif
