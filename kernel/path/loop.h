/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The engine for peers on this host.
 */
#ifndef PINION_PATH_LOOP_H
#define PINION_PATH_LOOP_H

#include "respond.h"

/*
 * Hand @msg to its QP where @msg->av leads, or to a multicast group, and say what
 * became of it. @qp->sq.exec is held, no gate.
 */
enum pinion_verdict pinion_loop_send(struct pinion_qp *qp, struct pinion_msg *msg);

#endif
