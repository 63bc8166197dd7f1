/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Makes and posts work requests for local and remote memory, and checks ranges.
 */
#ifndef PINION_RPMA_POST_H
#define PINION_RPMA_POST_H

#include "conn.h"

/* Part of a local region; mr is NULL for no bytes. */
struct local_range {
	const struct rpma_mr_local *mr;
	size_t offset;
	size_t len;
};

/* @sge and @wr must stay valid until they are posted. */
int recv_wr_fill(struct ibv_recv_wr *wr, struct ibv_sge *sge,
		 const struct rpma_mr_local *dst, size_t offset, size_t len,
		 const void *op_context);

int post_recv(struct ibv_qp *qp, const struct rpma_mr_local *dst, size_t offset,
	      size_t len, const void *op_context);

/* Fill in the rest of @wr, which has opcode and flags, and post it. */
int post_rdma(struct rpma_conn *conn, struct ibv_send_wr *wr,
	      struct local_range local, const struct rpma_mr_remote *remote,
	      size_t remote_offset);

static inline unsigned int send_flags(int flags)
{
	return (flags & RPMA_F_COMPLETION_ALWAYS) == RPMA_F_COMPLETION_ALWAYS ?
		       IBV_SEND_SIGNALED :
		       0;
}

#endif /* PINION_RPMA_POST_H */
