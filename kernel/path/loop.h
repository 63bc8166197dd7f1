/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The engine for peers that are reached without packets, all on this host.
 */
#ifndef PINION_PATH_LOOP_H
#define PINION_PATH_LOOP_H

#include "engine.h"

extern const struct pinion_engine pinion_loop_engine;

/*
 * Deliver @msg of @qp, whose payload is plain memory, to the members of its group in this network
 * namespace. The sender does not learn what they do with it.
 */
void pinion_loop_deliver_to_members(struct pinion_qp *qp, struct pinion_msg *msg);

#endif
