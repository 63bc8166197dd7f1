// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes completions in mlx5's format to memory of the program, whose contents are never trusted.
 */
#include <linux/bits.h>
#include <linux/string.h>

#include "../logic/mlx5_cqe.h"
#include "raw_cq.h"

#define COUNTER_MASK	0xffffff

/* In the arm word, which has the consumer index at the time of arming in its low 24 bits. */
#define ARM_SOLICITED	BIT(24)

static u32 raw_cq_behind(const struct pinion_raw_word *word, u32 says)
{
	return READ_ONCE(word->said) == says ? READ_ONCE(word->behind) : 0;
}

/* Note an exchange of the ring. If @says has not changed since the last one, both count. */
static void raw_cq_fall_behind(struct pinion_raw_word *word, u32 says)
{
	WRITE_ONCE(word->behind, raw_cq_behind(word, says) + 1);
	WRITE_ONCE(word->said, says);
}

static u32 raw_cq_says_polled(const struct pinion_raw_cq *raw)
{
	const __be32 *record = raw->record.at;

	return be32_to_cpu(READ_ONCE(record[0])) & COUNTER_MASK;
}

static u32 raw_cq_says_armed(const struct pinion_raw_cq *raw)
{
	const __be32 *record = raw->record.at;

	return be32_to_cpu(READ_ONCE(record[1]));
}

u32 pinion_raw_cq_consumer(const struct pinion_raw_cq *raw)
{
	u32 says = raw_cq_says_polled(raw);

	return (says + raw_cq_behind(&raw->polled, says)) & COUNTER_MASK;
}

bool pinion_raw_cq_was_polled(const struct pinion_raw_cq *raw)
{
	u32 arm = raw_cq_says_armed(raw);

	return (pinion_raw_cq_consumer(raw) - arm - raw_cq_behind(&raw->armed, arm)) & COUNTER_MASK;
}

void pinion_raw_cq_look(const struct pinion_raw_cq *raw, u32 tail,
			struct pinion_ring_facts *facts)
{
	facts->entries = raw->entries;
	facts->stride = raw->stride;
	facts->kern_idx = tail;
	facts->user_idx = tail;
	/* How many were polled is not known of a queue that may be overrun. */
	if (raw->gone || raw->overruns)
		return;
	facts->user_idx = tail - ((tail - pinion_raw_cq_consumer(raw)) & COUNTER_MASK);
}

/* An impossible index counts as a full queue. */
bool pinion_raw_cq_has_room(const struct pinion_raw_cq *raw, u32 tail)
{
	u32 used;

	if (raw->overruns)
		return true;
	used = (tail - pinion_raw_cq_consumer(raw)) & COUNTER_MASK;
	/* Do not write to a slot before the index is read that says it was polled. */
	smp_rmb();
	return used < raw->entries;
}

/*
 * Is the queue armed by @arm, with a completion that raises an event? The program counts events in
 * the arm word, so each arming writes a different word.
 */
static bool raw_cq_waits(const struct pinion_raw_cq *raw, u32 arm, u32 tail)
{
	u32 end = arm & ARM_SOLICITED ? READ_ONCE(raw->solicited) : tail;
	u32 seen = arm + raw_cq_behind(&raw->armed, arm);

	return arm != READ_ONCE(raw->fired) &&
	       ((end - seen - 1) & COUNTER_MASK) < READ_ONCE(raw->entries);
}

bool pinion_raw_cq_is_due(const struct pinion_raw_cq *raw, u32 tail)
{
	return raw_cq_waits(raw, raw_cq_says_armed(raw), tail);
}

bool pinion_raw_cq_disarm(struct pinion_raw_cq *raw, u32 tail)
{
	u32 arm = raw_cq_says_armed(raw);

	if (!raw_cq_waits(raw, arm, tail))
		return false;
	WRITE_ONCE(raw->fired, arm);
	return true;
}

static u8 *raw_cq_slot(const struct pinion_raw_cq *raw, u32 tail)
{
	u64 slot = tail & (raw->entries - 1);

	return pinion_mlx5_cqe_in(raw->ring.at + slot * raw->stride, raw->stride);
}

static void raw_cq_write(const struct pinion_raw_cq *raw, u32 tail, const u8 *bytes, u8 own)
{
	u8 *to = raw_cq_slot(raw, tail);

	if (raw->pads && raw->stride == 2 * PINION_MLX5_CQE)
		memset(to - PINION_MLX5_CQE, 0, PINION_MLX5_CQE);
	memcpy(to, bytes, PINION_MLX5_CQE - 1);
	/* The owner byte last: by it the program sees that the slot is valid. */
	smp_store_release(&to[PINION_MLX5_CQE - 1], own);
}

void pinion_raw_cq_put(struct pinion_raw_cq *raw, u32 tail, const struct pinion_cqe *cqe)
{
	const struct pinion_mlx5_cqe_of of = {
		.receive = cqe->wr_id >> 24 & 1,
		.opcode = cqe->wr_id >> 16,
		.wqe_counter = cqe->wr_id,
		.srqn = cqe->wr_id >> 32,
	};
	u8 bytes[PINION_MLX5_CQE - 1];
	u8 own;

	if (cqe->status || cqe->flags & PINION_CQE_SOLICITED)
		WRITE_ONCE(raw->solicited, tail + 1);
	own = pinion_mlx5_cqe_fill(bytes, cqe, &of, tail, raw->entries);
	raw_cq_write(raw, tail, bytes, own);
}

int pinion_raw_cq_exchange(struct pinion_raw_cq *raw, u32 tail, struct pinion_raw_ring *ring)
{
	u32 used = (tail - pinion_raw_cq_consumer(raw)) & COUNTER_MASK;
	u8 bytes[PINION_MLX5_CQE - 1];
	struct pinion_raw_ring old;
	u8 own;

	if (used >= raw->entries || used > ring->entries)
		return -EINVAL;
	own = pinion_mlx5_cqe_fill_resized(bytes, tail, raw->entries);
	raw_cq_write(raw, tail, bytes, own);
	raw_cq_fall_behind(&raw->polled, raw_cq_says_polled(raw));
	raw_cq_fall_behind(&raw->armed, raw_cq_says_armed(raw));
	WRITE_ONCE(raw->solicited, raw->solicited + 1);
	old = (struct pinion_raw_ring){ raw->ring, raw->entries, raw->stride };
	raw->ring = ring->view;
	raw->stride = ring->stride;
	/* bell.c looks at it without the lock. */
	WRITE_ONCE(raw->entries, ring->entries);
	*ring = old;
	return 0;
}
