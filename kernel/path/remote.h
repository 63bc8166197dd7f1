/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Access of messages to memory behind remote keys: WRITE, READ, atomics. @qp is the responder's
 * queue pair, and @qp->resp.lock is held in all functions.
 */
#ifndef PINION_PATH_REMOTE_H
#define PINION_PATH_REMOTE_H

#include "respond.h"
#include "target.h"

/* RDMA WRITE and READ: copy between the requester's cursor and the memory of a remote key. */
enum pinion_verdict pinion_remote_move(struct pinion_qp *qp, const struct pinion_target *target,
				       struct pinion_msg *msg);

/* Does the key of @msg allow access to @length bytes at its address? Return: 0 or a syndrome. */
enum pinion_syndrome pinion_remote_ask(struct pinion_qp *qp, const struct pinion_target *target,
				       const struct pinion_msg *msg, u64 length);

/*
 * For a READ that is answered in pieces. pinion_remote_source() makes @source the memory that it
 * asks for. pinion_remote_give() copies the next msg->length bytes from there to msg->payload,
 * which lacks no page. It does not break the queue pair: with PINION_NAK_ACCESS the syndrome is in
 * @source.
 */
void pinion_remote_source(struct pinion_qp *qp, const struct pinion_target *target,
			  const struct pinion_msg *msg, struct pinion_cursor *source);
enum pinion_verdict pinion_remote_give(struct pinion_qp *qp, const struct pinion_target *target,
				       struct pinion_msg *msg, struct pinion_cursor *source);

/* Perform a message that takes no receive request. */
enum pinion_verdict pinion_remote_perform(struct pinion_qp *qp,
					  const struct pinion_target *target,
					  struct pinion_msg *msg);

#endif
