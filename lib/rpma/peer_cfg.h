/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The configuration that a peer sends to others: one byte.
 */
#ifndef PINION_RPMA_PEER_CFG_H
#define PINION_RPMA_PEER_CFG_H

#include <stdatomic.h>

#include <pinion/librpma.h>

struct rpma_peer_cfg {
	atomic_bool direct_write_to_pmem;
};

#endif /* PINION_RPMA_PEER_CFG_H */
