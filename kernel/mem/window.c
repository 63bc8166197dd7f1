// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows of type 1 and 2: allocation and binding.
 */
#include <linux/slab.h>
#include <rdma/pinion-abi.h>

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
 * pinion_dealloc_mw - free a window, bound or not
 * @ibmw: the window
 *
 * Return: 0.
 */
int pinion_dealloc_mw(struct ib_mw *ibmw)
{
	pinion_key_kill(to_pinion_mw(ibmw)->key);
	return 0;
}

/*
 * May the window be bound as @bind says? Asked without the gate first, then again with it closed;
 * see pinion_key_is_own().
 */
static enum pinion_syndrome window_refuse(const struct pinion_key *window, struct ib_pd *pd,
					  const struct pinion_wqe_bind *bind)
{
	bool type2 = window->invalidatable;

	if (window->kind != PINION_KEY_WINDOW || !pinion_key_is_own(window, pd, bind->mw_rkey))
		return PINION_SYN_KEY_UNKNOWN;
	/* A type 2 window must be invalidated before it is bound anew; it cannot be unbound. */
	if (type2 && (READ_ONCE(window->state) != PINION_KEY_FREE || !bind->length))
		return PINION_SYN_BIND;
	if (bind->access & IB_ZERO_BASED && !type2)
		return PINION_SYN_BIND;
	return 0;
}

/* The access to its region that a window needs. */
static struct pinion_want window_want(struct ib_pd *pd, const struct pinion_wqe_bind *bind)
{
	u32 modifies = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC;

	return (struct pinion_want){
		.pd = pd,
		.key = bind->mr_lkey,
		.rights = IB_ACCESS_MW_BIND |
			  (bind->access & modifies ? IB_ACCESS_LOCAL_WRITE : 0),
		.addr = bind->addr,
		.length = bind->length,
		/* The lkey must be that of a region, not of a window. */
		.region = true,
	};
}

/*
 * Count a window in region->lent, so that the region cannot be deregistered or changed while it
 * is bound. The window's gate is closed. Lock order: window, then region; here the region's gate is
 * only tried. Return: 0; a syndrome; or PINION_SYN_CLOSED: wait for the region's gate.
 */
static enum pinion_syndrome window_claim(struct pinion_keys *keys, struct ib_pd *pd,
					 const struct pinion_wqe_bind *bind,
					 struct pinion_key **claimed)
{
	struct pinion_want want = window_want(pd, bind);
	enum pinion_syndrome syndrome;
	struct pinion_pass pass;

	syndrome = pinion_key_enter(keys, &want, &pass);
	if (syndrome)
		return syndrome;
	if (!atomic_add_unless(&pass.region->lent, 1, PINION_MAX_LENT)) {
		syndrome = PINION_SYN_BIND;
	} else {
		*claimed = pass.region;
		kref_get(&pass.region->ref);
	}
	pinion_key_leave(&pass);
	return syndrome;
}

/* The window's gate is closed. */
static void window_set(struct pinion_key *window, struct pinion_key *region, u32 qpn,
		       const struct pinion_wqe_bind *bind)
{
	pinion_key_unbind(window);
	/* The index of the key stays. The user chooses the tag, its low 8 bits. */
	WRITE_ONCE(window->value, (window->value & ~PINION_KEY_TAG) |
				  (bind->new_rkey & PINION_KEY_TAG));
	window->state = region ? PINION_KEY_VALID : PINION_KEY_FREE;
	window->rights = bind->access & WINDOW_RIGHTS;
	window->qpn = window->invalidatable ? qpn : 0;
	window->base = bind->access & IB_ZERO_BASED ? 0 : bind->addr;
	window->length = bind->length;
	pinion_key_exchanged(window);
	window->region = region;
	window->region_offset = region ? bind->addr - region->base : 0;
}

/* Return: as pinion_window_bind(), or PINION_SYN_CLOSED: wait for the region's gate. */
static enum pinion_syndrome window_try(struct pinion_keys *keys, struct pinion_key *window,
				       struct ib_pd *pd, u32 qpn,
				       const struct pinion_wqe_bind *bind)
{
	struct pinion_key *region = NULL;
	enum pinion_syndrome syndrome;

	syndrome = window_refuse(window, pd, bind);
	if (syndrome)
		return syndrome;
	pinion_key_close(window);
	syndrome = window_refuse(window, pd, bind);
	if (!syndrome && bind->length)
		syndrome = window_claim(keys, pd, bind, &region);
	if (!syndrome)
		window_set(window, region, qpn, bind);
	pinion_key_open(window);
	return syndrome;
}

enum pinion_syndrome pinion_window_bind(struct pinion_keys *keys, struct ib_pd *pd, u32 qpn,
					const struct pinion_wqe_bind *bind)
{
	struct pinion_key *window = pinion_key_get(keys, bind->mw_rkey);
	enum pinion_syndrome syndrome;

	if (!window)
		return PINION_SYN_KEY_UNKNOWN;
	while ((syndrome = window_try(keys, window, pd, qpn, bind)) == PINION_SYN_CLOSED)
		pinion_key_wait(keys, bind->mr_lkey);
	pinion_key_put(window);
	return syndrome;
}
