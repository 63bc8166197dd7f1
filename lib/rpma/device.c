// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Finds a device by address, and queries its capabilities.
 */
#include <rdma/rdma_cma.h>

#include "address.h"
#include "device.h"
#include "log.h"

/* Bits of device_cap_flags_ex: libibverbs before 45 has no names for them. */
#define CAP_FLUSH_GLOBAL (1ULL << 38)
#define CAP_FLUSH_PERSISTENT (1ULL << 39)
#define CAP_ATOMIC_WRITE (1ULL << 40)

#define ODP_READ_WRITE (IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_WRITE)

int device_query(struct ibv_context *ctx, struct device_caps *caps)
{
	struct ibv_device_attr_ex attr = {};
	uint64_t flags;
	int rc;

	rc = ibv_query_device_ex(ctx, NULL, &attr);
	if (rc)
		return PROVIDER_FAILED("ibv_query_device_ex()", rc);
	flags = attr.device_cap_flags_ex;
	caps->odp = (attr.odp_caps.general_caps & IBV_ODP_SUPPORT) &&
		    (attr.odp_caps.per_transport_caps.rc_odp_caps &
		     ODP_READ_WRITE) == ODP_READ_WRITE;
	caps->atomic_write = flags & CAP_ATOMIC_WRITE;
	caps->flush_global = flags & CAP_FLUSH_GLOBAL;
	caps->flush_persistent = flags & CAP_FLUSH_PERSISTENT;
	return 0;
}

int rpma_utils_ibv_context_is_odp_capable(struct ibv_context *ibv_ctx,
					  int *is_odp_capable)
{
	struct device_caps caps;
	int rc;

	if (!ibv_ctx || !is_odp_capable)
		return RPMA_E_INVAL;
	rc = device_query(ibv_ctx, &caps);
	if (rc)
		return rc;
	*is_odp_capable = caps.odp;
	return 0;
}

/* librdmacm keeps devices open, so the context stays valid after the id is destroyed. */
static int context_of(struct rdma_addrinfo *address,
		      enum rpma_util_ibv_context_type type,
		      struct ibv_context **ctx)
{
	struct rdma_cm_id *id;
	int rc;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return PROVIDER_FAILED("rdma_create_id()", errno);
	if (type == RPMA_UTIL_IBV_CONTEXT_LOCAL) {
		rc = rdma_bind_addr(id, address->ai_src_addr) ?
			     PROVIDER_FAILED("rdma_bind_addr()", errno) :
			     0;
	} else {
		rc = rdma_resolve_addr(id, NULL, address->ai_dst_addr,
				       RPMA_DEFAULT_TIMEOUT_MS) ?
			     PROVIDER_FAILED("rdma_resolve_addr()", errno) :
			     0;
	}
	if (!rc && !id->verbs) {
		LOG(ERROR, "no RDMA device has this address");
		rc = RPMA_E_PROVIDER;
	}
	if (!rc)
		*ctx = id->verbs;
	rdma_destroy_id(id);
	return rc;
}

int rpma_utils_get_ibv_context(const char *addr,
			       enum rpma_util_ibv_context_type type,
			       struct ibv_context **ibv_ctx_ptr)
{
	struct rdma_addrinfo *address;
	int rc;

	if (!addr || !ibv_ctx_ptr ||
	    (type != RPMA_UTIL_IBV_CONTEXT_LOCAL &&
	     type != RPMA_UTIL_IBV_CONTEXT_REMOTE))
		return RPMA_E_INVAL;
	rc = address_lookup(addr, NULL, type == RPMA_UTIL_IBV_CONTEXT_LOCAL,
			    &address);
	if (rc)
		return rc;
	rc = context_of(address, type, ibv_ctx_ptr);
	rdma_freeaddrinfo(address);
	return rc;
}
