// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows of type 1 and 2: allocation and binding. Never moves a byte; who
 * may bind, and when, is all that is decided here.
 */
#include <linux/slab.h>
#include <rdma/pinion-abi.h>

#include "../logic/range.h"
#include "window.h"

#define WINDOW_RIGHTS (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/**
 * pinion_alloc_mw - make a window, unbound
 * @keys: the device's keys
 * @ibmw: allocated by the core, with pd and type set
 *
 * Return: 0 or a negative errno.
 */
int pinion_alloc_mw(struct pinion_keys *keys, struct ib_mw *ibmw)
{
	struct pinion_mw *mw = to_pinion_mw(ibmw);
	struct pinion_key *key;

	if (ibmw->type != IB_MW_TYPE_1 && ibmw->type != IB_MW_TYPE_2)
		return -EINVAL;
	key = pinion_key_alloc(keys, PINION_KEY_WINDOW, GFP_KERNEL_ACCOUNT);
	if (IS_ERR(key))
		return PTR_ERR(key);
	key->pd = ibmw->pd;
	key->invalidatable = ibmw->type == IB_MW_TYPE_2;
	mw->key = key;
	pinion_key_publish(key);
	ibmw->rkey = key->value;
	return 0;
}

/**
 * pinion_dealloc_mw - end a window, bound or not
 * @ibmw: the window
 *
 * Return: 0.
 */
int pinion_dealloc_mw(struct ib_mw *ibmw)
{
	pinion_key_kill(to_pinion_mw(ibmw)->key);
	return 0;
}

/* May the window, whose gate is closed, be bound as asked? */
static int refuse_window(const struct pinion_key *window, struct ib_pd *pd,
			 const struct pinion_wqe_bind *bind)
{
	bool type2 = window->invalidatable;

	if (window->kind != PINION_KEY_WINDOW || window->state == PINION_KEY_DEAD ||
	    window->value != bind->mw_rkey)
		return PINION_SYN_KEY_UNKNOWN;
	if (window->pd != pd)
		return PINION_SYN_KEY_PD;
	/* A type 2 window is invalidated, not rebound or bound to nothing. */
	if (type2 && (window->state != PINION_KEY_FREE || !bind->length))
		return PINION_SYN_BIND;
	if (bind->access & IB_ZERO_BASED && !type2)
		return PINION_SYN_BIND;
	return 0;
}

/* May this region, whose gate is held, carry such a window? */
static int refuse_region(const struct pinion_key *region, struct ib_pd *pd,
			 const struct pinion_wqe_bind *bind)
{
	u32 modifies = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC;

	if (region->kind != PINION_KEY_REGION || region->state != PINION_KEY_VALID ||
	    region->value != bind->mr_lkey)
		return PINION_SYN_KEY_UNKNOWN;
	if (region->pd != pd)
		return PINION_SYN_KEY_PD;
	if (!(region->rights & IB_ACCESS_MW_BIND) || region->rights & IB_ZERO_BASED)
		return PINION_SYN_KEY_RIGHTS;
	if (bind->access & modifies && !(region->rights & IB_ACCESS_LOCAL_WRITE))
		return PINION_SYN_KEY_RIGHTS;
	if (!pinion_range_holds(region->base, region->length, bind->addr, bind->length))
		return PINION_SYN_KEY_RANGE;
	if (atomic_read(&region->windows) >= PINION_MAX_WINDOWS)
		return PINION_SYN_BIND;
	return 0;
}

/* Counts the window in, so that the region cannot end or change under it. */
static int claim_region(struct pinion_keys *keys, struct ib_pd *pd,
			const struct pinion_wqe_bind *bind, struct pinion_key **claimed)
{
	struct pinion_key *region = pinion_key_get(keys, bind->mr_lkey);
	int syndrome;

	/* A window is never a window's region; and would be the gate we hold. */
	if (!region || region->kind != PINION_KEY_REGION) {
		if (region)
			pinion_key_put(region);
		return PINION_SYN_KEY_UNKNOWN;
	}
	/* The order is always window, then region. */
	down_read_nested(&region->gate, SINGLE_DEPTH_NESTING);
	syndrome = refuse_region(region, pd, bind);
	if (!syndrome)
		atomic_inc(&region->windows);
	up_read(&region->gate);
	if (syndrome) {
		pinion_key_put(region);
		return syndrome;
	}
	*claimed = region;
	return 0;
}

int pinion_window_bind(struct pinion_keys *keys, struct ib_pd *pd, u32 qpn,
		       const struct pinion_wqe_bind *bind)
{
	struct pinion_key *window = pinion_key_get(keys, bind->mw_rkey);
	struct pinion_key *region = NULL;
	int syndrome;

	if (!window)
		return PINION_SYN_KEY_UNKNOWN;
	if (window->kind != PINION_KEY_WINDOW) {
		pinion_key_put(window);
		return PINION_SYN_KEY_UNKNOWN;
	}
	pinion_key_close(window);
	syndrome = refuse_window(window, pd, bind);
	if (!syndrome && bind->length)
		syndrome = claim_region(keys, pd, bind, &region);
	if (syndrome)
		goto out;

	pinion_key_unbind(window);
	/* The index stays; of the new key, only the tag is the user's to choose. */
	WRITE_ONCE(window->value, (window->value & ~PINION_KEY_TAG) |
				  (bind->new_rkey & PINION_KEY_TAG));
	window->state = region ? PINION_KEY_VALID : PINION_KEY_FREE;
	window->rights = bind->access & WINDOW_RIGHTS;
	window->qpn = window->invalidatable ? qpn : 0;
	window->base = bind->access & IB_ZERO_BASED ? 0 : bind->addr;
	window->length = bind->length;
	window->generation++;
	window->region = region;
	window->region_offset = region ? bind->addr - region->base : 0;
out:
	pinion_key_open(window);
	pinion_key_put(window);
	return syndrome;
}
