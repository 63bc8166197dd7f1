/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The header of 40 bytes in front of a received datagram.
 */
#ifndef PINION_PATH_GRH_H
#define PINION_PATH_GRH_H

#include "node.h"

#define PINION_GRH_SIZE 40

/* As in RoCE v2: an IPv6 header, or 20 bytes of 0 and an IPv4 header. */
void pinion_grh_build(u8 grh[PINION_GRH_SIZE], const struct pinion_av *av, u64 length);

#endif
