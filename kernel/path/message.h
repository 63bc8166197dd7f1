/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Turns a work request of a send queue into a message to a peer.
 */
#ifndef PINION_PATH_MESSAGE_H
#define PINION_PATH_MESSAGE_H

#include "respond.h"

/* Set request->payload to the first byte of the payload. @qp->sq.exec is held. */
void pinion_message_payload(struct pinion_qp *qp, struct pinion_request *request);

/*
 * Fill @msg from @request. The payload cursor keeps its position. A datagram's address is
 * stored in *@av, which must live as long as @msg. Return: 0 or a syndrome. @qp->sq.exec is held.
 */
enum pinion_syndrome pinion_message_of(struct pinion_qp *qp, struct pinion_request *request,
				       struct pinion_msg *msg, struct pinion_av *av);

#endif
