/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The executor: performs the work requests of one send queue, in order. What an engine with a
 * window needs of it, which has several of them under way, is below.
 */
#ifndef PINION_PATH_EXEC_H
#define PINION_PATH_EXEC_H

#include "complete.h"
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

/* ------------------------------------------------------------- with sq.exec held */

enum pinion_step {
	PINION_STEP_DONE,	/* completed, well or badly: go on with the next */
	PINION_STEP_PARKED,
	PINION_STEP_AGAIN,	/* further, but not done: perform it again */
};

/*
 * The next that is posted is begun: there is room for it, and it is there. *@syndrome says what
 * is wrong with it, or 0.
 */
struct pinion_request *pinion_sq_fetch(struct pinion_qp *qp, int *syndrome);

/* What was ordered of a request as it is begun. Return: whether it is that, and *@step. */
bool pinion_sq_injected(struct pinion_qp *qp, enum pinion_step *step);

/* The oldest is over. @request is it. */
enum pinion_step pinion_sq_succeed(struct pinion_qp *qp, const struct pinion_request *request);
enum pinion_step pinion_sq_fail(struct pinion_qp *qp, enum ib_wc_status status, int syndrome);
enum pinion_step pinion_sq_fail_local(struct pinion_qp *qp, int syndrome);
void pinion_sq_count_traffic(struct pinion_qp *qp, const struct pinion_request *request);

/* Nothing is performed for @ns. 0: until pinion_qp_wake(). */
void pinion_sq_park(struct pinion_qp *qp, u64 ns);

/*
 * Park until a page of the user's own is there; sq.awaits says so, until sq.fault has the result.
 * And for a while, longer each time, as it could not be asked for.
 */
enum pinion_step pinion_sq_bring_own(struct pinion_qp *qp, struct pinion_missing *missing);
enum pinion_step pinion_sq_try_later(struct pinion_qp *qp);

#endif
