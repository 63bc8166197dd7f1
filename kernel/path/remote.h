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

/* Is remote memory there for @length bytes from where @msg says? Return: 0 or a syndrome. */
int pinion_remote_ask(struct pinion_qp *qp, const struct pinion_target *target,
		      const struct pinion_msg *msg, u64 length);

/*
 * What a READ asks for; and msg->length bytes of it to msg->payload, which lacks no page. The
 * latter breaks nothing: with PINION_NAK_ACCESS the reason is in @source.
 */
void pinion_remote_source(struct pinion_qp *qp, const struct pinion_target *target,
			  const struct pinion_msg *msg, struct pinion_cursor *source);
enum pinion_verdict pinion_remote_give(struct pinion_qp *qp, const struct pinion_target *target,
				       struct pinion_msg *msg, struct pinion_cursor *source);

/* All that a message without a receive request is for. */
enum pinion_verdict pinion_remote_perform(struct pinion_qp *qp,
					  const struct pinion_target *target,
					  struct pinion_msg *msg);

#endif
