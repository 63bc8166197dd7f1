// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads, writes, sends and receives. Ranges outside of a region are refused here. With
 * librpma the other side would break the connection.
 */
#include <arpa/inet.h>

#include "log.h"
#include "post.h"

static int sge_fill(struct ibv_sge *sge, struct local_range local, int *num)
{
	*num = 0;
	if (!local.mr)
		return local.offset || local.len ? RPMA_E_INVAL : 0;
	if (!range_in(local.offset, local.len, local.mr->ibv_mr->length)) {
		LOG(ERROR, "offset %zu, length %zu: outside of %zu bytes",
		    local.offset, local.len, local.mr->ibv_mr->length);
		return RPMA_E_INVAL;
	}
	if (local.len > UINT32_MAX) {
		LOG(ERROR, "length %zu is more than a request can hold",
		    local.len);
		return RPMA_E_INVAL;
	}
	/* On some devices a length of 0 in an sge means 2 GiB. */
	if (!local.len)
		return 0;
	sge->addr = (uintptr_t)local.mr->ibv_mr->addr + local.offset;
	sge->length = local.len;
	sge->lkey = local.mr->ibv_mr->lkey;
	*num = 1;
	return 0;
}

int recv_wr_fill(struct ibv_recv_wr *wr, struct ibv_sge *sge,
		 const struct rpma_mr_local *dst, size_t offset, size_t len,
		 const void *op_context)
{
	*wr = (struct ibv_recv_wr){
		.wr_id = (uintptr_t)op_context,
		.sg_list = sge,
	};
	return sge_fill(sge, (struct local_range){ dst, offset, len },
			&wr->num_sge);
}

int post_recv(struct ibv_qp *qp, const struct rpma_mr_local *dst, size_t offset,
	      size_t len, const void *op_context)
{
	struct ibv_recv_wr wr, *bad;
	struct ibv_sge sge;
	int rc;

	rc = recv_wr_fill(&wr, &sge, dst, offset, len, op_context);
	if (rc)
		return rc;
	rc = ibv_post_recv(qp, &wr, &bad);
	return rc ? PROVIDER_FAILED("ibv_post_recv()", rc) : 0;
}

static int post_local(struct rpma_conn *conn, struct ibv_send_wr *wr,
		      struct local_range local)
{
	struct ibv_send_wr *bad;
	struct ibv_sge sge;
	int rc;

	rc = sge_fill(&sge, local, &wr->num_sge);
	if (rc)
		return rc;
	wr->sg_list = &sge;
	rc = ibv_post_send(conn->id->qp, wr, &bad);
	return rc ? PROVIDER_FAILED("ibv_post_send()", rc) : 0;
}

int post_rdma(struct rpma_conn *conn, struct ibv_send_wr *wr,
	      struct local_range local, const struct rpma_mr_remote *remote,
	      size_t remote_offset)
{
	/* Either both sides are given, or neither. */
	if (!local.mr != !remote || (!remote && remote_offset))
		return RPMA_E_INVAL;
	if (remote) {
		if (!range_in(remote_offset, local.len, remote->size)) {
			LOG(ERROR,
			    "remote offset %zu, length %zu: outside of %ju bytes",
			    remote_offset, local.len, (uintmax_t)remote->size);
			return RPMA_E_INVAL;
		}
		wr->wr.rdma.remote_addr = remote->raddr + remote_offset;
		wr->wr.rdma.rkey = remote->rkey;
	}
	return post_local(conn, wr, local);
}

int rpma_read(struct rpma_conn *conn, struct rpma_mr_local *dst,
	      size_t dst_offset, const struct rpma_mr_remote *src,
	      size_t src_offset, size_t len, int flags, const void *op_context)
{
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)op_context,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = send_flags(flags),
	};

	if (!conn || !flags)
		return RPMA_E_INVAL;
	return post_rdma(conn, &wr,
			 (struct local_range){ dst, dst_offset, len }, src,
			 src_offset);
}

int rpma_write(struct rpma_conn *conn, struct rpma_mr_remote *dst,
	       size_t dst_offset, const struct rpma_mr_local *src,
	       size_t src_offset, size_t len, int flags, const void *op_context)
{
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)op_context,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = send_flags(flags),
	};

	if (!conn || !flags)
		return RPMA_E_INVAL;
	return post_rdma(conn, &wr,
			 (struct local_range){ src, src_offset, len }, dst,
			 dst_offset);
}

int rpma_write_with_imm(struct rpma_conn *conn, struct rpma_mr_remote *dst,
			size_t dst_offset, const struct rpma_mr_local *src,
			size_t src_offset, size_t len, int flags, uint32_t imm,
			const void *op_context)
{
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)op_context,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = send_flags(flags),
		.imm_data = htonl(imm),
	};

	if (!conn || !flags)
		return RPMA_E_INVAL;
	return post_rdma(conn, &wr,
			 (struct local_range){ src, src_offset, len }, dst,
			 dst_offset);
}

int rpma_send(struct rpma_conn *conn, const struct rpma_mr_local *src,
	      size_t offset, size_t len, int flags, const void *op_context)
{
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)op_context,
		.opcode = IBV_WR_SEND,
		.send_flags = send_flags(flags),
	};

	if (!conn || !flags)
		return RPMA_E_INVAL;
	return post_local(conn, &wr, (struct local_range){ src, offset, len });
}

int rpma_send_with_imm(struct rpma_conn *conn, const struct rpma_mr_local *src,
		       size_t offset, size_t len, int flags, uint32_t imm,
		       const void *op_context)
{
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)op_context,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = send_flags(flags),
		.imm_data = htonl(imm),
	};

	if (!conn || !flags)
		return RPMA_E_INVAL;
	return post_local(conn, &wr, (struct local_range){ src, offset, len });
}

int rpma_recv(struct rpma_conn *conn, struct rpma_mr_local *dst, size_t offset,
	      size_t len, const void *op_context)
{
	if (!conn)
		return RPMA_E_INVAL;
	return post_recv(conn->id->qp, dst, offset, len, op_context);
}
