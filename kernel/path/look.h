/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * State of queues for the raw entries of rdma-netlink.
 */
#ifndef PINION_PATH_LOOK_H
#define PINION_PATH_LOOK_H

struct ib_cq;
struct ib_qp;
struct ib_srq;
struct pinion_queue_facts;

void pinion_qp_look(struct ib_qp *ibqp, struct pinion_queue_facts *facts);
void pinion_cq_look(struct ib_cq *ibcq, struct pinion_queue_facts *facts);
void pinion_srq_look(struct ib_srq *ibsrq, struct pinion_queue_facts *facts);

#endif
