/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Posting by kernel consumers.
 */
#ifndef PINION_PATH_POST_H
#define PINION_PATH_POST_H

#include "qp.h"

int pinion_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad_wr);
int pinion_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad_wr);

#endif
