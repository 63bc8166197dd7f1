/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Receive requests of a queue pair, from its own queue or from a shared one. @qp->resp.lock is held
 * in all functions.
 */
#ifndef PINION_PATH_RECEIVE_H
#define PINION_PATH_RECEIVE_H

#include "respond.h"
#include "target.h"

/* Perform a message that takes a receive request. */
enum pinion_verdict pinion_receive(struct pinion_qp *qp, const struct pinion_target *target,
				   struct pinion_msg *msg);

/* If an XRC target keeps a receive request, complete that as flushed. */
void pinion_give_back(struct pinion_qp *qp);

/* Complete all waiting receive requests as flushed. */
void pinion_flush_recvs(struct pinion_qp *qp);

#endif
