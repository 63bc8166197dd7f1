/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Streaming. If a program posts request after request without waiting for completions, the work
 * item of its send queue takes over, on another CPU. It keeps polling the ring for a while, so that
 * posting needs no system call. For a raw queue pair, whose doorbell is no system call anyway, it
 * polls the doorbell record.
 */
#ifndef PINION_PATH_STREAM_H
#define PINION_PATH_STREAM_H

#include "linger.h"
#include "qp.h"

/* A stint: one run of the work item. */
struct pinion_stint {
	bool streaming;
	struct pinion_linger linger;
	u32 seen;		/* sq.head when it was last polled */
	unsigned long end;	/* when it must end, in jiffies */
};

/* At a doorbell, without a lock: true if the work item executes instead of the caller. */
bool pinion_stream_take(struct pinion_qp *qp);

/*
 * For a raw queue pair whose doorbell record has changed (bell.c; softirq): queue the work item.
 * Return: whether it will keep polling for a while.
 */
bool pinion_stream_ring(struct pinion_qp *qp);

/* Is a stint polling the ring now? */
static inline bool pinion_stream_runs(const struct pinion_qp *qp)
{
	return READ_ONCE(qp->sq.ring.hdr->flags) & PINION_RING_RUNNING;
}

void pinion_stint_begin(struct pinion_qp *qp, struct pinion_stint *stint);

/*
 * Called by the work item after each run of the queue, without sq.exec: polls for new requests.
 * Return: true if the queue must be run again; false if the stint is over.
 */
bool pinion_stint_goes_on(struct pinion_qp *qp, struct pinion_stint *stint);

#endif
