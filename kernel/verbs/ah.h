/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Converts an address from the core's form (rdma_ah_attr) to the data path's (pinion_av).
 */
#ifndef PINION_VERBS_AH_H
#define PINION_VERBS_AH_H

#include <rdma/ib_verbs.h>

struct pinion_av;

/* Fill @av. -EINVAL unless @attr is RoCE v2 with a source GID that the core has looked up. */
int pinion_av_from_attr(struct pinion_av *av, const struct rdma_ah_attr *attr);

#endif
