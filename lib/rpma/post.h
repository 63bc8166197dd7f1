/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests: from local and remote memory to what verbs takes, ranges checked.
 */
#ifndef PINION_RPMA_POST_H
#define PINION_RPMA_POST_H

#include "conn.h"

/* Part of a local region; mr NULL is no bytes at all. */
struct local_range {
	const struct rpma_mr_local *mr;
	size_t offset;
	size_t len;
};

/* @sge and @wr last as long as the caller's post. */
int recv_wr_fill(struct ibv_recv_wr *wr, struct ibv_sge *sge,
		 const struct rpma_mr_local *dst, size_t offset, size_t len,
		 const void *op_context);

int post_recv(struct ibv_qp *qp, const struct rpma_mr_local *dst, size_t offset,
	      size_t len, const void *op_context);

/* @wr has opcode, flags and what is special; it is completed and posted. */
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
