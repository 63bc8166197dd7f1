/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The settings of a connection, and their defaults.
 */
#ifndef PINION_RPMA_CONN_CFG_H
#define PINION_RPMA_CONN_CFG_H

#include <stdatomic.h>

#include <pinion/librpma.h>

struct rpma_conn_cfg {
	atomic_int timeout_ms;
	_Atomic uint32_t cq_size, rcq_size, sq_size, rq_size;
	atomic_bool shared_channel;
	_Atomic(struct rpma_srq *) srq;
};

/* Used if the user gives no settings. */
extern const struct rpma_conn_cfg conn_cfg_default;

#endif /* PINION_RPMA_CONN_CFG_H */
