/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A receive queue shared by several connections, with a completion queue of its own if
 * its settings say so.
 */
#ifndef PINION_RPMA_SRQ_H
#define PINION_RPMA_SRQ_H

#include "cq.h"

struct rpma_srq {
	struct ibv_srq *ibv_srq;
	struct rpma_cq *rcq; /* or NULL: each connection has its own */
};

#endif /* PINION_RPMA_SRQ_H */
