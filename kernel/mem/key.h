/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Keys: what an lkey or rkey means, found by number, entered through a gate.
 *
 * A key is 24 random bits of index and 8 random bits of tag; all 32 are compared.
 * The object behind it is reference counted and freed by RCU, apart from the
 * verbs object (an MR or a window) that owns it.
 *
 * The gate (gate.h) is the only way in. The data path enters (find, enter, check) and
 * leaves; between the two only bytes move: no sleep, no allocation, no fault.
 * Whatever changes what the key means closes the gate, changes, reopens, so that
 * when it returns nobody acts upon the old meaning. Only who may change a key closes its
 * gate, which is found out before: a stranger who knows its number stops nobody.
 */
#ifndef PINION_MEM_KEY_H
#define PINION_MEM_KEY_H

#include <linux/bits.h>
#include <linux/kref.h>
#include <linux/rcupdate.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "gate.h"
#include "keys.h"
#include "mtt.h"

struct ib_pd;
struct pinion_fastreg;
struct pinion_pager;
struct pinion_pieces;

#define PINION_KEY_INDEX_SHIFT	8
#define PINION_KEY_TAG		0xff

/* Rights whose use stores, so the pages have to be writable. */
#define PINION_KEY_WRITING (IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | \
			    IB_UVERBS_ACCESS_REMOTE_ATOMIC)

/* Of one region. Far from where the count wraps, however many come at a time. */
#define PINION_MAX_WINDOWS	BIT(24)

enum pinion_key_kind {
	PINION_KEY_REGION,	/* memory behind an MTT */
	PINION_KEY_DMA,		/* any DMA address; kernel consumers only */
	PINION_KEY_WINDOW,	/* part of a region */
	PINION_KEY_NULL,	/* no memory */
	PINION_KEY_PIECES,	/* pieces of regions, one after the other */
	PINION_KEY_NUM_KINDS
};

enum pinion_key_state {
	PINION_KEY_FREE,	/* has a number, means nothing: unbound, invalidated */
	PINION_KEY_VALID,
	PINION_KEY_DEAD,	/* its owner is gone */
};

struct pinion_key {
	struct pinion_key __rcu *next[2];	/* in its list; see keys.c */
	u32 index;			/* set when it gets there, and kept; never 0 */
	enum pinion_key_kind kind;
	struct pinion_keys *keys;

	struct pinion_gate gate;
	/* What follows changes only with the gate closed. */
	u32 value;			/* the whole 32-bit key; 0 before it is published */
	enum pinion_key_state state;
	u32 rights;			/* IB_ACCESS_* */
	struct ib_pd *pd;
	u32 qpn;			/* type 2 window: the QP it is bound on, else 0 */
	u32 generation;			/* advanced when other memory is behind it */
	u64 base;			/* the address of its first byte, as users give it */
	u64 length;
	struct pinion_mtt *mtt;		/* REGION: of who made the key, or of the pager */
	struct pinion_pieces *pieces;	/* PIECES */
	struct pinion_key *region;	/* WINDOW: a reference while VALID */
	u64 region_offset;		/* WINDOW: of its first byte in the region */
	struct pinion_pager *pager;	/* REGION whose pages come and go */
	struct pinion_fastreg *fastreg;	/* REGION for fast registration: its list */
	bool invalidatable;		/* type 2 window, fast-registered region; for good */
	struct pinion_mtt_one one;	/* REGION of one block: its table */

	/* And this at any time. The data path does not look at it. */
	atomic_t windows;		/* REGION: windows bound to it, and pieces lent */
	struct kref ref;
	struct rcu_head rcu;
};

/*
 * A key without a number or a meaning yet, not findable. Publish gives it its number
 * and makes it findable. The caller's one reference is dropped by pinion_key_kill().
 */
struct pinion_key *pinion_key_alloc(struct pinion_keys *keys, enum pinion_key_kind kind,
				    gfp_t gfp);
void pinion_key_publish(struct pinion_key *key);

/* Unpublish, close the gate for good and drop the owner's reference. Never fails. */
void pinion_key_kill(struct pinion_key *key);

/* The same for a region, unless windows are bound to it: -EBUSY, and it lives on. */
int pinion_key_kill_unbound(struct pinion_key *key);

void pinion_key_put(struct pinion_key *key);

/* Find by the full value and take a reference; NULL if there is none. */
struct pinion_key *pinion_key_get(struct pinion_keys *keys, u32 value);

/* The same by the index alone: who is about to give it a new tag. */
struct pinion_key *pinion_key_get_any_tag(struct pinion_keys *keys, u32 value);

/* Waits for those inside; may sleep. From close to open there is no preemption. */
static inline void pinion_key_close(struct pinion_key *key)
{
	pinion_gate_close(&key->gate);
}

static inline void pinion_key_open(struct pinion_key *key)
{
	pinion_gate_open(&key->gate);
}

/* Let go of the region a window is bound to. The window's gate is closed. */
void pinion_key_unbind(struct pinion_key *key);

/*
 * Take away the meaning of a fast-registered region or a type 2 window, asked for
 * by its own user (@qpn 0) or by the peer of QP @qpn. Return: 0 or a syndrome.
 */
int pinion_key_invalidate(struct pinion_keys *keys, struct ib_pd *pd, u32 value, u32 qpn);

/* -------------------------------------------------------------- the way in */

/* What somebody wants of a key. */
struct pinion_want {
	const struct ib_pd *pd;
	u32 qpn;		/* on which QP it arrives: windows of type 2 */
	u32 key;
	u32 rights;		/* all of these; 0 is local read */
	u64 addr;
	u64 length;
	bool whole;		/* all there is, wherever: no range */
	bool remote;		/* windows serve only remote access */
	bool region;		/* of a region itself: nothing else will do */
};

/* Held while bytes move; embedded in a cursor, never allocated. */
struct pinion_pass {
	struct pinion_key *key;
	struct pinion_key *region;	/* != key for a window */
	u64 offset;			/* of want.addr in the region */
	u32 generation;
	bool writes;
	s8 slot;			/* of the gates, see pinion_gate_enter() */
	s8 region_slot;			/* if region != key */
};

/*
 * Why @key refuses @want, or 0: an enum pinion_syndrome. A key of another domain is as
 * unknown as none, so that nobody finds others' keys by trying. Its gate is held.
 */
int pinion_key_refuse(const struct pinion_key *key, const struct pinion_want *want);

/*
 * pinion_key_enter - enter a key's gate
 *
 * Return: 0 and the gate is held, and preemption off, until pinion_key_leave(); an enum
 * pinion_syndrome (> 0) if the key refuses; -EBUSY if the gate is closed just
 * now: leave all gates, pinion_key_wait(), and try again.
 */
int pinion_key_enter(struct pinion_keys *keys, const struct pinion_want *want,
		     struct pinion_pass *pass);
void pinion_key_leave(struct pinion_pass *pass);

/* Sleep until the gate of @value is open, or the key gone. No gate is held. */
void pinion_key_wait(struct pinion_keys *keys, u32 value);

/* The same for who is in no other gate, and may sleep. Return: 0 or a syndrome. */
int pinion_key_enter_wait(struct pinion_keys *keys, const struct pinion_want *want,
			  struct pinion_pass *pass);

/* Would it let @want in? Return: 0 or a syndrome. May sleep; no gate is held. */
int pinion_key_ask(struct pinion_keys *keys, const struct pinion_want *want);

/*
 * The same for who will enter soon, and be told the truth then: a yes may be of a key that is
 * just being changed. A no is as good as any.
 */
int pinion_key_glance(struct pinion_keys *keys, const struct pinion_want *want);

/*
 * The contiguous run at @offset bytes into what was wanted; see pinion_mtt_run(). 0 if
 * a page is missing: leave all gates, fault, and try again; see mem/pager.h.
 */
u64 pinion_pass_run(const struct pinion_pass *pass, u64 offset, u64 want, void **kva);

#endif
