/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * From an address in the core's terms to one in the data path's.
 */
#ifndef PINION_VERBS_AH_H
#define PINION_VERBS_AH_H

#include <rdma/ib_verbs.h>

struct pinion_av;

/* -EINVAL unless @attr leads over RoCE v2 from a GID the core has looked up. */
int pinion_av_from_attr(struct pinion_av *av, const struct rdma_ah_attr *attr);

#endif
