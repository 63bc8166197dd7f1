// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Makes and deletes peers. A peer does not change after it was made.
 */
#include <stdlib.h>

#include "device.h"
#include "log.h"
#include "peer.h"

/*
 * libibverbs before 45 has no names for these access flags, but can register with them.
 * Posting the operations needs 45.
 */
enum {
	ACCESS_FLUSH_GLOBAL = 1 << 8,
	ACCESS_FLUSH_PERSISTENT = 1 << 9,
#ifdef HAVE_WR_FLUSH
	CAN_POST_NATIVE = true,
#else
	CAN_POST_NATIVE = false,
#endif
};

int rpma_peer_new(struct ibv_context *ibv_ctx, struct rpma_peer **peer_ptr)
{
	struct device_caps caps;
	struct rpma_peer *peer;
	int rc;

	if (!ibv_ctx || !peer_ptr)
		return RPMA_E_INVAL;
	rc = device_query(ibv_ctx, &caps);
	if (rc)
		return rc;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return RPMA_E_NOMEM;
	errno = 0;
	peer->pd = ibv_alloc_pd(ibv_ctx);
	if (!peer->pd) {
		rc = errno == ENOMEM ? RPMA_E_NOMEM :
		     errno ? PROVIDER_FAILED("ibv_alloc_pd()", errno) :
			     RPMA_E_UNKNOWN;
		free(peer);
		return rc;
	}
	peer->odp = caps.odp;
	peer->native_atomic_write = CAN_POST_NATIVE && caps.atomic_write;
	peer->native_flush = CAN_POST_NATIVE && caps.flush_global &&
			     caps.flush_persistent;
	peer->iwarp = ibv_ctx->device->transport_type == IBV_TRANSPORT_IWARP;
	if (caps.flush_global)
		peer->flush_visibility_access = ACCESS_FLUSH_GLOBAL;
	if (caps.flush_persistent)
		peer->flush_persistent_access = ACCESS_FLUSH_PERSISTENT;
	*peer_ptr = peer;
	return 0;
}

int rpma_peer_delete(struct rpma_peer **peer_ptr)
{
	int rc;

	if (!peer_ptr)
		return RPMA_E_INVAL;
	if (!*peer_ptr)
		return 0;
	/* Fails while memory is registered; the peer stays usable then. */
	rc = ibv_dealloc_pd((*peer_ptr)->pd);
	if (rc)
		return PROVIDER_FAILED("ibv_dealloc_pd()", rc);
	free(*peer_ptr);
	*peer_ptr = NULL;
	return 0;
}
