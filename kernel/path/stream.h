/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Streaming: a work item on another processor takes over the send queue of a user
 * who posts request after request without waiting for any, and goes on looking at
 * the ring for a while, so that posting needs no system call. Of a raw queue pair, where there is
 * none, it looks at the doorbell record so.
 */
#ifndef PINION_PATH_STREAM_H
#define PINION_PATH_STREAM_H

#include "qp.h"

/* One run of the work item. */
struct pinion_stint {
	bool streaming;
	bool crowded;		/* others wanted its processor */
	bool gave_way;		/* to one who did not want it for long */
	u32 seen;		/* sq.head when it last looked */
	unsigned long end;	/* jiffies */
};

/* At a doorbell: true if the work item does it instead of the caller. */
bool pinion_stream_take(struct pinion_qp *qp);

/*
 * For a doorbell that nobody rang, but that was seen: have the work item perform the requests.
 * Return: whether it is going to look for more for a while.
 */
bool pinion_stream_ring(struct pinion_qp *qp);

/* Is the ring looked at all the time just now? */
static inline bool pinion_stream_runs(const struct pinion_qp *qp)
{
	return READ_ONCE(qp->sq.ring.hdr->flags) & PINION_RING_RUNNING;
}

void pinion_stint_begin(struct pinion_qp *qp, struct pinion_stint *stint);

/*
 * After the queue was run, without sq.exec: wait for more. False if the stint is
 * over; until then the queue must be run again.
 */
bool pinion_stint_goes_on(struct pinion_qp *qp, struct pinion_stint *stint);

#endif
