/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A send queue's request as a message to a peer.
 */
#ifndef PINION_PATH_MESSAGE_H
#define PINION_PATH_MESSAGE_H

#include "respond.h"

/* The payload of @request, at its beginning. @qp->sq.exec is held. */
void pinion_message_payload(struct pinion_qp *qp, struct pinion_request *request);

/*
 * Make @msg of @request, with its payload as it is and, where the request has an address of
 * its own, @av. Return: 0 or a syndrome. @qp->sq.exec is held.
 */
int pinion_message_of(struct pinion_qp *qp, struct pinion_request *request,
		      struct pinion_msg *msg, struct pinion_av *av);

#endif
