// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Atomic writes and flushes. Uses the device's own operations if it has them. Otherwise
 * an atomic write is a fenced inline write, and a flush a small read, as with librpma.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "log.h"
#include "post.h"

static void *sink_map(void)
{
	void *page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

static void sink_unmap(struct flush_sink *sink)
{
	if (sink->bytes)
		munmap(sink->bytes, sysconf(_SC_PAGESIZE));
	sink->bytes = NULL;
}

/*
 * The sink is a page of its own: registered pages may be missing in a child after
 * fork(), so nothing else may be in this page.
 */
int flush_sink_new(struct flush_sink *sink, struct rpma_peer *peer)
{
	int rc;

	/* Only a flush by READ needs it. */
	if (peer->native_flush)
		return 0;
	sink->bytes = sink_map();
	if (!sink->bytes) {
		LOG(ERROR, "mmap() failed: %s", strerror(errno));
		return RPMA_E_NOMEM;
	}
	rc = rpma_mr_reg(peer, sink->bytes, sizeof(*sink->bytes),
			 RPMA_MR_USAGE_READ_DST, &sink->mr);
	if (rc)
		sink_unmap(sink);
	return rc;
}

int flush_sink_delete(struct flush_sink *sink)
{
	int rc = sink->mr ? rpma_mr_dereg(&sink->mr) : 0;

	/* If deregistration has failed, the device may still write there. */
	if (!rc)
		sink_unmap(sink);
	return rc;
}

/* When the answer of a READ comes, all earlier WRITEs have been performed. */
static int flush_by_read(struct rpma_conn *conn,
			 const struct rpma_mr_remote *dst, size_t offset,
			 int flags, const void *op_context)
{
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)op_context,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = send_flags(flags),
	};
	size_t len = sizeof(*conn->sink.bytes);

	if (len > dst->size - offset)
		len = dst->size - offset;
	return post_rdma(conn, &wr,
			 (struct local_range){ conn->sink.mr, 0, len }, dst,
			 offset);
}

#ifdef HAVE_WR_FLUSH
static struct ibv_qp_ex *start_native(struct rpma_conn *conn, int flags,
				      const void *op_context)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(conn->id->qp);

	ibv_wr_start(qp);
	qp->wr_id = (uintptr_t)op_context;
	qp->wr_flags = send_flags(flags);
	return qp;
}

static int flush_native(struct rpma_conn *conn,
			const struct rpma_mr_remote *dst, size_t offset,
			size_t len, enum rpma_flush_type type, int flags,
			const void *op_context)
{
	struct ibv_qp_ex *qp = start_native(conn, flags, op_context);
	int rc;

	ibv_wr_flush(qp, dst->rkey, dst->raddr + offset, len,
		     type == RPMA_FLUSH_TYPE_PERSISTENT ? IBV_FLUSH_PERSISTENT :
							  IBV_FLUSH_GLOBAL,
		     IBV_FLUSH_RANGE);
	rc = ibv_wr_complete(qp);
	return rc ? PROVIDER_FAILED("ibv_wr_flush()", rc) : 0;
}

static int atomic_write_native(struct rpma_conn *conn,
			       const struct rpma_mr_remote *dst, size_t offset,
			       const char src[8], int flags,
			       const void *op_context)
{
	struct ibv_qp_ex *qp = start_native(conn, flags, op_context);
	int rc;

	ibv_wr_atomic_write(qp, dst->rkey, dst->raddr + offset, src);
	rc = ibv_wr_complete(qp);
	return rc ? PROVIDER_FAILED("ibv_wr_atomic_write()", rc) : 0;
}
#else
/* Never called: peer->native_* are false. */
#define flush_native(...) RPMA_E_NOSUPP
#define atomic_write_native(...) RPMA_E_NOSUPP
#endif

/* One packet of 8 aligned bytes. The fence makes it wait for earlier READs. */
static int atomic_write_inline(struct rpma_conn *conn,
			       const struct rpma_mr_remote *dst, size_t offset,
			       const char src[8], int flags,
			       const void *op_context)
{
	struct ibv_sge sge = { .addr = (uintptr_t)src, .length = 8 };
	struct ibv_send_wr *bad, wr = {
		.wr_id = (uintptr_t)op_context,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_INLINE | IBV_SEND_FENCE |
			      send_flags(flags),
		.wr.rdma = { .remote_addr = dst->raddr + offset,
			     .rkey = dst->rkey },
	};
	int rc = ibv_post_send(conn->id->qp, &wr, &bad);

	return rc ? PROVIDER_FAILED("ibv_post_send()", rc) : 0;
}

int rpma_atomic_write(struct rpma_conn *conn, struct rpma_mr_remote *dst,
		      size_t dst_offset, const char src[8], int flags,
		      const void *op_context)
{
	if (!conn || !dst || !src || !flags ||
	    dst_offset % RPMA_ATOMIC_WRITE_ALIGNMENT ||
	    !range_in(dst_offset, 8, dst->size))
		return RPMA_E_INVAL;
	if (conn->peer->native_atomic_write)
		return atomic_write_native(conn, dst, dst_offset, src, flags,
					   op_context);
	return atomic_write_inline(conn, dst, dst_offset, src, flags,
				   op_context);
}

int rpma_flush(struct rpma_conn *conn, struct rpma_mr_remote *dst,
	       size_t dst_offset, size_t len, enum rpma_flush_type type,
	       int flags, const void *op_context)
{
	bool persistent = type == RPMA_FLUSH_TYPE_PERSISTENT;
	int needed = persistent ? RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT :
				  RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;

	if (!conn || !dst || !flags ||
	    (!persistent && type != RPMA_FLUSH_TYPE_VISIBILITY) ||
	    !range_in(dst_offset, len, dst->size))
		return RPMA_E_INVAL;
	if (len > UINT32_MAX) {
		LOG(ERROR, "length %zu is more than a request can hold", len);
		return RPMA_E_INVAL;
	}
	if (persistent && !conn->direct_write_to_pmem) {
		LOG(ERROR, "the other side declared no direct write to PMem");
		return RPMA_E_NOSUPP;
	}
	if (!(dst->usage & needed)) {
		LOG(ERROR, "the memory is not registered for this flush");
		return RPMA_E_NOSUPP;
	}
	if (conn->peer->native_flush)
		return flush_native(conn, dst, dst_offset, len, type, flags,
				    op_context);
	return flush_by_read(conn, dst, dst_offset, flags, op_context);
}
