// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>

#include "stress.h"

enum { MAGIC = 0x70696e69 };

enum { OP_WRITE, OP_WRITE_IMM, OP_SEND, OP_SEND_IMM, OP_ADD, OP_SWAP, OPS };

static const char *pattern(uint32_t seed)
{
	return pool + seed % (POOL - WINDOW);
}

static uint32_t most(const struct conn *c)
{
	return c->type == IBV_QPT_UD ? 128u << mtu_of(c) : RECV_SIZE;
}

/* Cut [at, at + length) of the source into up to @max pieces. */
static int cut(struct conn *c, uint32_t at, uint32_t length, int max,
	       struct ibv_sge *sge)
{
	int n = 0;

	while (n < max - 1 && length > 1 && rnd_below(2)) {
		uint32_t piece = 1 + rnd_below(length - 1);

		sge[n++] = (struct ibv_sge){ (uintptr_t)c->mem->source + at,
					     piece, c->mr->lkey };
		at += piece;
		length -= piece;
	}
	sge[n++] = (struct ibv_sge){ (uintptr_t)c->mem->source + at, length,
				     c->mr->lkey };
	return n;
}

/* Adds a READ of what is written, for a comparison. */
static void read_back(struct conn *c, struct ibv_send_wr *wr,
		      struct ibv_send_wr *read, struct ibv_sge *back)
{
	memset(c->mem->back, 0xee, sizeof(c->mem->back));
	*back = (struct ibv_sge){ (uintptr_t)c->mem->back + c->to, c->length,
				  c->mr->lkey };
	*read = (struct ibv_send_wr){
		.wr_id = wr->wr_id,
		.sg_list = back,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = wr->wr.rdma,
	};
	wr->next = read;
	wr->send_flags = rnd_below(2) ? IBV_SEND_SIGNALED : 0;
	c->expect += wr->send_flags != 0;
}

static void fill_write(struct conn *c, struct ibv_send_wr *wr)
{
	/* Short lengths are as likely as long ones. */
	c->length = rnd_below(1u << (1 + rnd_below(17)));
	memcpy(c->mem->source + c->from, pattern(c->seed), c->length);
	wr->opcode = c->kind == OP_WRITE ? IBV_WR_RDMA_WRITE :
					   IBV_WR_RDMA_WRITE_WITH_IMM;
	wr->imm_data = c->seed;
	wr->wr.rdma.remote_addr = c->remote.window + c->to;
	wr->wr.rdma.rkey = c->remote.rkey;
	wr->num_sge = cut(c, c->from, c->length, MAX_PIECES, wr->sg_list);
}

static void fill_send(struct conn *c, struct ibv_send_wr *wr)
{
	uint32_t header[3];

	c->length = sizeof(header) + rnd_below(most(c) - sizeof(header));
	if (!rnd_below(4))
		c->length = sizeof(header) + rnd_below(100);
	header[0] = MAGIC;
	header[1] = c->seed;
	header[2] = c->length;
	memcpy(c->mem->source + c->from, pattern(c->seed), c->length);
	memcpy(c->mem->source + c->from, header, sizeof(header));
	wr->opcode = c->kind == OP_SEND ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM;
	wr->imm_data = c->seed;
	wr->num_sge = cut(c, c->from, c->length, MAX_PIECES, wr->sg_list);
	if (c->length <= 200 && rnd_below(2))
		wr->send_flags |= IBV_SEND_INLINE;
	if (rnd_below(2))
		wr->send_flags |= IBV_SEND_SOLICITED;
	if (c->type == IBV_QPT_UD) {
		wr->wr.ud.ah = c->ah;
		wr->wr.ud.remote_qpn = c->remote.qpn;
		wr->wr.ud.remote_qkey = QKEY;
	}
}

static void fill_atomic(struct conn *c, struct ibv_send_wr *wr)
{
	c->length = 8;
	wr->sg_list[0] =
		(struct ibv_sge){ (uintptr_t)&c->mem->old, 8, c->mr->lkey };
	wr->num_sge = 1;
	wr->wr.atomic.remote_addr = c->remote.atomics;
	wr->wr.atomic.rkey = c->remote.rkey;
	wr->wr.atomic.compare_add = c->kind == OP_ADD ? c->seed : c->counter;
	wr->wr.atomic.swap = c->seed;
	wr->opcode = c->kind == OP_ADD ? IBV_WR_ATOMIC_FETCH_AND_ADD :
					 IBV_WR_ATOMIC_CMP_AND_SWP;
}

/* Does this type of queue pair have that kind of operation? */
static bool possible(enum ibv_qp_type type, int kind)
{
	if (type == IBV_QPT_UD)
		return kind == OP_SEND || kind == OP_SEND_IMM;
	return type != IBV_QPT_UC || kind < OP_ADD;
}

void start(struct conn *c)
{
	struct ibv_sge sge[MAX_PIECES], back;
	struct ibv_send_wr *bad, read,
		wr = {
			.wr_id = (uint64_t)(c - conns) << 8,
			.sg_list = sge,
			.send_flags = IBV_SEND_SIGNALED,
		};
	int err;

	do {
		c->kind = rnd_below(OPS);
	} while (!possible(c->type, c->kind));
	c->seed = rnd();
	c->from = rnd_below(64);
	c->to = rnd_below(64);
	c->expect = 1;

	switch (c->kind) {
	case OP_WRITE:
	case OP_WRITE_IMM:
		fill_write(c, &wr);
		if (c->type == IBV_QPT_RC)
			read_back(c, &wr, &read, &back);
		break;
	case OP_SEND:
	case OP_SEND_IMM:
		fill_send(c, &wr);
		break;
	default:
		fill_atomic(c, &wr);
	}
	err = ibv_post_send(c->qp, &wr, &bad);
	if (err) {
		errno = err;
		give_up("ibv_post_send");
	}
	c->busy = true;
}

/* Check that the bytes read back are those written, and that bytes around them are unchanged. */
static void check_read_back(struct conn *c)
{
	uint32_t i;

	for (i = 0; i < c->length; i++)
		if (c->mem->back[c->to + i] != pattern(c->seed)[i])
			wrong(c, "byte read back",
			      (uint8_t)c->mem->back[c->to + i],
			      (uint8_t)pattern(c->seed)[i]);
	for (i = 0; i < sizeof(c->mem->back); i++) {
		if (i == c->to)
			i += c->length;
		if (i < sizeof(c->mem->back) &&
		    (uint8_t)c->mem->back[i] != 0xee)
			wrong(c, "byte beside", c->mem->back[i], 0xee);
	}
}

/* Only this side changes the other side's word, so its old value is known. */
static void check_atomic(struct conn *c)
{
	uint64_t old = c->mem->old;

	if (c->counter_known && old != c->counter)
		wrong(c, "atomic word", old, c->counter);
	/* A swap succeeds if the word was c->counter. The first need not: the word is unknown. */
	if (c->kind == OP_ADD)
		c->counter = old + c->seed;
	else
		c->counter = old == c->counter ? c->seed : old;
	c->counter_known = true;
}

void check_done(struct conn *c)
{
	if (c->kind >= OP_ADD)
		check_atomic(c);
	else if (c->type == IBV_QPT_RC && c->kind <= OP_WRITE_IMM)
		check_read_back(c);
	atomic_fetch_add(&shared->ops, 1);
	atomic_fetch_add(&shared->bytes, c->length);
	c->busy = false;
}

void received(struct conn *c, int i, const struct ibv_wc *wc)
{
	const char *data = c->mem->recv[i] + 1 + i +
			   (c->type == IBV_QPT_UD ? UD_SPACE : 0);
	uint32_t length = wc->byte_len - (c->type == IBV_QPT_UD ? UD_SPACE : 0);
	uint32_t header[3];

	atomic_fetch_add(&shared->receives, 1);
	/*
	 * The data are in the window, where the next write may have overwritten them. On RC the
	 * sender reads them back and compares.
	 */
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return;
	if (wc->opcode != IBV_WC_RECV)
		wrong(c, "opcode", wc->opcode, IBV_WC_RECV);
	memcpy(header, data, sizeof(header));
	if (header[0] != MAGIC || header[2] != length)
		wrong(c, "header", header[2], length);
	if (wc->wc_flags & IBV_WC_WITH_IMM && wc->imm_data != header[1])
		wrong(c, "immediate", wc->imm_data, header[1]);
	if (memcmp(data + sizeof(header), pattern(header[1]) + sizeof(header),
		   length - sizeof(header)))
		wrong(c, "received data", header[1], length);
}
