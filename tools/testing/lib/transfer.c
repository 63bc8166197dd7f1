// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posts one message, by ibv_post_send() or the builder, and does the same to the model.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table.h"
#include "transfer.h"

enum { GRH = 40 };

const enum ibv_wr_opcode transfer_opcodes[TRANSFER_OPCODES] = {
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND,
	IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ
};

struct transfer transfer_in_pieces(enum ibv_wr_opcode opcode, uint32_t length)
{
	return (struct transfer){ .opcode = opcode,
				  .length = length,
				  .sges = rnd_in(1, 4),
				  .recv_sges = rnd_in(1, 4) };
}

bool takes_receive(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool has_imm(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

const char *opcode_name(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
		return "write";
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return "write with immediate";
	case IBV_WR_SEND:
		return "send";
	case IBV_WR_SEND_WITH_IMM:
		return "send with immediate";
	case IBV_WR_RDMA_READ:
		return "read";
	default:
		return "?";
	}
}

void pieces_cut(struct pieces *pieces, const struct region *region,
		uint32_t length, int count)
{
	uint64_t slack = region->buf->length - length, at = 0;
	uint32_t left = length;
	int i;

	pieces->count = count;
	for (i = 0; i < count; i++) {
		uint32_t piece = i == count - 1 ? left : rnd_in(0, left);
		uint64_t gap = rnd_below(slack / count + 1);

		/* Half of the pieces get an equal share, else one would often get nearly all. */
		if (i < count - 1 && rnd() & 1)
			piece = left / (count - i);
		at += gap;
		pieces->at[i] = at;
		pieces->sge[i] = sge_of(region, at, piece);
		at += piece;
		left -= piece;
	}
}

void pieces_gather(const struct pieces *pieces, const struct region *region,
		   uint8_t *to)
{
	int i;

	for (i = 0; i < pieces->count; i++) {
		memcpy(to, region->buf->want + pieces->at[i],
		       pieces->sge[i].length);
		to += pieces->sge[i].length;
	}
}

void pieces_scatter(const struct pieces *pieces, const struct region *region,
		    const uint8_t *from, uint32_t length)
{
	int i;

	for (i = 0; i < pieces->count && length; i++) {
		uint32_t piece = pieces->sge[i].length;

		if (piece > length)
			piece = length;
		memcpy(region->buf->want + pieces->at[i], from, piece);
		from += piece;
		length -= piece;
	}
}

/* Arguments of the functions that post a request. */
struct request {
	struct end *end;
	const struct transfer *t;
	struct pieces *pieces;
	uint64_t remote, wr_id;
	uint32_t rkey, imm, qpn, srqn;
};

static void post_list(const struct request *r)
{
	struct ibv_send_wr wr = {
		.wr_id = r->wr_id,
		.sg_list = r->pieces->sge,
		.num_sge = r->pieces->count,
		.opcode = r->t->opcode,
		.send_flags = IBV_SEND_SIGNALED |
			      (r->t->inline_data ? IBV_SEND_INLINE : 0) |
			      (r->t->solicited ? IBV_SEND_SOLICITED : 0),
		.imm_data = htonl(r->imm),
	};

	if (r->end->ah) {
		wr.wr.ud.ah = r->end->ah;
		wr.wr.ud.remote_qpn = r->qpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else {
		wr.wr.rdma.remote_addr = r->remote;
		wr.wr.rdma.rkey = r->rkey;
	}
	if (r->end->cfg.type == IBV_QPT_XRC_SEND)
		wr.qp_type.xrc.remote_srqn = r->srqn;
	post(r->end, &wr);
}

static void build_op(const struct request *r)
{
	struct ibv_qp_ex *ex = r->end->ex;

	switch (r->t->opcode) {
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(ex, r->rkey, r->remote);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(ex, r->rkey, r->remote, htonl(r->imm));
		break;
	case IBV_WR_SEND:
		ibv_wr_send(ex);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(ex, htonl(r->imm));
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(ex, r->rkey, r->remote);
		break;
	default:
		FAIL("no builder for opcode %d", r->t->opcode);
	}
}

static void build(const struct request *r)
{
	struct ibv_data_buf bufs[MAX_PIECES];
	struct ibv_qp_ex *ex = r->end->ex;
	int i;

	ibv_wr_start(ex);
	ex->wr_id = r->wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED |
		       (r->t->solicited ? IBV_SEND_SOLICITED : 0);
	build_op(r);
	if (r->end->ah)
		ibv_wr_set_ud_addr(ex, r->end->ah, r->qpn, QKEY);
	if (r->end->cfg.type == IBV_QPT_XRC_SEND)
		ibv_wr_set_xrc_srqn(ex, r->srqn);
	if (!r->t->inline_data) {
		ibv_wr_set_sge_list(ex, r->pieces->count, r->pieces->sge);
	} else {
		for (i = 0; i < r->pieces->count; i++) {
			bufs[i].addr =
				(void *)(uintptr_t)r->pieces->sge[i].addr;
			bufs[i].length = r->pieces->sge[i].length;
		}
		ibv_wr_set_inline_data_list(ex, r->pieces->count, bufs);
	}
	CHECK_EQ(ibv_wr_complete(ex), 0);
}

static void post_sink(struct link *link, struct pieces *sink, uint64_t wr_id)
{
	if (link->b.cfg.srq)
		post_srq(link->b.cfg.srq, sink->sge, sink->count, wr_id);
	else
		post_recv(&link->b, sink->sge, sink->count, wr_id);
}

static void check_received(struct link *link, const struct request *r,
			   uint64_t wr_id)
{
	bool write = r->t->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct ibv_wc wc = await(link->b.rcq);
	uint32_t length = r->t->length;

	if (r->end->ah)
		length += GRH;
	expect_why(wc, IBV_WC_SUCCESS, PINION_SYN_NONE);
	CHECK_EQ(wc.wr_id, wr_id);
	CHECK_EQ(wc.byte_len, length);
	CHECK_EQ(wc.qp_num, link->b.qp->qp_num);
	CHECK_EQ(wc.opcode, write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
	CHECK_EQ(!!(wc.wc_flags & IBV_WC_WITH_IMM), has_imm(r->t->opcode));
	if (has_imm(r->t->opcode))
		CHECK_EQ(ntohl(wc.imm_data), r->imm);
	/* rxe sets this flag for all completions. */
	if (link->b.cfg.device->pinion)
		CHECK_EQ(!!(wc.wc_flags & IBV_WC_GRH), !!r->end->ah);
	if (r->end->ah)
		CHECK_EQ(wc.src_qp, r->end->qp->qp_num);
}

static void check_sent(const struct request *r)
{
	static const enum ibv_wc_opcode opcodes[] = {
		[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
		[IBV_WR_SEND] = IBV_WC_SEND,
		[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
	};
	struct ibv_wc wc = await(r->end->scq);

	expect_why(wc, IBV_WC_SUCCESS, PINION_SYN_NONE);
	CHECK_EQ(wc.wr_id, r->wr_id);
	CHECK_EQ(wc.qp_num, r->end->qp->qp_num);
	CHECK_EQ(wc.opcode, opcodes[r->t->opcode]);
	if (r->t->opcode == IBV_WR_RDMA_READ)
		CHECK_EQ(wc.byte_len, r->t->length);
}

/* Inline data is read when it is posted, so later changes of it and its keys do not matter. */
static void spoil(const struct pieces *pieces, const struct region *region)
{
	int i;

	for (i = 0; i < pieces->count; i++)
		memset(region->buf->data + pieces->at[i], 0x99,
		       pieces->sge[i].length);
}

static void restore(const struct pieces *pieces, const struct region *region)
{
	int i;

	for (i = 0; i < pieces->count; i++)
		memcpy(region->buf->data + pieces->at[i],
		       region->buf->want + pieces->at[i],
		       pieces->sge[i].length);
}

/* The model does not predict the header of a datagram: copy it from the memory. */
static void accept_header(const struct pieces *sink, struct region *b)
{
	uint32_t left = GRH;
	int i;

	for (i = 0; i < sink->count && left; i++) {
		uint32_t piece = sink->sge[i].length;

		if (piece > left)
			piece = left;
		memcpy(b->buf->want + sink->at[i], b->buf->data + sink->at[i],
		       piece);
		left -= piece;
	}
}

/* Packets dropped by the responder's device since others are missing before them. */
static long long overtaken(const struct link *link)
{
	return device_counter_of(link->b.cfg.device, "rx_gap_drops");
}

/* A WRITE of an unreliable connection by packets, which may arrive later than it completes. */
struct unsure {
	const struct link *link;
	const struct request *request;
	const struct buf *buf;
	long long overtaken; /* before it was posted */
	bool again;
};

static bool is_unsure(const struct link *link, const struct request *r)
{
	return link->a.cfg.type == IBV_QPT_UC && dev.packets &&
	       r->t->opcode == IBV_WR_RDMA_WRITE;
}

/* Returns false if packets of it were overtaken, and so the rest of it was dropped. */
static bool write_arrived(void *arg)
{
	struct unsure *unsure = arg;
	const struct buf *buf = unsure->buf;
	double limit = now() + patience(5);

	if (unsure->again) {
		unsure->overtaken = overtaken(unsure->link);
		post_list(unsure->request);
		check_sent(unsure->request);
	}
	unsure->again = true;
	while (memcmp(buf->map, buf->model, buf->map_length)) {
		if (now() > limit)
			return overtaken(unsure->link) == unsure->overtaken;
		usleep(1000);
	}
	return true;
}

/*
 * A WRITE of what is there already changes nothing by which its arrival could be seen. If it is
 * late, it writes over what the test does next; so wait for a SEND behind it.
 */
static void let_write_pass(struct link *link, const struct region *a)
{
	struct pieces nothing = {};

	post_sink(link, &nothing, 0);
	expect(send_sge(&link->a, sge_of(a, 0, 0)), IBV_WC_SUCCESS);
	expect(await(link->b.rcq), IBV_WC_SUCCESS);
}

void transfer(struct link *link, struct region *a, struct region *b,
	      const struct transfer *t)
{
	struct pieces source, sink;
	uint32_t header = link->a.ah ? GRH : 0;
	struct request r = {
		.end = &link->a,
		.t = t,
		.pieces = &source,
		.wr_id = rnd(),
		.rkey = b->rkey,
		.imm = rnd(),
		.qpn = link->b.qp->qp_num,
		.srqn = link->a.psn,
	};
	uint64_t far = rnd_in(0, b->buf->length - t->length);
	uint64_t recv_id = rnd();
	uint8_t *data = MUST(malloc(t->length + GRH + 1));
	struct unsure unsure = { .link = link, .request = &r, .buf = b->buf };
	bool changes_nothing;
	int i;

	if (link->b.cfg.srq && link->a.cfg.type == IBV_QPT_XRC_SEND)
		CHECK_EQ(ibv_get_srq_num(link->b.cfg.srq, &r.srqn), 0);
	r.remote = b->base + far;
	pieces_cut(&source, a, t->length, t->sges ?: 1);
	if (takes_receive(t->opcode)) {
		pieces_cut(&sink, b, t->length + header + t->spare,
			   t->recv_sges ?: 1);
		post_sink(link, &sink, recv_id);
	}
	if (t->inline_data)
		for (i = 0; i < source.count; i++) {
			source.sge[i].addr =
				(uintptr_t)a->buf->data + source.at[i];
			source.sge[i].lkey = rnd();
		}
	pieces_gather(&source, a, data + header);
	changes_nothing = !memcmp(b->buf->want + far, data + header, t->length);
	if (is_unsure(link, &r))
		unsure.overtaken = overtaken(link);
	t->builder && link->a.ex ? build(&r) : post_list(&r);
	if (t->inline_data)
		spoil(&source, a);
	check_sent(&r);
	if (takes_receive(t->opcode))
		check_received(link, &r, recv_id);
	if (t->inline_data)
		restore(&source, a);

	if (t->opcode == IBV_WR_RDMA_READ) {
		pieces_scatter(&source, a, b->buf->want + far, t->length);
	} else if (t->opcode == IBV_WR_RDMA_WRITE ||
		   t->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		memcpy(b->buf->want + far, data + header, t->length);
	} else {
		pieces_scatter(&sink, b, data, t->length + header);
		if (header)
			accept_header(&sink, b);
	}
	free(data);
	if (is_unsure(link, &r) && changes_nothing)
		let_write_pass(link, a);
	else if (is_unsure(link, &r) &&
		 !one_of(3, "a packet was overtaken", write_arrived, &unsure))
		FAIL("each time");
	buf_check(a->buf);
	buf_check(b->buf);
	table_check(a, a->lkey);
	table_check(b, b->rkey);
}
