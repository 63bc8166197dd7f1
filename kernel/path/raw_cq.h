/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A raw completion queue: in mlx5's format, in memory of the program. In a doorbell record the
 * program writes how many completions it has polled, and whether it waits for an event. The program
 * may change ring and record at any time, and both may be the same memory.
 */
#ifndef PINION_PATH_RAW_CQ_H
#define PINION_PATH_RAW_CQ_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "../mem/umem.h"

struct pinion_bells;
struct pinion_cq;
struct pinion_cqe;
struct pinion_ring_facts;

/*
 * A word of the record as it was when the ring was last exchanged. The completion that ends a ring
 * has a number, too, which the program counts when it next writes the word. Until then the word is
 * behind by one for each exchange.
 */
struct pinion_raw_word {
	u32 said;			/* its value then */
	u32 behind;			/* how far it is behind as long as it has that value */
};

struct pinion_raw_cq {
	struct pinion_view ring;
	struct pinion_view record;
	u32 entries;			/* a power of two */
	u32 stride;
	bool pads;			/* of 128 bytes, the first 64 are cleared */
	bool overruns;			/* the consumer index means nothing: write in any case */
	/* Written under fill_lock; bell.c reads them without it. */
	u32 fired;			/* the record's arm word at the last event */
	u32 solicited;			/* the number behind the last solicited completion */
	struct pinion_raw_word polled;
	struct pinion_raw_word armed;

	/* Used by bell.c to find programs that wait for completions that are there already. */
	struct pinion_cq *cq;
	struct pinion_bells *bells;
	struct list_head list;
	u32 seen;			/* the arm word when it was last read */
	unsigned long since;		/* when that word was first seen, in jiffies */
	bool gone;			/* the record must not be read; under fill_lock */
	bool polls;			/* the program arms, then polls once more */
	struct work_struct late;	/* raises the event; in complete.c */
};

/* Bytes of a record: the consumer index, of which 24 bits count, then the arm word. */
#define PINION_RAW_RECORD	8

/* The consumer index that the program has written. */
u32 pinion_raw_cq_consumer(const struct pinion_raw_cq *raw);
/* Has the program polled anything since it last armed the queue? */
bool pinion_raw_cq_was_polled(const struct pinion_raw_cq *raw);

/*
 * Is there room for the completion with number @tail? Always, if the program has promised to poll
 * in time. fill_lock is held, as below.
 */
bool pinion_raw_cq_has_room(const struct pinion_raw_cq *raw, u32 tail);

/* Write @cqe as number @tail; its wr_id is a pinion_raw_id(). */
void pinion_raw_cq_put(struct pinion_raw_cq *raw, u32 tail, const struct pinion_cqe *cqe);

/* Fill @facts with both indices, for path/look.c. fill_lock is held. */
void pinion_raw_cq_look(const struct pinion_raw_cq *raw, u32 tail,
			struct pinion_ring_facts *facts);

/* A ring for pinion_raw_cq_exchange(). */
struct pinion_raw_ring {
	struct pinion_view view;
	u32 entries;
	u32 stride;
};

/*
 * Exchange the ring and @ring. The old ring ends with a completion that says so, number @tail; the
 * program copies what it has not polled to the new one, each entry one number higher. Return: 0,
 * or -EINVAL if the old ring is full or the new one too small. Under fill_lock.
 */
int pinion_raw_cq_exchange(struct pinion_raw_cq *raw, u32 tail, struct pinion_raw_ring *ring);

/*
 * Is an event due: is the queue armed, and is there a completion before @tail (a solicited one, if
 * armed for those) that the program had not polled when it armed, and that raised no event yet?
 * Without a lock the answer may be old.
 */
bool pinion_raw_cq_is_due(const struct pinion_raw_cq *raw, u32 tail);
/* The same with fill_lock held; if it returns true, the caller raises the event. */
bool pinion_raw_cq_disarm(struct pinion_raw_cq *raw, u32 tail);

/*
 * The wr_id of requests in mlx5's format, which have none of their own. It carries what mlx5's
 * completions tell and ours do not.
 */
static inline u64 pinion_raw_id(bool receive, u8 opcode, u16 wqe_counter, u32 user_index)
{
	return (u64)user_index << 32 | (u32)receive << 24 | (u32)opcode << 16 | wqe_counter;
}

#endif
