// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Records ibv_wr_*() and ibv_start_poll() and the like, which are called by pointers in the queue.
 */
#include <stdlib.h>
#include <string.h>

#include "record.h"

/* ------------------------------------------------------------------------ requests */

/*
 * The queue's original functions, and the requests since wr_start(). From wr_start() to
 * wr_complete() only one thread uses the queue.
 */
struct builder {
	struct ibv_qp_ex own;
	struct request {
		struct ibv_send_wr wr;
		struct ibv_sge *sges;
	} *requests;
	int num, room;
};

/* Add a request; NULL: no memory. */
static struct request *request_new(struct ibv_qp_ex *qp,
				   enum ibv_wr_opcode opcode)
{
	struct builder *builder = kept(qp);
	struct request *request, *more;

	if (builder->num == builder->room) {
		more = realloc(builder->requests,
			       (builder->room + 16) * sizeof(*more));
		if (!more)
			return NULL;
		builder->requests = more;
		builder->room += 16;
	}
	request = &builder->requests[builder->num++];
	*request = (struct request){
		.wr = { .wr_id = qp->wr_id,
			.send_flags = qp->wr_flags,
			.opcode = opcode },
	};
	return request;
}

static struct request *request_last(struct ibv_qp_ex *qp)
{
	struct builder *builder = kept(qp);

	return builder->num ? &builder->requests[builder->num - 1] : NULL;
}

static void request_sges(struct request *request, const struct ibv_sge *sges,
			 size_t num)
{
	if (!request)
		return;
	free(request->sges);
	request->sges = calloc(num ? num : 1, sizeof(*sges));
	if (!request->sges)
		num = 0;
	if (num)
		memcpy(request->sges, sges, num * sizeof(*sges));
	request->wr.sg_list = request->sges;
	request->wr.num_sge = num;
}

/* Record all requests, if they were posted. */
static void requests_end(struct ibv_qp_ex *qp, bool posted)
{
	struct builder *builder = kept(qp);
	int i;

	for (i = 0; i < builder->num; i++) {
		if (posted)
			line_send(&qp->qp_base, &builder->requests[i].wr);
		free(builder->requests[i].sges);
	}
	builder->num = 0;
}

#define OWN(qp) (&((struct builder *)kept(qp))->own)

static void watched_start(struct ibv_qp_ex *qp)
{
	OWN(qp)->wr_start(qp);
}

static int watched_complete(struct ibv_qp_ex *qp)
{
	struct line line;
	int err;

	requests_end(qp, true);
	err = OWN(qp)->wr_complete(qp);
	if (err) {
		line_begin(&line, "refused");
		line_add(&line, " qp=%p wr_id=0x%llx errno=%d", (void *)qp,
			 (unsigned long long)qp->wr_id, err);
		line_end(&line);
	}
	return err;
}

static void watched_abort(struct ibv_qp_ex *qp)
{
	requests_end(qp, false);
	OWN(qp)->wr_abort(qp);
}

static void watched_send(struct ibv_qp_ex *qp)
{
	request_new(qp, IBV_WR_SEND);
	OWN(qp)->wr_send(qp);
}

static void watched_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	request_new(qp, IBV_WR_SEND_WITH_IMM);
	OWN(qp)->wr_send_imm(qp, imm);
}

static void watched_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	struct request *request = request_new(qp, IBV_WR_SEND_WITH_INV);

	if (request)
		request->wr.invalidate_rkey = rkey;
	OWN(qp)->wr_send_inv(qp, rkey);
}

static void watched_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	struct request *request = request_new(qp, IBV_WR_LOCAL_INV);

	if (request)
		request->wr.invalidate_rkey = rkey;
	OWN(qp)->wr_local_inv(qp, rkey);
}

static void request_remote(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode,
			   uint32_t rkey, uint64_t addr)
{
	struct request *request = request_new(qp, opcode);

	if (!request)
		return;
	request->wr.wr.rdma.remote_addr = addr;
	request->wr.wr.rdma.rkey = rkey;
}

static void watched_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	request_remote(qp, IBV_WR_RDMA_WRITE, rkey, addr);
	OWN(qp)->wr_rdma_write(qp, rkey, addr);
}

static void watched_write_imm(struct ibv_qp_ex *qp, uint32_t rkey,
			      uint64_t addr, __be32 imm)
{
	request_remote(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr);
	OWN(qp)->wr_rdma_write_imm(qp, rkey, addr, imm);
}

static void watched_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	request_remote(qp, IBV_WR_RDMA_READ, rkey, addr);
	OWN(qp)->wr_rdma_read(qp, rkey, addr);
}

#ifdef HAVE_WR_FLUSH
static void watched_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr,
			  size_t length, uint8_t type, uint8_t level)
{
	request_remote(qp, IBV_WR_FLUSH, rkey, addr);
	OWN(qp)->wr_flush(qp, rkey, addr, length, type, level);
}

static void watched_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey,
				 uint64_t addr, const void *value)
{
	request_remote(qp, IBV_WR_ATOMIC_WRITE, rkey, addr);
	OWN(qp)->wr_atomic_write(qp, rkey, addr, value);
}
#endif

static void request_atomic(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode,
			   uint32_t rkey, uint64_t addr)
{
	struct request *request = request_new(qp, opcode);

	if (!request)
		return;
	request->wr.wr.atomic.remote_addr = addr;
	request->wr.wr.atomic.rkey = rkey;
}

static void watched_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr,
			    uint64_t compare, uint64_t swap)
{
	request_atomic(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr);
	OWN(qp)->wr_atomic_cmp_swp(qp, rkey, addr, compare, swap);
}

static void watched_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey,
			      uint64_t addr, uint64_t add)
{
	request_atomic(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr);
	OWN(qp)->wr_atomic_fetch_add(qp, rkey, addr, add);
}

static void watched_build_bind(struct ibv_qp_ex *qp, struct ibv_mw *mw,
			       uint32_t rkey,
			       const struct ibv_mw_bind_info *info)
{
	struct request *request = request_new(qp, IBV_WR_BIND_MW);

	if (request) {
		request->wr.bind_mw.mw = mw;
		request->wr.bind_mw.rkey = rkey;
		request->wr.bind_mw.bind_info = *info;
	}
	OWN(qp)->wr_bind_mw(qp, mw, rkey, info);
}

static void watched_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr,
			uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	request_sges(request_last(qp), &sge, 1);
	OWN(qp)->wr_set_sge(qp, lkey, addr, length);
}

static void watched_sge_list(struct ibv_qp_ex *qp, size_t num,
			     const struct ibv_sge *sges)
{
	request_sges(request_last(qp), sges, num);
	OWN(qp)->wr_set_sge_list(qp, num, sges);
}

static void request_inline(struct ibv_qp_ex *qp, const struct ibv_sge *sges,
			   size_t num)
{
	struct request *request = request_last(qp);

	request_sges(request, sges, num);
	if (request)
		request->wr.send_flags |= IBV_SEND_INLINE;
}

static void watched_inline(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	struct ibv_sge sge = { .addr = (uintptr_t)addr, .length = length };

	request_inline(qp, &sge, 1);
	OWN(qp)->wr_set_inline_data(qp, addr, length);
}

static void watched_inline_list(struct ibv_qp_ex *qp, size_t num,
				const struct ibv_data_buf *list)
{
	struct ibv_sge *sges = calloc(num ? num : 1, sizeof(*sges));
	size_t i;

	for (i = 0; sges && i < num; i++)
		sges[i] = (struct ibv_sge){ .addr = (uintptr_t)list[i].addr,
					    .length = list[i].length };
	request_inline(qp, sges, sges ? num : 0);
	free(sges);
	OWN(qp)->wr_set_inline_data_list(qp, num, list);
}

static void watched_ud(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t qpn,
		       uint32_t qkey)
{
	struct request *request = request_last(qp);

	if (request) {
		request->wr.wr.ud.ah = ah;
		request->wr.wr.ud.remote_qpn = qpn;
		request->wr.wr.ud.remote_qkey = qkey;
	}
	OWN(qp)->wr_set_ud_addr(qp, ah, qpn, qkey);
}

#define WATCH(object, call, ours)                \
	do {                                     \
		if ((object)->call)              \
			(object)->call = (ours); \
	} while (0)

void builder_watch(struct ibv_qp_ex *qp)
{
	struct builder *builder;

	if (!qp)
		return;
	/* Left from a destroyed queue at the same address. */
	builder = kept(qp);
	if (builder)
		free(builder->requests);
	builder = kept_new(qp, sizeof(*builder));
	if (!builder)
		return;
	builder->own = *qp;
	WATCH(qp, wr_start, watched_start);
	WATCH(qp, wr_complete, watched_complete);
	WATCH(qp, wr_abort, watched_abort);
	WATCH(qp, wr_send, watched_send);
	WATCH(qp, wr_send_imm, watched_send_imm);
	WATCH(qp, wr_send_inv, watched_send_inv);
	WATCH(qp, wr_local_inv, watched_local_inv);
	WATCH(qp, wr_rdma_write, watched_write);
	WATCH(qp, wr_rdma_write_imm, watched_write_imm);
	WATCH(qp, wr_rdma_read, watched_read);
	WATCH(qp, wr_atomic_cmp_swp, watched_cmp_swp);
	WATCH(qp, wr_atomic_fetch_add, watched_fetch_add);
#ifdef HAVE_WR_FLUSH
	WATCH(qp, wr_flush, watched_flush);
	WATCH(qp, wr_atomic_write, watched_atomic_write);
#endif
	WATCH(qp, wr_bind_mw, watched_build_bind);
	WATCH(qp, wr_set_sge, watched_sge);
	WATCH(qp, wr_set_sge_list, watched_sge_list);
	WATCH(qp, wr_set_inline_data, watched_inline);
	WATCH(qp, wr_set_inline_data_list, watched_inline_list);
	WATCH(qp, wr_set_ud_addr, watched_ud);
}

/* --------------------------------------------------------------------- completions */

struct poller {
	struct ibv_cq_ex own;
};

/* Only the fields that the program has asked for at creation may be read. */
static void poller_line(struct ibv_cq_ex *cq)
{
	struct ibv_wc wc = { .wr_id = cq->wr_id, .status = cq->status };

	if (cq->read_qp_num)
		wc.qp_num = cq->read_qp_num(cq);
	if (cq->status == IBV_WC_SUCCESS) {
		if (cq->read_opcode)
			wc.opcode = cq->read_opcode(cq);
		if (cq->read_byte_len)
			wc.byte_len = cq->read_byte_len(cq);
		if (cq->read_wc_flags)
			wc.wc_flags = cq->read_wc_flags(cq);
	}
	line_completion(ibv_cq_ex_to_cq(cq), &wc);
}

static int watched_start_poll(struct ibv_cq_ex *cq,
			      struct ibv_poll_cq_attr *attr)
{
	struct poller *poller = kept(cq);
	int err = poller->own.start_poll(cq, attr);

	if (!err)
		poller_line(cq);
	return err;
}

static int watched_next_poll(struct ibv_cq_ex *cq)
{
	struct poller *poller = kept(cq);
	int err = poller->own.next_poll(cq);

	if (!err)
		poller_line(cq);
	return err;
}

void poller_watch(struct ibv_cq_ex *cq)
{
	struct poller *poller = kept_new(cq, sizeof(*poller));

	if (!poller)
		return;
	poller->own = *cq;
	WATCH(cq, start_poll, watched_start_poll);
	WATCH(cq, next_poll, watched_next_poll);
}
