/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Registered memory, local and remote. The fields have the same offsets as in librpma
 * 1.3, so that librpma's code for connections works with these objects.
 */
#ifndef PINION_RPMA_MR_H
#define PINION_RPMA_MR_H

#include <stddef.h>

#include "peer.h"

#define USAGE_ALL 0xff
#define USAGE_FLUSH                            \
	(RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | \
	 RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT)

struct rpma_mr_local {
	struct ibv_mr *ibv_mr;
	int usage;
};

struct rpma_mr_remote {
	uint64_t raddr;
	uint64_t size;
	uint32_t rkey;
	int usage;
};

_Static_assert(offsetof(struct rpma_mr_local, usage) == 8 &&
		       offsetof(struct rpma_mr_remote, size) == 8 &&
		       offsetof(struct rpma_mr_remote, rkey) == 16 &&
		       offsetof(struct rpma_mr_remote, usage) == 20,
	       "librpma reads these");

/* The verbs access flags for @usage on this peer's device. */
int usage_to_access(const struct rpma_peer *peer, int usage);

/* Is [offset, offset + len) inside @size bytes? */
static inline bool range_in(size_t offset, size_t len, uint64_t size)
{
	return offset <= size && len <= size - offset;
}

#endif /* PINION_RPMA_MR_H */
