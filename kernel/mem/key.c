// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keys: allocation, entering, checking, and invalidation.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/pinion-abi.h>

#include "../logic/range.h"
#include "inject.h"
#include "key.h"
#include "layout.h"
#include "mtt.h"
#include "pager.h"
#include "pieces.h"

/**
 * pinion_key_alloc - make a key that has no value yet and cannot be found
 * @keys: the table it will be in
 * @kind: kind of its memory
 * @gfp: for the allocation
 *
 * Return: the key with one reference, the owner's, or an ERR_PTR.
 */
struct pinion_key *pinion_key_alloc(struct pinion_keys *keys, enum pinion_key_kind kind,
				    gfp_t gfp)
{
	struct pinion_key *key;
	int err;

	err = pinion_inject_here(PINION_INJECT_KEY);
	if (err)
		return ERR_PTR(-err);
	if (!atomic_add_unless(&keys->live, 1, keys->max))
		return ERR_PTR(-ENOMEM);
	key = kzalloc(sizeof(*key), gfp);
	if (!key) {
		atomic_dec(&keys->live);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&key->ref);
	pinion_gate_init(&key->gate);
	atomic_set(&key->lent, 0);
	key->keys = keys;
	key->kind = kind;
	return key;
}

/**
 * pinion_key_publish - give a key its value and let the data path find it
 * @key: filled by the caller; from here on it may change only while the gate is closed
 */
void pinion_key_publish(struct pinion_key *key)
{
	pinion_keys_add(key->keys, key);
}

static void key_release(struct kref *ref)
{
	struct pinion_key *key = container_of(ref, struct pinion_key, ref);

	kfree_rcu(key, rcu);
}

void pinion_key_put(struct pinion_key *key)
{
	kref_put(&key->ref, key_release);
}

void pinion_key_unbind(struct pinion_key *key)
{
	struct pinion_key *region = key->region;

	if (!region)
		return;
	key->region = NULL;
	atomic_dec(&region->lent);
	pinion_key_put(region);
}

/* The gate is closed. It is opened again, so that waiters find out that the key is dead. */
static void key_die(struct pinion_key *key)
{
	/* Otherwise a window would give access to freed memory. */
	WARN_ON_ONCE(atomic_read(&key->lent));
	key->state = PINION_KEY_DEAD;
	pinion_key_unbind(key);
	/* The caller frees these next, but holders of a reference may still read the key. */
	key->mtt = NULL;
	key->pieces = NULL;
	key->layout = NULL;
	key->pager = NULL;
	key->fastreg = NULL;
	pinion_key_open(key);

	pinion_keys_remove(key->keys, key);
	atomic_dec(&key->keys->live);
	pinion_key_put(key);
}

/**
 * pinion_key_kill - unpublish a key; on return nobody is inside or can enter
 * @key: published or not; the owner's reference is dropped
 */
void pinion_key_kill(struct pinion_key *key)
{
	pinion_key_close(key);
	key_die(key);
}

int pinion_key_kill_unbound(struct pinion_key *key)
{
	pinion_key_close(key);
	/* Incremented only inside the gate (window_claim(), piece_claim()), so not meanwhile. */
	if (atomic_read(&key->lent)) {
		pinion_key_open(key);
		return -EBUSY;
	}
	key_die(key);
	return 0;
}

/**
 * pinion_key_get - find a key and take a reference
 * @keys: the table
 * @value: all 32 bits
 *
 * The key may change or die at any time. To rely on a field, close the gate and read it again.
 *
 * Return: the key with a reference, or NULL.
 */
struct pinion_key *pinion_key_get(struct pinion_keys *keys, u32 value)
{
	struct pinion_key *key = pinion_key_get_any_tag(keys, value);

	if (!key || READ_ONCE(key->value) == value)
		return key;
	pinion_key_put(key);
	return NULL;
}

struct pinion_key *pinion_key_get_any_tag(struct pinion_keys *keys, u32 value)
{
	struct pinion_key *key;

	rcu_read_lock();
	key = pinion_keys_find_rcu(keys, value);
	if (key && !kref_get_unless_zero(&key->ref))
		key = NULL;
	rcu_read_unlock();
	return key;
}

/* Asked without the gate first, then again with it closed; see pinion_key_is_own(). */
static enum pinion_syndrome key_refuse_invalidation(const struct pinion_key *key,
						    const struct ib_pd *pd, u32 value, u32 qpn)
{
	u32 bound_on = READ_ONCE(key->qpn);

	if (!pinion_key_is_own(key, pd, value))
		return PINION_SYN_KEY_UNKNOWN;
	if (qpn && bound_on && bound_on != qpn)
		return PINION_SYN_KEY_STATE;
	if (!key->invalidatable || (qpn && key->own_only))
		return PINION_SYN_KEY_RIGHTS;
	if (atomic_read(&key->lent))
		return PINION_SYN_BIND;
	return 0;
}

enum pinion_syndrome pinion_key_invalidate(struct pinion_keys *keys, struct ib_pd *pd, u32 value,
					   u32 qpn)
{
	struct pinion_key *key = pinion_key_get(keys, value);
	enum pinion_syndrome syndrome;

	if (!key)
		return PINION_SYN_KEY_UNKNOWN;
	syndrome = key_refuse_invalidation(key, pd, value, qpn);
	if (syndrome)
		goto out;
	pinion_key_close(key);
	/* The key may have changed before we closed the gate. */
	syndrome = key_refuse_invalidation(key, pd, value, qpn);
	if (!syndrome) {
		key->state = PINION_KEY_FREE;
		key->qpn = 0;
		pinion_key_unbind(key);
	}
	pinion_key_open(key);
out:
	pinion_key_put(key);
	return syndrome;
}

enum pinion_syndrome pinion_key_refuse(const struct pinion_key *key, const struct pinion_want *want)
{
	if (key->kind == PINION_KEY_NULL && key->value == want->key)
		return want->remote ? PINION_SYN_KEY_RIGHTS : 0;
	if (key->value != want->key || key->pd != want->pd || key->state == PINION_KEY_DEAD)
		return PINION_SYN_KEY_UNKNOWN;
	if (key->state != PINION_KEY_VALID || (key->qpn && key->qpn != want->qpn))
		return PINION_SYN_KEY_STATE;
	if (key->kind == PINION_KEY_WINDOW && !want->remote)
		return PINION_SYN_KEY_RIGHTS;
	if ((key->rights & want->rights) != want->rights)
		return PINION_SYN_KEY_RIGHTS;
	/* A layout has no memory of its own to access as a whole. */
	if (key->kind == PINION_KEY_LAYOUT && want->whole)
		return PINION_SYN_KEY_RIGHTS;
	if (!want->whole &&
	    !pinion_range_holds(key->base, key->length, want->addr, want->length))
		return PINION_SYN_KEY_RANGE;
	/* The DMA key covers any number as an address, and peers may have its rkey. */
	if (key->kind == PINION_KEY_DMA && !want->whole &&
	    !pinion_dma_is_memory(want->addr, want->length))
		return PINION_SYN_KEY_RANGE;
	return 0;
}

/*
 * A first look without the gate; pinion_key_refuse() asks again inside. It keeps a caller that
 * names no key, or a key of another domain, from waiting at a gate that its owner has closed. It
 * must refuse a key of another value, since pinion_key_wait() does not find that one and the
 * caller would retry for ever; and a window where a region is wanted, since the caller may be
 * binding that very window and have closed its gate.
 */
static bool key_is_unknown(const struct pinion_key *key, const struct pinion_want *want)
{
	if (!key || READ_ONCE(key->value) != want->key)
		return true;
	if (want->region && key->kind != PINION_KEY_REGION)
		return true;
	return READ_ONCE(key->pd) != want->pd && key->kind != PINION_KEY_NULL;
}

/*
 * Inside a layout's gate: enter the gate of the region that has the first byte of @want. The region
 * is used like a local one of the layout's domain, also if the access is by a peer.
 */
static enum pinion_syndrome key_enter_range(struct pinion_keys *keys,
					    const struct pinion_want *want,
					    struct pinion_pass *pass)
{
	struct pinion_range_of_key range;
	struct pinion_want inner;
	enum pinion_syndrome syndrome;
	struct pinion_key *region;
	int slot;

	pinion_layout_find(pass->key->layout, pass->offset, want->length, &range);
	inner = (struct pinion_want){
		.pd = want->pd,
		.key = range.key,
		.rights = pass->writes ? IB_UVERBS_ACCESS_LOCAL_WRITE : 0,
		.addr = range.addr,
		.length = range.length,
		.region = true,
	};
	rcu_read_lock();
	region = pinion_keys_find_rcu(keys, range.key);
	if (key_is_unknown(region, &inner)) {
		rcu_read_unlock();
		return PINION_SYN_KEY_UNKNOWN;
	}
	slot = pinion_gate_enter(&region->gate);
	rcu_read_unlock();
	if (slot < 0) {
		pass->closed = range.key;
		return PINION_SYN_CLOSED;
	}
	syndrome = pinion_key_refuse(region, &inner);
	if (syndrome) {
		pinion_gate_leave(slot);
		return syndrome;
	}
	pass->region = region;
	pass->region_slot = slot;
	pass->offset = range.addr - region->base;
	pass->length = range.length;
	/* Unlike a window, a layout does not keep its regions from changing. */
	pass->era = max(pass->era, region->era);
	return 0;
}

/* Inside @key's gate: check @want; for a window or a layout also enter the region's gate. */
static enum pinion_syndrome key_enter_region(struct pinion_keys *keys, struct pinion_key *key,
					     const struct pinion_want *want,
					     struct pinion_pass *pass)
{
	enum pinion_syndrome syndrome = pinion_key_refuse(key, want);
	int slot;

	if (syndrome)
		return syndrome;
	pass->key = key;
	pass->region = key;
	pass->offset = want->addr - key->base;
	pass->era = key->era;
	pass->writes = want->rights & PINION_KEY_WRITING;
	pass->length = U64_MAX;
	if (key->kind == PINION_KEY_LAYOUT && want->length)
		return key_enter_range(keys, want, pass);
	if (key->kind != PINION_KEY_WINDOW)
		return 0;
	pass->region = key->region;
	pass->offset += key->region_offset;
	slot = pinion_gate_enter(&pass->region->gate);
	if (slot < 0)
		return PINION_SYN_CLOSED;
	pass->region_slot = slot;
	return 0;
}

enum pinion_syndrome pinion_key_enter(struct pinion_keys *keys, const struct pinion_want *want,
				      struct pinion_pass *pass)
{
	enum pinion_syndrome syndrome;
	struct pinion_key *key;
	int slot;

	pass->closed = want->key;
	/* Keeps the key until we are inside its gate, which is an RCU read-side section, too. */
	rcu_read_lock();
	key = pinion_keys_find_rcu(keys, want->key);
	if (key_is_unknown(key, want)) {
		rcu_read_unlock();
		return PINION_SYN_KEY_UNKNOWN;
	}
	slot = pinion_gate_enter(&key->gate);
	rcu_read_unlock();
	if (slot < 0)
		return PINION_SYN_CLOSED;
	pass->slot = slot;
	syndrome = key_enter_region(keys, key, want, pass);
	if (syndrome)
		pinion_gate_leave(slot);
	return syndrome;
}

void pinion_key_leave(struct pinion_pass *pass)
{
	if (pass->region != pass->key)
		pinion_gate_leave(pass->region_slot);
	pinion_gate_leave(pass->slot);
	pass->key = NULL;
}

/* Wait for @key's gate. Return: for a bound window, its region with a reference; else NULL. */
static struct pinion_key *key_wait_for_region(struct pinion_key *key)
{
	struct pinion_key *region;
	int slot;

	if (key->kind != PINION_KEY_WINDOW) {
		pinion_gate_wait(&key->gate);
		return NULL;
	}
	slot = pinion_gate_enter_wait(&key->gate);
	region = key->region;
	if (region)
		kref_get(&region->ref);
	pinion_gate_leave(slot);
	return region;
}

void pinion_key_wait(struct pinion_keys *keys, u32 value)
{
	struct pinion_key *key = pinion_key_get(keys, value);
	struct pinion_key *region;

	if (!key)
		return;
	region = key_wait_for_region(key);
	pinion_key_put(key);
	if (!region)
		return;
	pinion_gate_wait(&region->gate);
	pinion_key_put(region);
}

enum pinion_syndrome pinion_key_enter_wait(struct pinion_keys *keys, const struct pinion_want *want,
					   struct pinion_pass *pass)
{
	enum pinion_syndrome syndrome;

	while ((syndrome = pinion_key_enter(keys, want, pass)) == PINION_SYN_CLOSED)
		pinion_key_wait(keys, pass->closed);
	return syndrome;
}

enum pinion_syndrome pinion_key_ask(struct pinion_keys *keys, const struct pinion_want *want)
{
	enum pinion_syndrome syndrome;
	struct pinion_pass pass;

	syndrome = pinion_key_enter_wait(keys, want, &pass);
	if (!syndrome)
		pinion_key_leave(&pass);
	return syndrome;
}

enum pinion_syndrome pinion_key_glance(struct pinion_keys *keys, const struct pinion_want *want)
{
	struct pinion_key *key;
	bool fine;

	rcu_read_lock();
	key = pinion_keys_find_rcu(keys, want->key);
	/* Without the gate, fields may be half old and half new. So check a refusal again. */
	fine = !key_is_unknown(key, want) && !data_race(pinion_key_refuse(key, want));
	rcu_read_unlock();
	return fine ? 0 : pinion_key_ask(keys, want);
}

/* With a table all pages are present. Without one ask the pager, if it has an op for that. */
static u64 key_find_paged(const struct pinion_key *region, u64 offset, u64 want, bool writes,
			  void **kva)
{
	if (region->mtt)
		return pinion_mtt_run(region->mtt, offset, want, kva);
	if (region->pager->ops->run)
		return region->pager->ops->run(region->pager, offset, want, writes, kva);
	return 0;
}

static u64 key_run_paged(const struct pinion_key *region, u64 offset, u64 want, bool writes,
			 void **kva)
{
	u64 run = key_find_paged(region, offset, want, writes, kva);

	return run && pinion_pager_takes_away(region->pager, offset, run) ? 0 : run;
}

u64 pinion_pass_run_otherwise(const struct pinion_pass *pass, u64 offset, u64 want, void **kva)
{
	const struct pinion_key *region = pass->region;

	switch (region->kind) {
	case PINION_KEY_DMA:
		*kva = pinion_dma_to_kva(pass->offset + offset);
		return want;
	case PINION_KEY_NULL:
		*kva = pass->writes ? region->keys->sink : page_address(ZERO_PAGE(0));
		return min_t(u64, want, PAGE_SIZE);
	case PINION_KEY_PIECES:
		return pinion_pieces_run(region->pieces, pass->offset + offset, want, kva);
	default:
		return key_run_paged(region, pass->offset + offset, want, pass->writes, kva);
	}
}
