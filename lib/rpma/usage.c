// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Converts the usage of memory to verbs access flags.
 */
#include "mr.h"

static const struct {
	int usage;
	int access;
} rights[] = {
	{ RPMA_MR_USAGE_READ_SRC, IBV_ACCESS_REMOTE_READ },
	{ RPMA_MR_USAGE_READ_DST, IBV_ACCESS_LOCAL_WRITE },
	/* Verbs need no flag here, but librpma refuses read-only memory, too. */
	{ RPMA_MR_USAGE_WRITE_SRC, IBV_ACCESS_LOCAL_WRITE },
	{ RPMA_MR_USAGE_WRITE_DST,
	  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE },
	/*
	 * A peer whose device has no FLUSH uses READ instead, whatever our device has.
	 * (librpma does not grant this, so peers on different devices cannot flush.)
	 */
	{ USAGE_FLUSH, IBV_ACCESS_REMOTE_READ },
	{ RPMA_MR_USAGE_RECV, IBV_ACCESS_LOCAL_WRITE },
};

int usage_to_access(const struct rpma_peer *peer, int usage)
{
	int access = 0;
	size_t i;

	for (i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		if (usage & rights[i].usage)
			access |= rights[i].access;
	}
	/* With iWARP the answer to a READ is a WRITE to the requester's memory. */
	if (peer->iwarp && (usage & RPMA_MR_USAGE_READ_DST))
		access |= IBV_ACCESS_REMOTE_WRITE;
	if (usage & RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY)
		access |= peer->flush_visibility_access;
	if (usage & RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT)
		access |= peer->flush_persistent_access;
	return access;
}
