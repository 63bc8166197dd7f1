/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The executor: performs the work requests of one send queue, in order. The second part is for
 * engines that have several requests under way (engine.h, ->turn).
 */
#ifndef PINION_PATH_EXEC_H
#define PINION_PATH_EXEC_H

#include "complete.h"
#include "qp.h"

/*
 * Perform posted requests until the queue is empty, must wait, or may not run in its state. Stops
 * earlier when the turn is over; the work item goes on then. @qp->sq.exec is held. Sleeps.
 */
void pinion_sq_run(struct pinion_qp *qp);

/* Cancel the wait of a request that is flushed or completed. @sq->exec is held. */
void pinion_sq_stop_waiting(struct pinion_sq *sq);

/* Stop waiting for a page. The fault may go on, but nobody is woken. @sq->exec is held. */
void pinion_sq_turn_away(struct pinion_sq *sq);

/* Forget waiting and the requests that were begun. @sq->exec is held. */
void pinion_sq_forget(struct pinion_sq *sq);

/* ------------------------------------------------------------- with sq.exec held */

enum pinion_step {
	PINION_STEP_DONE,	/* completed, with success or not: go on with the next */
	PINION_STEP_PARKED,	/* waits: the timer or a fault runs the queue again */
	PINION_STEP_AGAIN,	/* some progress, but not done: perform it again now */
};

/*
 * Begin the next posted request: copy it out of the ring and check its form. The caller knows that
 * there is one, and a free slot. *@syndrome is 0 or says what is wrong with it.
 */
struct pinion_request *pinion_sq_fetch(struct pinion_qp *qp, enum pinion_syndrome *syndrome);

/* Apply a failure that was ordered (mem/inject.h). Return: whether there was one; then *@step. */
bool pinion_sq_injected(struct pinion_qp *qp, enum pinion_step *step);

/* Complete and retire the oldest request; @request is that one. */
enum pinion_step pinion_sq_succeed(struct pinion_qp *qp, const struct pinion_request *request);
enum pinion_step pinion_sq_fail(struct pinion_qp *qp, enum ib_wc_status status,
				enum pinion_syndrome syndrome);
enum pinion_step pinion_sq_fail_local(struct pinion_qp *qp, enum pinion_syndrome syndrome);
void pinion_sq_count_traffic(struct pinion_qp *qp, const struct pinion_request *request);

/* Perform nothing for @ns, or with 0 until pinion_qp_wake(). */
void pinion_sq_park(struct pinion_qp *qp, u64 ns);
/*
 * How long to wait for a receiver that is not ready: its RNR timer. A sender that retries without
 * limit doubles the pause each time, so that it does not occupy a processor for ever.
 */
u64 pinion_sq_rnr_pause(const struct pinion_qp *qp, struct pinion_request *request, u8 rnr_timer);

/*
 * End the wait of a parked send queue. Any context, without sq.exec; the caller keeps @qp from
 * being freed.
 */
void pinion_qp_wake(struct pinion_qp *qp);

/*
 * Start a fault for @missing, a page of the sender's own memory, and park until it is over
 * (sq.awaits, sq.fault). pinion_sq_try_later() parks for a while if no fault could be started,
 * twice as long each time.
 */
enum pinion_step pinion_sq_bring_own(struct pinion_qp *qp, struct pinion_missing *missing);
enum pinion_step pinion_sq_try_later(struct pinion_qp *qp);

#endif
