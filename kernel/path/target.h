/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The objects that a message acts on. Filled by path/respond.c.
 */
#ifndef PINION_PATH_TARGET_H
#define PINION_PATH_TARGET_H

#include "cq.h"
#include "qp.h"

/* With XRC the message names a shared receive queue, and all fields follow from that queue. */
struct pinion_target {
	struct ib_pd *pd;		/* of remote keys */
	struct ib_pd *recv_pd;		/* of lkeys in receive requests: the receive queue's */
	struct pinion_srq *srq;		/* NULL: the QP's own queue */
	struct pinion_cq *cq;
	struct pinion_sleepers *faulter;	/* faults pages of both domains */
	bool xrc;			/* @srq was found by number: put it */
};

#endif
