/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Converts host and service to addresses for librdmacm.
 */
#ifndef PINION_RPMA_ADDRESS_H
#define PINION_RPMA_ADDRESS_H

#include <stdbool.h>

#include <rdma/rdma_cma.h>

/*
 * @listen: a local address (ai_src_addr), else one to connect to (ai_dst_addr). Return:
 * 0, or an RPMA_E_*. The result is freed by rdma_freeaddrinfo().
 */
int address_lookup(const char *host, const char *port, bool listen,
		   struct rdma_addrinfo **address);

#endif /* PINION_RPMA_ADDRESS_H */
