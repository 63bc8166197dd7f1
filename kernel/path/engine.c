// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Chooses the engine for messages.
 */
#include <net/ipv6.h>

#include "engine.h"
#include "loop.h"

static bool engine_is_multicast(const struct pinion_av *av)
{
	const struct in6_addr *to = (const struct in6_addr *)&av->dgid;

	return ipv6_addr_is_multicast(to) ||
	       (ipv6_addr_v4mapped(to) && ipv4_is_multicast(to->s6_addr32[3]));
}

/* Without an engine to other hosts a peer that is not on this host does not exist. */
const struct pinion_engine *pinion_engine_choose(const struct pinion_node *node, u8 service,
						 const struct pinion_av *av)
{
	if (!node->others || !(node->others->services & service) || engine_is_multicast(av))
		return &pinion_loop_engine;
	if (!node->all_others && pinion_peers_have(node, av))
		return &pinion_loop_engine;
	return node->others;
}
