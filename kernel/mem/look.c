// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads regions and their tables inside their gates, a stretch at a time, so that a thread that
 * closes a gate waits no longer than it would for a message.
 */
#include <linux/dma-buf.h>
#include <linux/io.h>
#include <linux/sched.h>
#include <rdma/ib_umem.h>
#include <rdma/pinion-abi.h>

#include "key.h"
#include "look.h"
#include "mr.h"
#include "mtt.h"
#include "odp.h"
#include "pieces.h"

/* Table entries read inside the gate at a time: preemption is off there. */
#define LOOK_BLOCKS	1024

static u64 look_table_bytes(const struct pinion_mtt *mtt)
{
	u64 leaves = pinion_mtt_num_leaves(mtt);
	u64 entry = sizeof(u64) + (mtt->ends ? sizeof(*mtt->ends) : 0);

	return sizeof(*mtt) + leaves * sizeof(*mtt->leaves) + mtt->num_blocks * entry;
}

static enum pinion_mr_kind look_kind(const struct pinion_mr *mr)
{
	if (mr->key->kind == PINION_KEY_DMA)
		return PINION_MR_ALL;
	if (mr->fast)
		return PINION_MR_FAST;
	if (!mr->backing.umem)
		return PINION_MR_DEVICE;
	if (mr->backing.umem->is_dmabuf)
		return PINION_MR_DMABUF;
	return mr->backing.umem->is_odp ? PINION_MR_ON_DEMAND : PINION_MR_PINNED;
}

/* Inside the gate, where dma_resv cannot be locked: fields of the exporter may be stale. */
static void look_at_dmabuf(const struct pinion_mr *mr, struct pinion_mr_facts *facts)
{
	struct ib_umem *umem = mr->backing.umem;
	struct ib_umem_dmabuf *dmabuf = to_ib_umem_dmabuf(umem);

	strscpy(facts->exporter, dmabuf->attach->dmabuf->exp_name, sizeof(facts->exporter));
	if (mr->key->mtt)
		facts->flags |= PINION_MR_MAPPED;
	if (dmabuf->pinned) {
		facts->flags |= PINION_MR_HELD;
		facts->pinned_pages = ib_umem_num_pages(umem);
	}
}

/* Inside the gate. */
static void look_at_table(const struct pinion_mtt *mtt, struct pinion_mr_facts *facts)
{
	facts->entries = mtt->ends ? mtt->num_pieces : mtt->num_blocks;
	facts->table_bytes = look_table_bytes(mtt);
}

/* log2 of a block of a region's memory; 0: it has no blocks of one length. In its gate. */
static u8 look_shift(const struct pinion_key *region)
{
	/* The tables of an on-demand region are in its children. */
	struct pinion_odp *odp = pinion_odp_of(region);

	if (odp)
		return odp->shift;
	/* Pieces have no common length. */
	return region->mtt && !region->mtt->ends ? region->mtt->shift : 0;
}

/* Inside the gate, so the key and its memory do not change. */
static void look_at_region(const struct pinion_mr *mr, struct pinion_mr_facts *facts)
{
	const struct pinion_key *key = mr->key;

	facts->key = key->value;
	facts->kind = look_kind(mr);
	if (key->state == PINION_KEY_VALID)
		facts->flags |= PINION_MR_VALID;
	facts->access = mr->access;
	facts->windows = atomic_read(&key->lent);
	facts->generation = key->generation;
	facts->iova = key->base;
	facts->length = key->length;
	facts->block_shift = look_shift(key);
	if (key->mtt)
		look_at_table(key->mtt, facts);
	if (facts->kind == PINION_MR_DMABUF) {
		facts->address = mr->backing.umem->address;
		look_at_dmabuf(mr, facts);
	} else if (facts->kind == PINION_MR_PINNED) {
		facts->address = mr->backing.umem->address;
		facts->pinned_pages = ib_umem_num_pages(mr->backing.umem);
	}
}

/**
 * pinion_mr_look - read the state of a region
 * @ibmr: kept by the caller; its memory may be exchanged meanwhile
 * @facts: filled in
 *
 * Sleeps; no gate is held.
 */
void pinion_mr_look(struct ib_mr *ibmr, struct pinion_mr_facts *facts)
{
	struct pinion_mr *mr = to_pinion_mr(ibmr);
	struct pinion_key *key = mr->key;
	struct pinion_odp *odp;
	int slot;

	*facts = (struct pinion_mr_facts){ .magic = PINION_MR_FACTS_MAGIC };
	/* Read before entering, since inside the gate it is open. */
	if (test_bit(PINION_GATE_CLOSED, &key->gate.state))
		facts->flags |= PINION_MR_GATE_CLOSED;
	slot = pinion_gate_enter_wait(&key->gate);
	look_at_region(mr, facts);
	odp = pinion_odp_of(key);
	if (odp) {
		facts->address = odp->start;
		pinion_pager_get(&odp->pager);
	}
	pinion_gate_leave(slot);
	if (odp) {
		pinion_odp_look(odp, &facts->entries, &facts->table_bytes);
		pinion_pager_put(&odp->pager);
	}
}

/* ------------------------------------------------------------------ its memory */

/*
 * pd and qpn are read from the key without its gate; if they change before we enter, this returns
 * -ENOENT.
 */
int pinion_look_enter(struct pinion_keys *keys, u32 value, struct pinion_pass *pass)
{
	struct pinion_key *key = pinion_key_get(keys, value);
	struct pinion_want want = { .key = value, .whole = true };

	if (!key)
		return -ENOENT;
	want.pd = READ_ONCE(key->pd);
	want.qpn = READ_ONCE(key->qpn);
	want.remote = key->kind == PINION_KEY_WINDOW;
	pinion_key_put(key);
	return pinion_key_enter_wait(keys, &want, pass) ? -ENOENT : 0;
}

int pinion_key_look(struct pinion_keys *keys, u32 value, struct pinion_key_view *view)
{
	struct pinion_pass pass;
	int err = pinion_look_enter(keys, value, &pass);

	if (err)
		return err;
	*view = (struct pinion_key_view){
		.generation = pass.region->generation,
		.shift = look_shift(pass.region),
		.base = pass.key->base,
		.length = pass.key->length,
	};
	pinion_key_leave(&pass);
	return 0;
}

/* A run of a key whose memory is all present. Inside the gate. */
static int look_at_run(const struct pinion_key *region, u64 offset, u64 want,
		       struct pinion_run *run)
{
	void *kva;

	want = min(want, (u64)LOOK_BLOCKS << max_t(u8, look_shift(region), PAGE_SHIFT));
	if (region->kind == PINION_KEY_PIECES)
		run->length = pinion_pieces_run(region->pieces, offset, want, &kva);
	else if (region->mtt)
		run->length = pinion_mtt_run(region->mtt, offset, want, &kva);
	else
		return -ENOENT;
	run->offset = offset;
	run->addr = virt_to_phys(kva);
	run->writable = region->rights & PINION_KEY_WRITING;
	return 0;
}

/* Inside the gates. */
static int look_in_gate(const struct pinion_pass *pass, u64 offset, struct pinion_run *run)
{
	const struct pinion_key *key = pass->key, *region = pass->region;
	u64 within = key == region ? 0 : key->region_offset;
	struct pinion_odp *odp = pinion_odp_of(region);
	int err;

	if (offset >= key->length)
		return -ENOENT;
	if (odp)
		err = pinion_odp_look_run(odp, offset + within, run);
	else
		err = look_at_run(region, offset + within, key->length - offset, run);
	if (err == -ENOENT)
		return err;
	/* A window has only a part of the region. */
	run->offset -= within;
	if (run->offset >= key->length)
		return -ENOENT;
	if (!err)
		run->length = min(run->length, key->length - run->offset);
	return err;
}

int pinion_key_look_run(struct pinion_keys *keys, u32 value, u64 offset, struct pinion_run *run)
{
	struct pinion_pass pass;
	int err;

	for (;; offset = run->offset) {
		err = pinion_look_enter(keys, value, &pass);
		if (err)
			return err;
		err = look_in_gate(&pass, offset, run);
		pinion_key_leave(&pass);
		if (err != -EAGAIN)
			return err;
		cond_resched();
	}
}
