/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Domains of XRC and the shared receive queues in them. Each call returns NULL and an
 * errno if it fails.
 */
#ifndef PINION_TEST_XRC_H
#define PINION_TEST_XRC_H

#include "device.h"

void need_xrc(void);
/* Open the domain of the file @fd; -1: a domain without a file. */
struct ibv_xrcd *xrcd_open(struct ibv_context *ctx, int fd);
/* Create a queue of 16 requests with up to 4 pieces. */
struct ibv_srq *xsrq_create(struct ibv_xrcd *xrcd, struct ibv_cq *cq);

#endif /* PINION_TEST_XRC_H */
