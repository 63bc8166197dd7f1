/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a message acts upon, found by path/respond.c. Layout only.
 */
#ifndef PINION_PATH_TARGET_H
#define PINION_PATH_TARGET_H

#include "cq.h"
#include "qp.h"

/* With XRC a message names a receive queue, and that the rest. */
struct pinion_target {
	struct ib_pd *pd;		/* of remote keys */
	struct ib_pd *recv_pd;		/* of receive requests: who posts knows the queue only */
	struct pinion_srq *srq;		/* or the QP's own queue */
	struct pinion_cq *cq;
	struct pinion_sleepers *faulter;	/* brings pages of both */
	bool xrc;			/* @srq was found by number: put it */
};

#endif
