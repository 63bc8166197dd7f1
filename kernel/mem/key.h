/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Keys: the objects behind lkeys and rkeys. Found by number, and used inside a gate.
 *
 * The value of a key is 24 random bits of index and 8 random bits of tag; all 32 bits are compared.
 * The object is reference counted and freed by RCU, independently of the verbs object (an MR or a
 * window) that owns it.
 *
 * The data path finds a key, enters its gate (gate.h), checks the key, moves bytes, and leaves.
 * Inside the gate there is no sleep, no allocation and no fault. To change a key, close the gate,
 * change, and open it: on return nobody uses the old state any more. Before a gate is closed it is
 * checked that the caller may change the key, so that a user who only knows (or guesses) the value
 * of somebody else's key cannot delay its users.
 */
#ifndef PINION_MEM_KEY_H
#define PINION_MEM_KEY_H

#include <linux/bits.h>
#include <linux/kref.h>
#include <linux/rcupdate.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/pinion-abi.h>

#include "gate.h"
#include "keys.h"
#include "mtt.h"

struct ib_pd;
struct pinion_fastreg;
struct pinion_layout;
struct pinion_pager;
struct pinion_pieces;

#define PINION_KEY_INDEX_SHIFT	8
#define PINION_KEY_TAG		0xff

/* Rights to write: with one of them the pages must be writable. */
#define PINION_KEY_WRITING (IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | \
			    IB_UVERBS_ACCESS_REMOTE_ATOMIC)

/* Limit of windows and pieces of one region; far below where key->lent would overflow. */
#define PINION_MAX_LENT	BIT(24)

enum pinion_key_kind {
	PINION_KEY_REGION,	/* memory behind an MTT */
	PINION_KEY_DMA,		/* any DMA address; kernel consumers only */
	PINION_KEY_WINDOW,	/* part of a region */
	PINION_KEY_NULL,	/* no memory */
	PINION_KEY_PIECES,	/* pieces of regions, one after the other */
	PINION_KEY_LAYOUT,	/* ranges of other keys, as requests say */
	PINION_KEY_NUM_KINDS
};

enum pinion_key_state {
	PINION_KEY_FREE,	/* published, but without memory: unbound or invalidated */
	PINION_KEY_VALID,
	PINION_KEY_DEAD,	/* its owner is destroyed */
};

struct pinion_key {
	struct pinion_key __rcu *next[2];	/* in a list of the table; see keys.c */
	u32 index;			/* set by pinion_key_publish(), then constant; never 0 */
	enum pinion_key_kind kind;
	struct pinion_keys *keys;

	struct pinion_gate gate;
	/* The following change only while the gate is closed. */
	u32 value;			/* index and tag; 0 before it is published */
	enum pinion_key_state state;
	u32 rights;			/* IB_ACCESS_* */
	struct ib_pd *pd;
	u32 qpn;			/* type 2 window: the QP it is bound on, else 0 */
	u32 generation;			/* incremented when the memory is exchanged */
	u64 era;			/* that began then; see pinion_keys_era() */
	u64 base;			/* address of the first byte, as in work requests */
	u64 length;
	struct pinion_mtt *mtt;		/* REGION: owned by the key's owner, or by @pager */
	struct pinion_pieces *pieces;	/* PIECES */
	struct pinion_layout *layout;	/* LAYOUT: owned by the key's owner */
	struct pinion_key *region;	/* WINDOW: a reference while VALID */
	u64 region_offset;		/* WINDOW: of its first byte in the region */
	struct pinion_pager *pager;	/* REGION whose pages come and go */
	struct pinion_fastreg *fastreg;	/* REGION for fast registration */
	bool invalidatable;		/* type 2 window, fast region, layout; constant */
	bool own_only;			/* peers must not invalidate it; constant */
	struct pinion_mtt_one one;	/* REGION of one block: its table */

	/* Not protected by the gate; the data path does not use them. */
	atomic_t lent;			/* REGION: windows bound to it, and pieces in other keys */
	struct kref ref;
	struct rcu_head rcu;
};

/*
 * pinion_key_alloc() makes a key that has no value yet and cannot be found. After the caller has
 * filled it, pinion_key_publish() gives it a value and lets it be found. The caller's reference is
 * dropped by pinion_key_kill().
 */
struct pinion_key *pinion_key_alloc(struct pinion_keys *keys, enum pinion_key_kind kind,
				    gfp_t gfp);
void pinion_key_publish(struct pinion_key *key);

/* Unpublish the key and drop the owner's reference. On return nobody uses it. Sleeps. */
void pinion_key_kill(struct pinion_key *key);

/* The same, but -EBUSY, and nothing has changed, if key->lent is not 0. */
int pinion_key_kill_unbound(struct pinion_key *key);

void pinion_key_put(struct pinion_key *key);

/* Find by the full value and take a reference; NULL if there is none. */
struct pinion_key *pinion_key_get(struct pinion_keys *keys, u32 value);

/* Find by the index alone, for a caller that is about to set a new tag. */
struct pinion_key *pinion_key_get_any_tag(struct pinion_keys *keys, u32 value);

/* Wait until nobody is inside. Preemption is off until pinion_key_open(). */
static inline void pinion_key_close(struct pinion_key *key)
{
	pinion_gate_close(&key->gate);
}

static inline void pinion_key_open(struct pinion_key *key)
{
	pinion_gate_open(&key->gate);
}

/*
 * Is it the key of this value, alive, and of domain @pd, whose user may change it? Each field is
 * read by itself, so this may be asked without the gate: who may not change a key must not close
 * its gate either. Ask again when it is closed.
 */
static inline bool pinion_key_is_own(const struct pinion_key *key, const struct ib_pd *pd,
				     u32 value)
{
	return READ_ONCE(key->value) == value && READ_ONCE(key->pd) == pd &&
	       READ_ONCE(key->state) != PINION_KEY_DEAD;
}

/* Other memory is put behind @key. Its gate is closed. */
static inline void pinion_key_exchanged(struct pinion_key *key)
{
	key->generation++;
	key->era = atomic64_inc_return(&key->keys->era);
}

/* Drop a window's reference to its region. The window's gate is closed. */
void pinion_key_unbind(struct pinion_key *key);

/*
 * Invalidate a fast-registered region or a type 2 window, by its owner (@qpn 0) or by the peer of
 * QP @qpn. Return: 0 or a syndrome.
 */
enum pinion_syndrome pinion_key_invalidate(struct pinion_keys *keys, struct ib_pd *pd, u32 value,
					   u32 qpn);

/* -------------------------------------------------------------- entering */

/* An access to a key. */
struct pinion_want {
	const struct ib_pd *pd;
	u32 qpn;		/* QP that the message arrives on; for type 2 windows */
	u32 key;		/* value */
	u32 rights;		/* all of them are needed; 0 is local read */
	u64 addr;
	u64 length;
	bool whole;		/* the whole key: @addr and @length are not used */
	bool remote;		/* by a peer; windows allow remote access only */
	bool region;		/* the key must be of kind REGION */
};

/* The state inside a key's gate, from pinion_key_enter() to pinion_key_leave(). */
struct pinion_pass {
	struct pinion_key *key;
	struct pinion_key *region;	/* != key for a window, or a layout */
	u64 offset;			/* of want.addr in the region */
	u64 length;			/* LAYOUT: of the range; else U64_MAX */
	u32 closed;			/* after PINION_SYN_CLOSED: the key whose gate it is */
	u64 era;			/* of the memory; of a layout and its region the later */
	bool writes;
	s8 slot;			/* of the gates, see pinion_gate_enter() */
	s8 region_slot;			/* if region != key */
};

/*
 * Check @want against @key, inside its gate. Return: 0 or a syndrome. A key of another
 * domain is reported as unknown, so that nobody can find other users' keys by trying values.
 */
enum pinion_syndrome pinion_key_refuse(const struct pinion_key *key,
				       const struct pinion_want *want);

/*
 * A syndrome of the functions below only, where they say so, and no refusal: a gate is closed.
 * Leave all gates, call pinion_key_wait(), and try again. No completion has it.
 */
#define PINION_SYN_CLOSED	((enum pinion_syndrome)U8_MAX)

/*
 * pinion_key_enter - enter a key's gate
 *
 * For a layout this is about the range that has the first byte of @want only; pass.length is how
 * much of the range is left from there.
 *
 * Task or softirq context. Return: 0: we are inside, and preemption is off, until
 * pinion_key_leave(); a syndrome if the key refuses @want; or PINION_SYN_CLOSED.
 */
enum pinion_syndrome pinion_key_enter(struct pinion_keys *keys, const struct pinion_want *want,
				      struct pinion_pass *pass);
void pinion_key_leave(struct pinion_pass *pass);

/* Spin until the gate of key @value (pass.closed) was open, or the key is gone; in no gate. */
void pinion_key_wait(struct pinion_keys *keys, u32 value);

/* Enter and wait if necessary; no gate is held. Return: 0 or a syndrome. */
enum pinion_syndrome pinion_key_enter_wait(struct pinion_keys *keys, const struct pinion_want *want,
					   struct pinion_pass *pass);

/* Check @want without staying inside; no gate is held. Return: 0 or a syndrome. */
enum pinion_syndrome pinion_key_ask(struct pinion_keys *keys, const struct pinion_want *want);

/*
 * The same, cheaper, for a caller that will enter the gate later and be checked again there: 0 may
 * be wrong while the key is being changed. A syndrome is always right.
 */
enum pinion_syndrome pinion_key_glance(struct pinion_keys *keys, const struct pinion_want *want);

u64 pinion_pass_run_otherwise(const struct pinion_pass *pass, u64 offset, u64 want, void **kva);

/*
 * The memory at @offset bytes from want.addr, as in pinion_mtt_spans(); but 0 if a page is missing:
 * leave all gates, have it faulted, and try again; see mem/pager.h.
 */
static inline u64 pinion_pass_spans(const struct pinion_pass *pass, u64 offset, u64 want,
				    struct pinion_span *spans, u32 most)
{
	const struct pinion_key *region = pass->region;

	want = min(want, pass->length - offset);
	/* Nearly all memory is that of a table whose pages do not come and go. */
	if (region->mtt && !region->pager)
		return pinion_mtt_spans(region->mtt, pass->offset + offset, want, spans, most);
	spans->length = pinion_pass_run_otherwise(pass, offset, want, &spans->kva);
	return spans->length;
}

/* The first of these spans: its length, and in *@kva where it is; 0 if a page is missing. */
static inline u64 pinion_pass_run(const struct pinion_pass *pass, u64 offset, u64 want, void **kva)
{
	struct pinion_span span;

	if (!pinion_pass_spans(pass, offset, want, &span, 1))
		return 0;
	*kva = span.kva;
	return span.length;
}

#endif
