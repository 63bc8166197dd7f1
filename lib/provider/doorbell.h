/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A queue pair's doorbell: an ioctl that is marshalled when the queue pair is created,
 * so that ringing is just a system call. Several threads may ring it at the same time,
 * as it is only read.
 */
#ifndef PINION_DOORBELL_H
#define PINION_DOORBELL_H

#include <stdint.h>

#include <rdma/rdma_user_ioctl_cmds.h>

struct ibv_context;

struct pinion_doorbell {
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr handle;
	} cmd;
	int fd;
};

/* @handle: of the queue pair */
void pinion_doorbell_init(struct pinion_doorbell *bell,
			  struct ibv_context *context, uint32_t handle);
int pinion_doorbell_ring(const struct pinion_doorbell *bell);

#endif /* PINION_DOORBELL_H */
