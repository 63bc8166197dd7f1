/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A device that writes to itself: posts a WRITE and waits for its completion.
 */
#ifndef MRBENCH_LOOP_H
#define MRBENCH_LOOP_H

#include "target.h"

#define LOOP_INLINE 64

struct loop {
	struct ibv_context *context;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	struct ibv_mr *mr; /* pinned, of both halves of the buffer */
	char *buffer;
	uint64_t size; /* of a half */
};

/* Return: false with errno set. loop_close() must be called in any case. */
bool loop_open(struct loop *loop, struct target *target, uint64_t size);
void loop_close(struct loop *loop);

/* Write @size bytes of the first half to @remote. Return: 0 or an errno. */
int loop_write(struct loop *loop, uint64_t size, unsigned int flags,
	       uint64_t remote, uint32_t rkey, uint64_t *ns);

#endif
