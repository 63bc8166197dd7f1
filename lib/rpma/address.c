// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Looks up addresses.
 */
#include "address.h"
#include "log.h"

int address_lookup(const char *host, const char *port, bool listen,
		   struct rdma_addrinfo **address)
{
	struct rdma_addrinfo hints = {
		.ai_flags = listen ? RAI_PASSIVE : 0,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
	};
	int rc;

	/* -1 with errno set, or an error number of getaddrinfo(). */
	errno = 0;
	rc = rdma_getaddrinfo(host, port, &hints, address);
	if (!rc)
		return 0;
	LOG(ERROR, "rdma_getaddrinfo(%s, %s) failed: %d (errno %d)", host,
	    port ? port : "-", rc, errno);
	return errno == ENOMEM ? RPMA_E_NOMEM : RPMA_E_PROVIDER;
}
