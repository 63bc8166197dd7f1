// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions of dma-bufs: attach, map, and unmap when the exporter moves the memory or revokes it.
 *
 * A region is attached dynamically, so exporters that cannot pin are served. Only data direct
 * pins its buffer: such memory does not move, but the exporter may still revoke it, and then
 * it does not come back.
 *
 * Each mapping has its own table, made when the buffer is mapped, at the best page size of that
 * layout. While there is no table, movers find pages missing, leave all gates and fault, as with
 * on-demand paging. All changes are made under the buffer's reservation lock, which the exporter
 * holds when it calls us. Lock order: reservation lock, then gate.
 *
 * A move closes the gate, removes the table, opens the gate and unmaps. When it returns nobody
 * touches the old memory any more.
 */
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "../compat/dmabuf.h"
#include "../logic/range.h"
#include "describe.h"
#include "dmabuf.h"
#include "dmabuf_pinned.h"
#include "inject.h"
#include "mr.h"
#include "mtt.h"
#include "pager.h"
#include "trace.h"

/* Wait for fences in steps of this, and look between them whether the region has ended. */
#define FENCE_WAIT (HZ / 10)

struct dmabuf {
	struct pinion_pager pager;
	struct ib_umem_dmabuf *umem;
	/* under the reservation lock */
	struct pinion_key *key;
	struct pinion_mtt *mtt;		/* of the mapping; NULL: not mapped */
	const char *why;		/* the last mapping failed */
	bool once;			/* pinned: what the exporter revokes does not come back */
};

static struct dmabuf *to_dmabuf(struct pinion_pager *pager)
{
	return container_of(pager, struct dmabuf, pager);
}

static struct dma_resv *dmabuf_resv_of(const struct dmabuf *dmabuf)
{
	return dmabuf->umem->attach->dmabuf->resv;
}

static u64 dmabuf_pages_of(const struct dmabuf *dmabuf)
{
	return pinion_dmabuf_pages(&dmabuf->umem->umem);
}

/* The reservation lock is held. Movers in the gate never wait for it, so closing is safe. */
static void dmabuf_set_table(struct dmabuf *dmabuf, struct pinion_mtt *mtt)
{
	struct pinion_key *key = dmabuf->key;

	dmabuf->mtt = mtt;
	if (!key)
		return;
	pinion_key_close(key);
	/* A rereg may have given the key other memory; then its table is not ours to set. */
	if (key->pager == &dmabuf->pager)
		key->mtt = mtt;
	pinion_key_open(key);
}

/* Unmap. No mover uses the mapping when this returns. The reservation lock is held. */
static void dmabuf_let_go(struct dmabuf *dmabuf)
{
	struct pinion_mtt *mtt = dmabuf->mtt;

	dmabuf_set_table(dmabuf, NULL);
	pinion_mtt_free(mtt);
	ib_umem_dmabuf_unmap_pages(dmabuf->umem);
}

/* Unpin, when the region ends or the exporter revokes: importers have to unpin then. */
static void dmabuf_unpin(struct ib_umem_dmabuf *umem)
{
	if (!umem->pinned)
		return;
	dma_buf_unpin(umem->attach);
	umem->pinned = 0;
}

/* The reservation lock is held. */
static void dmabuf_take_away(struct dmabuf *dmabuf)
{
	/* Not mapped: nothing to unmap. */
	if (!dmabuf->mtt)
		return;
	dmabuf_let_go(dmabuf);
	dmabuf_unpin(dmabuf->umem);
	pinion_pager_count(&dmabuf->pager, PINION_PAGER_INVALIDATIONS,
			   PINION_PAGER_INVALIDATIONS_HANDLED, dmabuf_pages_of(dmabuf));
}

static void dmabuf_moved(struct dma_buf_attachment *attach)
{
	struct ib_umem_dmabuf *umem = attach->importer_priv;

	/* It may not be set up yet. */
	if (umem->private)
		dmabuf_take_away(umem->private);
}

/*
 * We copy with the CPU, which cannot be relied on to reach other devices' memory. Without
 * allow_peer2peer an exporter that has a choice moves the buffer to main memory.
 */
static const struct dma_buf_attach_ops attach_ops = {
	.allow_peer2peer = false,
	.pinion_on_move = dmabuf_moved,
};

/* At registration the pager has no key yet. */
static int dmabuf_map(struct dmabuf *dmabuf)
{
	const struct pinion_key *key = dmabuf->pager.key;
	int err = pinion_inject(PINION_INJECT_MAP, dmabuf->pager.pid, key ? key->value : 0);

	return err ? -err : ib_umem_dmabuf_map_pages(dmabuf->umem);
}

/* The reservation lock is held, and there is no table. */
static int dmabuf_bring(struct dmabuf *dmabuf)
{
	struct pinion_mtt *mtt;
	int err;

	if (dmabuf->once) {
		dmabuf->why = "the dma-buf cannot be pinned";
		err = dma_buf_pin(dmabuf->umem->attach);
		if (err)
			return err;
		dmabuf->umem->pinned = 1;
	}
	dmabuf->why = "the dma-buf's exporter did not map it";
	err = dmabuf_map(dmabuf);
	if (!err)
		err = pinion_dmabuf_examine(&dmabuf->umem->umem, &dmabuf->why);
	if (err)
		goto err_unmap;
	mtt = pinion_describe(&dmabuf->umem->umem);
	if (IS_ERR(mtt)) {
		dmabuf->why = "no table of the dma-buf's layout, or no room for it";
		err = PTR_ERR(mtt);
		goto err_unmap;
	}
	dmabuf_set_table(dmabuf, mtt);
	return 0;

err_unmap:
	ib_umem_dmabuf_unmap_pages(dmabuf->umem);
	dmabuf_unpin(dmabuf->umem);
	return err;
}

/*
 * Take the reservation lock once the exporter's moves have finished. Waiting here, and not in
 * ib_umem_dmabuf_map_pages(), means that nobody waits with the lock held, and that a waiter
 * that is killed gives up.
 */
static int dmabuf_lock_arrived(struct dmabuf *dmabuf)
{
	struct dma_resv *resv = dmabuf_resv_of(dmabuf);
	long left;

	for (;;) {
		left = dma_resv_wait_timeout(resv, DMA_RESV_USAGE_KERNEL, false, FENCE_WAIT);
		if (left < 0)
			return left;
		if (left) {
			dma_resv_lock(resv, NULL);
			if (dma_resv_test_signaled(resv, DMA_RESV_USAGE_KERNEL))
				return 0;
			dma_resv_unlock(resv);
		}
		/* A work item cannot be killed: it gives up when the region ends. */
		if (fatal_signal_pending(current) || READ_ONCE(dmabuf->pager.ending))
			return -EINTR;
	}
}

static int dmabuf_region_fault(struct pinion_pager *pager, u64 offset, u64 length, bool write)
{
	struct dmabuf *dmabuf = to_dmabuf(pager);
	struct dma_resv *resv = dmabuf_resv_of(dmabuf);
	int err;

	err = dmabuf_lock_arrived(dmabuf);
	if (err)
		return err;
	/* Another thread may have mapped it while we waited for the lock. */
	if (!dmabuf->mtt) {
		err = dmabuf_bring(dmabuf);
		trace_dmabuf_map(pager->key->value, dmabuf_pages_of(dmabuf),
				 err ? dmabuf->why : "", err);
		if (!err)
			pinion_pager_count(pager, PINION_PAGER_FAULTS,
					   PINION_PAGER_FAULTS_HANDLED, dmabuf_pages_of(dmabuf));
	}
	dma_resv_unlock(resv);
	return err;
}

/* Pinned memory is mapped from registration on. If it is missing, it was revoked. */
static int dmabuf_once_fault(struct pinion_pager *pager, u64 offset, u64 length, bool write)
{
	return -ENODEV;
}

/* All of it, as an exporter does. */
static int dmabuf_region_invalidate(struct pinion_pager *pager, u64 offset, u64 length)
{
	struct dmabuf *dmabuf = to_dmabuf(pager);

	dma_resv_lock(dmabuf_resv_of(dmabuf), NULL);
	dmabuf_take_away(dmabuf);
	dma_resv_unlock(dmabuf_resv_of(dmabuf));
	return 0;
}

/* The exporter may have moved the buffer since it was mapped: the table may be NULL. */
static void dmabuf_region_attach(struct pinion_pager *pager, struct pinion_key *key)
{
	struct dmabuf *dmabuf = to_dmabuf(pager);

	dma_resv_lock(dmabuf_resv_of(dmabuf), NULL);
	dmabuf->key = key;
	dmabuf_set_table(dmabuf, dmabuf->mtt);
	dma_resv_unlock(dmabuf_resv_of(dmabuf));
}

static void dmabuf_region_destroy(struct pinion_pager *pager)
{
	struct dmabuf *dmabuf = to_dmabuf(pager);
	struct device *dma_device = dmabuf->umem->attach->dev;

	dma_resv_lock(dmabuf_resv_of(dmabuf), NULL);
	dmabuf_let_go(dmabuf);
	dmabuf->umem->private = NULL;
	dma_resv_unlock(dmabuf_resv_of(dmabuf));
	ib_umem_release(&dmabuf->umem->umem);
	kfree(dmabuf);
	put_device(dma_device);
}

static const struct pinion_pager_ops pager_ops = {
	.answers = true,
	.fault = dmabuf_region_fault,
	.invalidate = dmabuf_region_invalidate,
	.attach = dmabuf_region_attach,
	.destroy = dmabuf_region_destroy,
};

/* What the exporter takes away of pinned memory does not come back, so nobody else does. */
static const struct pinion_pager_ops once_ops = {
	.answers = true,
	.fault = dmabuf_once_fault,
	.attach = dmabuf_region_attach,
	.destroy = dmabuf_region_destroy,
};

/*
 * As ib_umem_dmabuf_get(), for @dma_device. The core attaches to another DMA device only for
 * buffers that it pins, and then without a callback for moves. Exporters that revoke refuse
 * such an attachment.
 */
static struct ib_umem_dmabuf *dmabuf_attach_for(struct ib_device *ibdev, struct device *dma_device,
						u64 offset, u64 length, int fd, int access)
{
	struct ib_umem_dmabuf *umem;
	struct dma_buf *dmabuf;
	int err = -EINVAL;

	dmabuf = dma_buf_get(fd);
	if (IS_ERR(dmabuf))
		return ERR_CAST(dmabuf);
	if (!pinion_range_holds(0, dmabuf->size, offset, length))
		goto err_put;
	err = -ENOMEM;
	umem = kzalloc(sizeof(*umem), GFP_KERNEL_ACCOUNT);
	if (!umem)
		goto err_put;
	umem->umem.ibdev = ibdev;
	umem->umem.length = length;
	umem->umem.address = offset;
	umem->umem.writable = ib_access_writable(access);
	umem->umem.is_dmabuf = 1;
	err = -pinion_inject_here(PINION_INJECT_ATTACH);
	if (err)
		goto err_free;
	umem->attach = dma_buf_dynamic_attach(dmabuf, dma_device, &attach_ops, umem);
	err = PTR_ERR_OR_ZERO(umem->attach);
	if (err)
		goto err_free;
	return umem;

err_free:
	kfree(umem);
err_put:
	dma_buf_put(dmabuf);
	return ERR_PTR(err);
}

/* Attach and map. With @dma_device: for that, and pinned. On error return an ERR_PTR and *@why. */
static struct dmabuf *dmabuf_import(struct ib_device *ibdev, struct device *dma_device, u64 offset,
				    u64 length, int fd, int access, const char **why)
{
	struct dmabuf *dmabuf;
	int err;

	*why = "no memory, no dma-buf, beyond its end, or refused by its exporter";
	dmabuf = kzalloc(sizeof(*dmabuf), GFP_KERNEL_ACCOUNT);
	if (!dmabuf)
		return ERR_PTR(-ENOMEM);
	dmabuf->once = dma_device;
	dmabuf->umem = dmabuf_attach_for(ibdev, dma_device ?: ibdev->dma_device, offset, length, fd,
					 access);
	if (IS_ERR(dmabuf->umem)) {
		err = PTR_ERR(dmabuf->umem);
		kfree(dmabuf);
		return ERR_PTR(err);
	}
	/* For data direct this is not the device that the table of keys keeps. */
	get_device(dmabuf->umem->attach->dev);
	pinion_pager_init(&dmabuf->pager, dmabuf->once ? &once_ops : &pager_ops);
	/* Report errors here, not to the first message. */
	*why = "killed while the dma-buf's exporter moved it";
	err = dmabuf_lock_arrived(dmabuf);
	if (err)
		goto err_destroy;
	dmabuf->umem->private = dmabuf;
	err = dmabuf_bring(dmabuf);
	*why = dmabuf->why;
	dma_resv_unlock(dmabuf_resv_of(dmabuf));
	if (err)
		goto err_destroy;
	return dmabuf;

err_destroy:
	pinion_pager_destroy(&dmabuf->pager);
	return ERR_PTR(err);
}

/**
 * pinion_reg_dmabuf_mr - give part of a dma-buf a key
 * @keys: the device's keys
 * @pd: protection domain
 * @dma_device: what it is mapped for, and pinned: data direct; NULL: ours, and it may move
 * @offset: of the first byte in the buffer, any alignment
 * @length: in bytes
 * @iova: the address of the first byte as work requests will name it
 * @fd: the buffer; it may be closed afterwards
 * @access: IB_ACCESS_*, checked by the core
 *
 * The exporter may move the buffer with its contents; messages wait meanwhile. If the exporter
 * refuses to attach or to map, its errno is returned.
 *
 * Return: the region or an ERR_PTR.
 */
struct ib_mr *pinion_reg_dmabuf_mr(struct pinion_keys *keys, struct ib_pd *pd,
				   struct device *dma_device, u64 offset, u64 length, u64 iova,
				   int fd, int access)
{
	u64 begun = trace_mr_reg_enabled() ? ktime_get_ns() : 0;
	struct pinion_backing backing = {};
	struct dmabuf *dmabuf;
	struct ib_mr *ibmr;
	const char *why;
	int err;

	err = pinion_mr_check_span(length, iova, access);
	if (err)
		return ERR_PTR(pinion_mr_refused(pd, offset, length, iova, access,
						 "no length, or an end beyond 2^64", err));
	if (dma_device && !PAGE_ALIGNED(iova))
		return ERR_PTR(pinion_mr_refused(pd, offset, length, iova, access,
						 "an address within a page", -EOPNOTSUPP));
	dmabuf = dmabuf_import(pd->device, dma_device, offset, length, fd, access, &why);
	if (IS_ERR(dmabuf))
		return ERR_PTR(pinion_mr_refused(pd, offset, length, iova, access, why,
						 PTR_ERR(dmabuf)));
	backing.umem = &dmabuf->umem->umem;
	backing.pager = &dmabuf->pager;
	ibmr = pinion_region_make(keys, pd, &backing, iova, length, access);
	if (IS_ERR(ibmr)) {
		pinion_pager_destroy(&dmabuf->pager);
		pinion_mr_refused(pd, offset, length, iova, access, "no key", PTR_ERR(ibmr));
		return ibmr;
	}
	trace_mr_reg(ibmr->lkey, ibmr->iova, length, access, pinion_since(begun));
	return ibmr;
}
