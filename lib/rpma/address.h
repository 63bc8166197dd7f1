/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * From host and service to addresses the connection manager understands.
 */
#ifndef PINION_RPMA_ADDRESS_H
#define PINION_RPMA_ADDRESS_H

#include <stdbool.h>

#include <rdma/rdma_cma.h>

/*
 * @listen: an address of ours (ai_src_addr), not one to connect to (ai_dst_addr).
 * Returns 0, or an error of the library; free it with rdma_freeaddrinfo().
 */
int address_lookup(const char *host, const char *port, bool listen,
		   struct rdma_addrinfo **address);

#endif /* PINION_RPMA_ADDRESS_H */
