// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Chooses the engine for messages.
 */
#include "engine.h"
#include "loop.h"
#include "mcast.h"

/*
 * Without an engine for packets a peer that is not on this host does not exist. What joins the
 * network namespaces of two nodes may filter, so they exchange packets if both can. A group may
 * have members everywhere: the engine for packets sees to those in this namespace, too.
 */
const struct pinion_engine *pinion_engine_choose(const struct pinion_node *node, u8 service,
						 const struct pinion_av *av)
{
	if (!node->others || !(node->others->services & service))
		return &pinion_loop_engine;
	if (pinion_mcast_is_group(&av->dgid))
		return service == PINION_SVC_UD ? node->others : &pinion_loop_engine;
	if (pinion_peers_are_here(node, av))
		return &pinion_loop_engine;
	return node->others;
}
