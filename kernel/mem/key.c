// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keys and their gates. Never pins memory, never touches payload.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/pinion-abi.h>

#include "../logic/range.h"
#include "key.h"
#include "mtt.h"
#include "pager.h"
#include "pieces.h"

/**
 * pinion_key_alloc - a key without number or meaning, not findable yet
 * @keys: the table it will be found in
 * @kind: what it will stand for
 * @gfp: as the caller may allocate
 *
 * Return: the key with one reference, the owner's, or an ERR_PTR.
 */
struct pinion_key *pinion_key_alloc(struct pinion_keys *keys, enum pinion_key_kind kind,
				    gfp_t gfp)
{
	struct pinion_key *key;

	if (atomic_inc_return(&keys->live) > keys->max)
		goto err_uncount;
	key = kzalloc(sizeof(*key), gfp);
	if (!key)
		goto err_uncount;
	kref_init(&key->ref);
	init_rwsem(&key->gate);
	atomic_set(&key->windows, 0);
	key->keys = keys;
	key->kind = kind;
	return key;

err_uncount:
	atomic_dec(&keys->live);
	return ERR_PTR(-ENOMEM);
}

/**
 * pinion_key_publish - give a key its number and let the data path find it
 * @key: complete; from here on it changes only with the gate closed
 */
void pinion_key_publish(struct pinion_key *key)
{
	pinion_keys_add(key->keys, key);
}

static void release(struct kref *ref)
{
	struct pinion_key *key = container_of(ref, struct pinion_key, ref);

	kfree_rcu(key, rcu);
}

void pinion_key_put(struct pinion_key *key)
{
	kref_put(&key->ref, release);
}

void pinion_key_unbind(struct pinion_key *key)
{
	struct pinion_key *region = key->region;

	if (!region)
		return;
	key->region = NULL;
	atomic_dec(&region->windows);
	pinion_key_put(region);
}

/* The gate is closed, and is opened for those who wait to learn that it is over. */
static void die(struct pinion_key *key)
{
	/* Else a window would lead into freed memory. */
	WARN_ON_ONCE(atomic_read(&key->windows));
	key->state = PINION_KEY_DEAD;
	pinion_key_unbind(key);
	/* Its memory ends next, and who has a reference may still look at the key. */
	key->mtt = NULL;
	key->pieces = NULL;
	key->pager = NULL;
	key->fastreg = NULL;
	pinion_key_open(key);

	pinion_keys_remove(key->keys, key);
	atomic_dec(&key->keys->live);
	pinion_key_put(key);
}

/**
 * pinion_key_kill - end a key: when this returns nobody is inside or gets in
 * @key: published or not; the owner's reference goes
 */
void pinion_key_kill(struct pinion_key *key)
{
	pinion_key_close(key);
	die(key);
}

int pinion_key_kill_unbound(struct pinion_key *key)
{
	pinion_key_close(key);
	/* Binding counts with the gate held open, so this cannot go up behind us. */
	if (atomic_read(&key->windows)) {
		pinion_key_open(key);
		return -EBUSY;
	}
	die(key);
	return 0;
}

/**
 * pinion_key_get - find a key and keep it from being freed
 * @keys: where
 * @value: all 32 bits
 *
 * It may change or die at any time; whoever cares closes the gate and looks again.
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

int pinion_key_invalidate(struct pinion_keys *keys, struct ib_pd *pd, u32 value, u32 qpn)
{
	struct pinion_key *key = pinion_key_get(keys, value);
	int syndrome = 0;

	if (!key)
		return PINION_SYN_KEY_UNKNOWN;
	pinion_key_close(key);
	if (key->value != value || key->state == PINION_KEY_DEAD)
		syndrome = PINION_SYN_KEY_UNKNOWN;
	else if (key->pd != pd || (qpn && key->qpn && key->qpn != qpn))
		syndrome = PINION_SYN_KEY_PD;
	else if (!key->invalidatable)
		syndrome = PINION_SYN_KEY_RIGHTS;
	else if (atomic_read(&key->windows))
		syndrome = PINION_SYN_BIND;
	if (!syndrome) {
		key->state = PINION_KEY_FREE;
		key->qpn = 0;
		pinion_key_unbind(key);
	}
	pinion_key_open(key);
	pinion_key_put(key);
	return syndrome;
}

/* Why this key refuses, or 0. Both gates are held. */
static int refuse(const struct pinion_key *key, const struct pinion_want *want)
{
	if (key->kind == PINION_KEY_NULL && key->value == want->key)
		return want->remote ? PINION_SYN_KEY_RIGHTS : 0;
	if (key->value != want->key || key->state == PINION_KEY_DEAD)
		return PINION_SYN_KEY_UNKNOWN;
	if (key->pd != want->pd || (key->qpn && key->qpn != want->qpn))
		return PINION_SYN_KEY_PD;
	if (key->state != PINION_KEY_VALID)
		return PINION_SYN_KEY_STATE;
	if (key->kind == PINION_KEY_WINDOW && !want->remote)
		return PINION_SYN_KEY_RIGHTS;
	if ((key->rights & want->rights) != want->rights)
		return PINION_SYN_KEY_RIGHTS;
	if (!want->whole &&
	    !pinion_range_holds(key->base, key->length, want->addr, want->length))
		return PINION_SYN_KEY_RANGE;
	return 0;
}

int pinion_key_enter(struct pinion_keys *keys, const struct pinion_want *want,
		     struct pinion_pass *pass)
{
	struct pinion_key *key, *region;
	int err;

	rcu_read_lock();
	key = pinion_keys_find_rcu(keys, want->key);
	/*
	 * Asked again inside. But who names a key that is none has nothing to wait for:
	 * pinion_key_wait() would not find it, and its caller try for ever.
	 */
	if (!key || READ_ONCE(key->value) != want->key) {
		err = PINION_SYN_KEY_UNKNOWN;
		goto out;
	}
	if (!down_read_trylock(&key->gate)) {
		err = -EBUSY;
		goto out;
	}
	err = refuse(key, want);
	if (err)
		goto err_leave;

	region = key;
	pass->offset = want->addr - key->base;
	if (key->kind == PINION_KEY_WINDOW) {
		region = key->region;
		pass->offset += key->region_offset;
		if (!down_read_trylock(&region->gate)) {
			err = -EBUSY;
			goto err_leave;
		}
	}
	pass->key = key;
	pass->region = region;
	pass->generation = key->generation;
	pass->writes = want->rights & PINION_KEY_WRITING;
	goto out;

err_leave:
	up_read(&key->gate);
out:
	rcu_read_unlock();
	return err;
}

void pinion_key_leave(struct pinion_pass *pass)
{
	/* RCU keeps the key: who waits in pinion_key_close() may free it at once. */
	rcu_read_lock();
	if (pass->region != pass->key)
		up_read(&pass->region->gate);
	up_read(&pass->key->gate);
	rcu_read_unlock();
	pass->key = NULL;
}

void pinion_key_wait(struct pinion_keys *keys, u32 value)
{
	struct pinion_key *key = pinion_key_get(keys, value);
	struct pinion_key *region = NULL;

	if (!key)
		return;
	down_read(&key->gate);
	if (key->region) {
		region = key->region;
		kref_get(&region->ref);
	}
	up_read(&key->gate);
	pinion_key_put(key);
	if (!region)
		return;
	down_read(&region->gate);
	up_read(&region->gate);
	pinion_key_put(region);
}

int pinion_key_ask(struct pinion_keys *keys, const struct pinion_want *want)
{
	struct pinion_pass pass;
	int err;

	for (;;) {
		/* As those who move bytes: inside only for a moment. */
		preempt_disable();
		err = pinion_key_enter(keys, want, &pass);
		if (!err)
			pinion_key_leave(&pass);
		preempt_enable();
		if (err != -EBUSY)
			return err;
		pinion_key_wait(keys, want->key);
	}
}

/* One that is not sparse has everything. Without a table, its pager knows, or nothing is there. */
static u64 run_paged(const struct pinion_key *region, u64 offset, u64 want, bool writes,
		     void **kva)
{
	const struct pinion_mtt *mtt = region->mtt;

	if (mtt)
		return mtt->sparse ? pinion_mtt_run_present(mtt, offset, want, writes, kva) :
				     pinion_mtt_run(mtt, offset, want, kva);
	if (region->pager->ops->run)
		return region->pager->ops->run(region->pager, offset, want, writes, kva);
	return 0;
}

u64 pinion_pass_run(const struct pinion_pass *pass, u64 offset, u64 want, void **kva)
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
		if (!region->pager)
			return pinion_mtt_run(region->mtt, pass->offset + offset, want, kva);
		return run_paged(region, pass->offset + offset, want, pass->writes, kva);
	}
}
