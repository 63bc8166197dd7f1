/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Streaming: a work item on another processor takes over the send queue of a user
 * who posts request after request without waiting for any, and goes on looking at
 * the ring for a while, so that posting needs no system call.
 */
#ifndef PINION_PATH_STREAM_H
#define PINION_PATH_STREAM_H

#include "qp.h"

/* One run of the work item. */
struct pinion_stint {
	bool streaming;
	bool crowded;		/* others wanted its processor */
	u32 seen;		/* sq.head when it last looked */
	unsigned long end;	/* jiffies */
};

/* At a doorbell: true if the work item does it instead of the caller. */
bool pinion_stream_take(struct pinion_qp *qp);

void pinion_stint_begin(struct pinion_qp *qp, struct pinion_stint *stint);

/*
 * After the queue was run, without sq.exec: wait for more. False if the stint is
 * over; until then the queue must be run again.
 */
bool pinion_stint_goes_on(struct pinion_qp *qp, struct pinion_stint *stint);

#endif
