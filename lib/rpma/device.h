/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The capabilities of a device that this library uses.
 */
#ifndef PINION_RPMA_DEVICE_H
#define PINION_RPMA_DEVICE_H

#include <stdbool.h>

#include <infiniband/verbs.h>

struct device_caps {
	bool odp; /* RC READ and WRITE of memory that is not pinned */
	bool atomic_write;
	bool flush_global;
	bool flush_persistent;
};

/* 0, or RPMA_E_PROVIDER. */
int device_query(struct ibv_context *ctx, struct device_caps *caps);

#endif /* PINION_RPMA_DEVICE_H */
