/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A message's work on remote memory. @qp->resp.lock is held.
 */
#ifndef PINION_PATH_REMOTE_H
#define PINION_PATH_REMOTE_H

#include "respond.h"
#include "target.h"

/* RDMA WRITE and READ: between the requester's cursor and a remote key. */
enum pinion_verdict pinion_remote_move(struct pinion_qp *qp, const struct pinion_target *target,
				       struct pinion_msg *msg);

/* All that a message without a receive request is for. */
enum pinion_verdict pinion_remote_perform(struct pinion_qp *qp,
					  const struct pinion_target *target,
					  struct pinion_msg *msg);

#endif
