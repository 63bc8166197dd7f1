/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A peer: a protection domain on a device, and the capabilities of the device. The first
 * fields have the same offsets as in librpma 1.3, so that librpma's code for connections
 * works with a peer made here (see Documentation/rpma.rst).
 */
#ifndef PINION_RPMA_PEER_H
#define PINION_RPMA_PEER_H

#include <stddef.h>

#include <pinion/librpma.h>

struct rpma_peer {
	struct ibv_pd *pd;
	int odp;
	int native_atomic_write;
	/* True if the device has both flush types: peers choose the type. */
	int native_flush;
	/* The following fields are not in librpma. */
	bool iwarp;
	int flush_visibility_access; /* of this device, 0 if it has no such right */
	int flush_persistent_access;
};

_Static_assert(offsetof(struct rpma_peer, odp) == 8 &&
		       offsetof(struct rpma_peer, native_atomic_write) == 12 &&
		       offsetof(struct rpma_peer, native_flush) == 16,
	       "librpma reads these");

#endif /* PINION_RPMA_PEER_H */
