/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The receive requests of a queue pair, its own or those of a shared queue.
 * @qp->resp.lock is held.
 */
#ifndef PINION_PATH_RECEIVE_H
#define PINION_PATH_RECEIVE_H

#include "respond.h"
#include "target.h"

/* All that a message with a receive request is for. */
enum pinion_verdict pinion_receive(struct pinion_qp *qp, const struct pinion_target *target,
				   struct pinion_msg *msg);

/* An XRC target's kept request, if it has one, goes back to its queue, flushed. */
void pinion_give_back(struct pinion_qp *qp);

/* Give every waiting receive request back as flushed. */
void pinion_flush_recvs(struct pinion_qp *qp);

#endif
