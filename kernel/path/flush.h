/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * FLUSH: what came before is visible to all, or persistent, when it is answered.
 */
#ifndef PINION_PATH_FLUSH_H
#define PINION_PATH_FLUSH_H

#include "respond.h"
#include "target.h"

/*
 * @qp->resp.lock is held. Where it lacks a page it is to come again, and goes on from there if
 * the message is resumed.
 */
enum pinion_verdict pinion_flush(struct pinion_qp *qp, const struct pinion_target *target,
				 struct pinion_msg *msg);

#endif
