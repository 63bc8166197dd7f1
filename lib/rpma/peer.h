/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A peer: a device, as a protection domain and what of the device's abilities is
 * used. Its first fields are where librpma 1.3 has them, so that librpma's code
 * for connections works on a peer made here (see Documentation/rpma.rst).
 */
#ifndef PINION_RPMA_PEER_H
#define PINION_RPMA_PEER_H

#include <stddef.h>

#include <pinion/librpma.h>

struct rpma_peer {
	struct ibv_pd *pd;
	int odp;
	int native_atomic_write;
	/* Both types of it: what one side asks for the other must have granted. */
	int native_flush;
	/* From here on our own. */
	bool iwarp;
	int flush_visibility_access; /* of this device, 0 if it has no such right */
	int flush_persistent_access;
};

_Static_assert(offsetof(struct rpma_peer, odp) == 8 &&
		       offsetof(struct rpma_peer, native_atomic_write) == 12 &&
		       offsetof(struct rpma_peer, native_flush) == 16,
	       "librpma reads these");

#endif /* PINION_RPMA_PEER_H */
