// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions of user memory, pinned or on demand, and the kernel's DMA region: registration,
 * reregistration and deregistration. Process context.
 */
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "../compat/umem.h"
#include "../logic/range.h"
#include "describe.h"
#include "dmabuf.h"
#include "inject.h"
#include "mr.h"
#include "mtt.h"
#include "odp.h"
#include "persist.h"
#include "trace.h"

#define REREG_FLAGS (IB_MR_REREG_TRANS | IB_MR_REREG_PD | IB_MR_REREG_ACCESS)

int pinion_mr_refused(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
		      const char *reason, int err)
{
	trace_mr_reg_fail(start, length, iova, access, reason, err);
	ibdev_dbg_ratelimited(pd->device, "no region of %llu bytes at 0x%llx: %s (%d)\n",
			      length, start, reason, err);
	return err;
}

static int mr_back_on_demand(struct pinion_backing *backing, struct ib_pd *pd, u64 start,
			     u64 length, int access)
{
	struct pinion_odp *odp = pinion_odp_create(pd->device, start, length, access);

	if (IS_ERR(odp))
		return PTR_ERR(odp);
	backing->pager = &odp->pager;
	backing->umem = pinion_odp_umem(odp);
	backing->mtt = NULL;
	return 0;
}

/* The reasons for which ib_umem_get() fails with @err. */
static const char *mr_not_pinned(int err)
{
	switch (err) {
	case -ENOMEM:
		return "not pinned: more than RLIMIT_MEMLOCK, or no memory";
	case -EFAULT:
		return "not pinned: not mapped, or not to be written as its rights want";
	case -EPERM:
		return "not pinned: RLIMIT_MEMLOCK is 0";
	}
	return "not pinned";
}

/* Is all of it persistent memory? Return: 0, or a negative errno and *@why. */
static int mr_check_persistence(const struct pinion_backing *backing, u64 start, u64 length,
				const char **why)
{
	*why = "not all of it is persistent memory";
	if (backing->pager)
		return pinion_persist_check_range(start, length);
	return pinion_persist_check_table(backing->mtt, length);
}

static void mr_unback(struct pinion_backing *backing)
{
	if (backing->pager) {
		pinion_pager_destroy(backing->pager);
		return;
	}
	pinion_mtt_free(backing->mtt);
	ib_umem_release(backing->umem);
}

/* Pin the memory and make its table, or its pager. Return: 0, or a negative errno and *@why. */
static int mr_bring(struct pinion_backing *backing, struct ib_pd *pd, u64 start, u64 length,
		    int access, const char **why)
{
	bool watched = access & IB_ACCESS_ON_DEMAND;
	int err;

	*why = "injected";
	err = pinion_inject_here(watched ? PINION_INJECT_WATCH : PINION_INJECT_PIN);
	if (err)
		return -err;
	if (watched) {
		*why = "cannot be watched, or no memory";
		return mr_back_on_demand(backing, pd, start, length, access);
	}
	backing->pager = NULL;

	backing->umem = pinion_ib_umem_get(pd->device, start, length, access);
	if (IS_ERR(backing->umem)) {
		*why = mr_not_pinned(PTR_ERR(backing->umem));
		return PTR_ERR(backing->umem);
	}
	backing->mtt = pinion_describe(backing->umem);
	if (IS_ERR(backing->mtt)) {
		*why = "no room for its table";
		err = PTR_ERR(backing->mtt);
		ib_umem_release(backing->umem);
		return err;
	}
	return 0;
}

/* Fill @backing, and check it. Return: 0, or a negative errno and *@why. */
static int mr_back(struct pinion_backing *backing, struct ib_pd *pd, u64 start, u64 length,
		   int access, const char **why)
{
	int err = mr_bring(backing, pd, start, length, access, why);

	if (err || !(access & IB_ACCESS_FLUSH_PERSISTENT))
		return err;
	err = mr_check_persistence(backing, start, length, why);
	if (err)
		mr_unback(backing);
	return err;
}

static u64 mr_first_address(u64 iova, int access)
{
	return access & IB_ZERO_BASED ? 0 : iova;
}

int pinion_mr_check_span(u64 length, u64 iova, int access)
{
	if (!length || !pinion_range_valid(mr_first_address(iova, access), length))
		return -EINVAL;
	/* The implicit region covers the whole address space: it cannot be at another iova. */
	if (length == U64_MAX && iova)
		return -EINVAL;
	return 0;
}

static void mr_name(struct pinion_mr *mr)
{
	mr->ibmr.lkey = mr->key->value;
	mr->ibmr.rkey = mr->key->value;
	/* The core sets iova and length in only one of the two paths that register memory. */
	mr->ibmr.iova = mr->key->base;
	mr->ibmr.length = mr->key->length;
}

static struct ib_mr *mr_make(struct pinion_keys *keys, struct ib_pd *pd, enum pinion_key_kind kind,
			     const struct pinion_backing *backing, u64 base, u64 length, int access)
{
	struct pinion_pager *pager = backing->pager;
	struct pinion_mr *mr;
	struct pinion_key *key;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	key = pinion_key_alloc(keys, kind, GFP_KERNEL_ACCOUNT);
	if (IS_ERR(key)) {
		kfree(mr);
		return ERR_CAST(key);
	}
	mr->backing = *backing;
	/* With a pager the table belongs to the pager, which may exchange it. */
	if (!pager)
		mr->backing.mtt = pinion_mtt_settle(&key->one, backing->mtt);
	if (mr->backing.mtt != backing->mtt)
		pinion_mtt_free(backing->mtt);
	key->mtt = mr->backing.mtt;
	key->pd = pd;
	key->rights = pinion_key_rights(access);
	key->base = base;
	key->length = length;
	key->state = PINION_KEY_VALID;
	key->pager = pager;
	if (pager)
		pinion_pager_attach(pager, key);
	mr->key = key;
	mr->access = access;
	pinion_key_publish(key);
	mr_name(mr);
	return &mr->ibmr;
}

/**
 * pinion_region_make - make a region, and publish its key
 * @keys: the device's keys
 * @pd: protection domain
 * @backing: the memory, owned by the region on success; a pager may have no table yet
 * @base: the address of the first byte as work requests name it
 * @length: in bytes
 * @access: IB_ACCESS_*
 *
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *pinion_region_make(struct pinion_keys *keys, struct ib_pd *pd,
				 const struct pinion_backing *backing, u64 base, u64 length,
				 int access)
{
	/* Without a table the key could be taken for one of all memory: refuse. */
	if (WARN_ON_ONCE(!backing->mtt && !backing->pager))
		return ERR_PTR(-EINVAL);
	return mr_make(keys, pd, PINION_KEY_REGION, backing, base, length, access);
}

/**
 * pinion_reg_user_mr - register user memory: pinned, or on demand
 * @keys: the device's keys
 * @pd: protection domain
 * @start: user address, any alignment
 * @length: in bytes
 * @iova: the address of the first byte as work requests will name it
 * @access: IB_ACCESS_*, checked by the core for contradictions
 *
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *pinion_reg_user_mr(struct pinion_keys *keys, struct ib_pd *pd, u64 start,
				 u64 length, u64 iova, int access)
{
	u64 begun = trace_mr_reg_enabled() ? ktime_get_ns() : 0;
	struct pinion_backing backing;
	struct ib_mr *ibmr;
	const char *why;
	int err;

	err = pinion_mr_check_span(length, iova, access);
	if (err)
		return ERR_PTR(pinion_mr_refused(pd, start, length, iova, access,
						 "no length, or an end beyond 2^64", err));
	err = mr_back(&backing, pd, start, length, access, &why);
	if (err)
		return ERR_PTR(pinion_mr_refused(pd, start, length, iova, access, why, err));
	ibmr = pinion_region_make(keys, pd, &backing, mr_first_address(iova, access), length,
				  access);
	if (IS_ERR(ibmr)) {
		mr_unback(&backing);
		pinion_mr_refused(pd, start, length, iova, access, "no key", PTR_ERR(ibmr));
		return ibmr;
	}
	trace_mr_reg(ibmr->lkey, ibmr->iova, length, access, pinion_since(begun));
	return ibmr;
}

/* What rereg changes. Prepared before the gate is closed. */
struct change {
	bool translation;
	struct pinion_backing backing;	/* with @translation: the new memory; later the old */
	struct ib_pd *pd;
	u64 base;
	u64 length;
	int access;
};

/* May the access flags change so without IB_MR_REREG_TRANS? */
static bool mr_same_translation(int before, int after)
{
	int fixed = IB_ZERO_BASED | IB_ACCESS_ON_DEMAND;

	/* IB_ACCESS_HUGETLB makes a difference on demand only: pinned pages do not change. */
	if (before & IB_ACCESS_ON_DEMAND)
		fixed |= IB_ACCESS_HUGETLB;
	return !((before ^ after) & fixed);
}

/*
 * Close the gate and apply @change. On return the caller must release @change->backing: the old
 * memory, or the new if this fails. Return: 0 or -EBUSY.
 */
static int mr_apply(struct pinion_key *key, struct pinion_mr *mr, struct change *change)
{
	struct pinion_mtt *spare = NULL;
	int err = 0;

	pinion_key_close(key);
	if (atomic_read(&key->lent)) {
		err = -EBUSY;
	} else {
		/* Otherwise leave key->mtt alone: a pager may have exchanged it. */
		if (change->translation) {
			pinion_key_exchanged(key);
			swap(mr->backing, change->backing);
			key->mtt = mr->backing.mtt;
			/* The old table may be in key->one. Nobody reads that any more. */
			if (!mr->backing.pager)
				key->mtt = pinion_mtt_settle(&key->one, key->mtt);
			if (key->mtt != mr->backing.mtt)
				spare = mr->backing.mtt;
			mr->backing.mtt = key->mtt;
			key->pager = mr->backing.pager;
		}
		key->pd = change->pd;
		key->base = change->base;
		key->length = change->length;
		key->rights = pinion_key_rights(change->access);
		mr->access = change->access;
	}
	pinion_key_open(key);
	pinion_mtt_free(spare);
	return err;
}

/* Prepare the new memory for @key's region. Return: 0, or a negative errno and *@why. */
static int mr_translate(struct change *change, struct pinion_key *key, u64 start, u64 length,
			u64 iova, const char **why)
{
	int err;

	change->base = mr_first_address(iova, change->access);
	change->length = length;
	*why = "no length, or an end beyond 2^64";
	err = pinion_mr_check_span(length, iova, change->access);
	if (!err)
		err = mr_back(&change->backing, change->pd, start, length, change->access, why);
	if (!err && change->backing.pager)
		pinion_pager_attach(change->backing.pager, key);
	return err;
}

/* Can @change be made without new memory? Return: 0, or a negative errno and *@why. */
static int mr_keep(const struct pinion_mr *mr, const struct change *change, int flags, int access,
		   const char **why)
{
	int err = ib_umem_check_rereg(mr->backing.umem, flags, access);

	*why = "not pinned for these rights";
	if (err)
		return err;
	*why = "rights that want a new translation";
	if (!mr_same_translation(mr->access, change->access))
		return -EOPNOTSUPP;
	*why = "rights that no dma-buf has";
	if (mr->backing.umem->is_dmabuf &&
	    change->access & ~(PINION_DMABUF_RIGHTS | IB_ACCESS_OPTIONAL))
		return -EOPNOTSUPP;
	if (!(change->access & ~mr->access & IB_ACCESS_FLUSH_PERSISTENT))
		return 0;
	/* On demand: the caller may be another process than the one whose mappings these are. */
	if (mr->backing.pager)
		return -EOPNOTSUPP;
	return mr_check_persistence(&mr->backing, 0, change->length, why);
}

/**
 * pinion_rereg_user_mr - change memory, domain or rights of a region
 * @ibmr: the region
 * @flags: IB_MR_REREG_*
 * @start: with TRANS: the new memory
 * @length: with TRANS
 * @iova: with TRANS
 * @access: with ACCESS
 * @pd: with PD
 *
 * Messages see all of the change or nothing of it. The new memory is pinned first, and the old one
 * released last, so a call that fails leaves the region as it was. Handle and keys stay the same.
 * The core holds the region's handle exclusively, so this is not called twice at a time.
 *
 * Return: NULL, or an ERR_PTR.
 */
struct ib_mr *pinion_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length,
				   u64 iova, int access, struct ib_pd *pd)
{
	struct pinion_mr *mr = to_pinion_mr(ibmr);
	struct pinion_key *key = mr->key;
	struct change change = {
		.translation = flags & IB_MR_REREG_TRANS,
		.pd = flags & IB_MR_REREG_PD ? pd : key->pd,
		.base = key->base,
		.length = key->length,
		.access = flags & IB_MR_REREG_ACCESS ? access : mr->access,
	};
	u64 begun = trace_mr_rereg_enabled() ? ktime_get_ns() : 0;
	static const char bound[] = "windows are bound to it, or it is part of other keys";
	const char *why = "no memory of a process, or an unknown change";
	int err = -EOPNOTSUPP;

	if (flags & ~REREG_FLAGS || !mr->backing.umem)
		goto refused;
	/* Ask before anything is pinned; mr_apply() asks again. */
	if (atomic_read(&key->lent)) {
		why = bound;
		err = -EBUSY;
		goto refused;
	}
	if (change.translation)
		err = mr_translate(&change, key, start, length, iova, &why);
	else
		err = mr_keep(mr, &change, flags, access, &why);
	if (err)
		goto refused;

	err = mr_apply(key, mr, &change);
	if (change.translation)
		mr_unback(&change.backing);
	why = bound;
	if (err)
		goto refused;
	mr_name(mr);
	trace_mr_rereg(ibmr->lkey, ibmr->iova, ibmr->length, mr->access,
		       pinion_since(begun));
	return NULL;

refused:
	if (!change.translation) {
		start = 0;
		length = change.length;
		iova = change.base;
	}
	return ERR_PTR(pinion_mr_refused(change.pd, start, length, iova, change.access, why, err));
}

/**
 * pinion_get_dma_mr - make a region of all memory, for kernel consumers
 * @keys: the device's keys
 * @pd: protection domain
 * @access: IB_ACCESS_*
 *
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *pinion_get_dma_mr(struct pinion_keys *keys, struct ib_pd *pd, int access)
{
	u64 begun = trace_mr_reg_enabled() ? ktime_get_ns() : 0;
	struct pinion_backing none = {};
	struct ib_mr *ibmr;

	/* Kernel addresses are for kernel protection domains only. */
	if (pd->uobject)
		return ERR_PTR(-EPERM);
	ibmr = mr_make(keys, pd, PINION_KEY_DMA, &none, 0, U64_MAX, access);
	if (!IS_ERR(ibmr))
		trace_mr_reg(ibmr->lkey, ibmr->iova, ibmr->length, access, pinion_since(begun));
	return ibmr;
}

/**
 * pinion_dereg_mr - deregister a region
 * @ibmr: the region
 *
 * Return: 0, and nobody accesses the memory any more; -EBUSY if windows are bound to the region, or
 * pieces of it are part of other keys.
 */
int pinion_dereg_mr(struct ib_mr *ibmr)
{
	struct pinion_mr *mr = to_pinion_mr(ibmr);
	u64 begun = trace_mr_dereg_enabled() ? ktime_get_ns() : 0;
	int err;

	err = pinion_key_kill_unbound(mr->key);
	if (err)
		return err;
	mr_unback(&mr->backing);
	if (mr->fast)
		pinion_mtt_free(to_pinion_fastreg(ibmr)->pages);
	trace_mr_dereg(ibmr->lkey, ibmr->iova, ibmr->length, mr->access,
		       pinion_since(begun));
	kfree(mr);
	return 0;
}
