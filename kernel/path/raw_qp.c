// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Takes requests in mlx5's format out of memory of the program.
 */
#include "../logic/wqe.h"
#include "av.h"
#include "qp.h"
#include "raw_cq.h"
#include "raw_qp.h"

/* No operation has this opcode: stands for a request that cannot be parsed, which then fails. */
#define BAD_OPCODE	0xff

/* The producer index of a record; 16 bits of it count. */
static u16 raw_posted(const __be32 *record)
{
	u16 posted = be32_to_cpu(READ_ONCE(*record));

	/* Read requests after the index: the program wrote them before it. */
	smp_rmb();
	return posted;
}

/* The producer index of the send queue, from its doorbell if it has one, or from its record. */
static u16 raw_sq_posted(const struct pinion_qp *qp)
{
	const struct pinion_raw_sq *raw = &qp->raw->sq;
	u16 posted;

	if (!raw->bell)
		return raw_posted(raw->record);
	posted = pinion_mlx5_bell(be64_to_cpu(READ_ONCE(*raw->bell)), qp->ibqp.qp_num,
				  READ_ONCE(raw->next));
	/* Read requests after the index: the program wrote them before it. */
	smp_rmb();
	return posted;
}

/* Keep a datagram's address in avs[]; ud.ah is its index there. */
static int raw_sq_address(struct pinion_qp *qp, struct pinion_sq_wqe *to)
{
	struct pinion_raw_sq *raw = &qp->raw->sq;
	u32 slot = qp->sq.tail & (qp->sq.ring.entries - 1);
	struct pinion_mlx5_av av;

	pinion_mlx5_wqe_av(raw->copy, &av);
	to->ud.ah = slot;
	return pinion_av_of_mlx5(&raw->avs[slot], qp->node->ibdev, &av);
}

/*
 * Convert the next request; @left blocks were posted. Return: the blocks it takes. If its size is
 * impossible the next one cannot be found, so it takes all of @left.
 */
static u16 raw_sq_read(struct pinion_qp *qp, u16 left, struct pinion_sq_wqe *to)
{
	const struct pinion_mlx5_room room = {
		.max_sge = qp->sq.max_sge,
		.max_inline = qp->sq.max_inline,
		.datagrams = qp->service == PINION_SVC_UD,
		.xrc = qp->ibqp.qp_type == IB_QPT_XRC_INI,
	};
	struct pinion_raw_sq *raw = &qp->raw->sq;
	const struct pinion_mlx5_slot slot = { .qpn = qp->ibqp.qp_num, .index = raw->next };
	bool bad;
	u32 count;

	pinion_mlx5_wqe_copy(raw->copy, raw->blocks, raw->size, raw->next, 1);
	/* From here on read the copy only: the program may change the original. */
	count = pinion_mlx5_wqe_blocks(raw->copy);
	if (!count || count > left) {
		*to = (struct pinion_sq_wqe){ .opcode = BAD_OPCODE, .wr_id = raw->next };
		return left;
	}
	pinion_mlx5_wqe_copy(raw->copy + PINION_MLX5_BLOCK, raw->blocks, raw->size, raw->next + 1,
			     count - 1);
	bad = pinion_mlx5_wqe_parse(raw->copy, &slot, &room, to);
	/* Requests that send nothing have no address. */
	if (!bad && room.datagrams && !(pinion_op(to->opcode)->traits & PINION_OP_IS_LOCAL))
		bad = raw_sq_address(qp, to);
	if (bad)
		*to = (struct pinion_sq_wqe){ .opcode = BAD_OPCODE, .wr_id = raw->next };
	return count;
}

static bool raw_sq_believes(const struct pinion_raw_sq *raw, u16 posted)
{
	return (u16)(posted - READ_ONCE(raw->next)) <= raw->size;
}

bool pinion_raw_sq_pull(struct pinion_qp *qp)
{
	struct pinion_raw_sq *raw = &qp->raw->sq;
	struct pinion_sq *sq = &qp->sq;
	u16 posted = raw_sq_posted(qp);
	struct pinion_sq_wqe *to;
	u16 left;

	pinion_half_assert(&sq->exec);
	if (!raw_sq_believes(raw, posted))
		return false;
	while ((left = posted - raw->next) &&
	       pinion_ring_used(sq->tail, sq->head) < sq->ring.entries) {
		to = pinion_ring_at(&sq->ring, sq->tail);
		WRITE_ONCE(raw->next, raw->next + raw_sq_read(qp, left, to));
		to->wr_id = pinion_raw_id(false, to->opcode, to->wr_id, qp->raw->user_index);
		/* As in pinion_post_send(): pairs with pinion_ring_user_idx() of the executor. */
		smp_store_release(&sq->ring.hdr->user_idx, ++sq->tail);
	}
	return true;
}

/* The program resets the record itself. It cannot reset the doorbell, so we do. */
void pinion_raw_sq_forget(struct pinion_qp *qp)
{
	struct pinion_raw_sq *raw = &qp->raw->sq;

	if (raw->bell)
		WRITE_ONCE(*raw->bell, 0);
	WRITE_ONCE(raw->next, 0);
}

bool pinion_raw_sq_has_more(const struct pinion_qp *qp)
{
	return raw_sq_posted(qp) != READ_ONCE(qp->raw->sq.next);
}

bool pinion_raw_sq_is_sane(const struct pinion_qp *qp)
{
	return raw_sq_believes(&qp->raw->sq, raw_sq_posted(qp));
}

bool pinion_raw_sq_has_room(const struct pinion_qp *qp)
{
	const struct pinion_ring *ring = &qp->sq.ring;

	return pinion_ring_used(pinion_ring_user_idx(ring), READ_ONCE(qp->sq.head)) < ring->entries;
}

u64 pinion_raw_sq_progress(const struct pinion_qp *qp)
{
	return (u64)READ_ONCE(qp->raw->sq.next) << 32 | READ_ONCE(qp->sq.head);
}

static u16 raw_rq_used(const struct pinion_raw_rq *raw)
{
	return raw_posted(raw->record) - READ_ONCE(raw->next);
}

/* Both indices are of 16 bits. */
static void raw_look(u16 next, u16 posted, struct pinion_ring_facts *facts)
{
	facts->kern_idx = next;
	facts->user_idx = next + (u16)(posted - next);
}

void pinion_raw_sq_look(const struct pinion_qp *qp, struct pinion_ring_facts *facts)
{
	const struct pinion_raw_sq *raw = &qp->raw->sq;

	facts->entries = raw->size;
	facts->stride = PINION_MLX5_BLOCK;
	if (raw->gone)
		return;
	raw_look(READ_ONCE(raw->next), raw_sq_posted(qp), facts);
}

void pinion_raw_rq_look(const struct pinion_raw_rq *raw, struct pinion_ring_facts *facts)
{
	facts->entries = raw->entries;
	facts->stride = (raw->num_sge + raw->shared) * sizeof(struct pinion_sge);
	if (raw->entries && !raw->gone)
		raw_look(READ_ONCE(raw->next), raw_posted(raw->record), facts);
}

u32 pinion_raw_rq_count(const struct pinion_raw_rq *raw)
{
	u16 used = raw_rq_used(raw);

	return used <= raw->entries ? used : 0;
}

int pinion_raw_rq_take(struct pinion_raw_rq *raw, struct pinion_recv *recv)
{
	u8 copy[PINION_MLX5_LINK + PINION_MAX_SGE * sizeof(struct pinion_sge)];
	u32 link = raw->shared ? PINION_MLX5_LINK : 0;
	u32 length = link + raw->num_sge * sizeof(struct pinion_sge);
	u16 slot = raw->linked ? raw->slot : raw->next;
	u16 used = raw_rq_used(raw);

	if (!used)
		return -ENOENT;
	if (used > raw->entries)
		return -EBADMSG;
	memcpy(copy, raw->slots + (slot & (raw->entries - 1)) * length, length);
	recv->wr_id = pinion_raw_id(true, 0, slot, raw->user_index);
	recv->num_sge = pinion_mlx5_recv_parse(copy + link, raw->num_sge, recv->sge);
	recv->length = pinion_sge_sum(recv->sge, recv->num_sge);
	/* The program wrote the link: mask it, so that the slot is inside the ring. */
	if (raw->linked)
		raw->slot = pinion_mlx5_recv_next(copy) & (raw->entries - 1);
	WRITE_ONCE(raw->next, raw->next + 1);
	return 0;
}
