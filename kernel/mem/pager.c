// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The life of a pager of any kind: attached to a key, referenced by faults that run, ended
 * when the region and all faults are done, which may be after the end of the device.
 */
#include <linux/delay.h>
#include <linux/memcontrol.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "key.h"
#include "pager.h"
#include "sleepers.h"

static void pager_end(struct pinion_pager *pager)
{
	struct mem_cgroup *memcg = pager->memcg;
	struct pinion_key *key = pager->key;
	struct pinion_keys *keys;

	pager->ops->destroy(pager);
	mem_cgroup_put(memcg);
	if (!key)
		return;
	keys = key->keys;
	pinion_key_put(key);
	pinion_keys_put(keys);
}

static void pager_end_later(struct work_struct *work)
{
	pager_end(container_of(work, struct pinion_pager, end));
}

void pinion_pager_init(struct pinion_pager *pager, const struct pinion_pager_ops *ops)
{
	pager->ops = ops;
	refcount_set(&pager->users, 1);
	INIT_WORK(&pager->end, pager_end_later);
	init_completion(&pager->unused);
	pager->memcg = get_mem_cgroup_from_mm(current->mm);
	pager->pid = task_tgid_nr(current);
}

void pinion_pager_discard(struct pinion_pager *pager)
{
	mem_cgroup_put(pager->memcg);
}

void pinion_pager_attach(struct pinion_pager *pager, struct pinion_key *key)
{
	kref_get(&key->ref);
	/* The key table keeps the ib_device and the DMA device, which unmapping needs. */
	pinion_keys_get(key->keys);
	pager->key = key;
	pager->ops->attach(pager, key);
}

void pinion_pager_put(struct pinion_pager *pager)
{
	if (!refcount_dec_and_test(&pager->users))
		return;
	if (pager->ops->answers)
		complete(&pager->unused);
	else
		pinion_end_later(&pager->end);
}

void pinion_pager_destroy(struct pinion_pager *pager)
{
	if (!pager)
		return;
	WRITE_ONCE(pager->ending, true);
	if (!refcount_dec_and_test(&pager->users)) {
		if (!pager->ops->answers)
			return;
		wait_for_completion(&pager->unused);
	}
	pager_end(pager);
}

struct mem_cgroup *pinion_pager_charge(const struct pinion_pager *pager)
{
	return set_active_memcg(pager->memcg);
}

void pinion_pager_uncharge(struct mem_cgroup *before)
{
	set_active_memcg(before);
}

/*
 * Does @err say nothing about the memory? It may be a signal that is pending for the thread
 * that happens to fault, or contention. If that thread is being killed, any error may be from
 * that.
 */
static bool pager_is_passing(int err)
{
	switch (err) {
	case -EINTR:
	case -ERESTARTSYS:
	case -EAGAIN:
	case -EBUSY:
		return true;
	default:
		return err && fatal_signal_pending(current);
	}
}

/* Apply the delay, then return the error, that were ordered for this fault (mem/inject.h). */
static int pager_injected(const struct pinion_pager *pager)
{
	u32 key = pager->key->value;
	int us = pinion_inject(PINION_INJECT_FAULT_DELAY, pager->pid, key);

	if (us)
		fsleep(us);
	return -pinion_inject(PINION_INJECT_FAULT, pager->pid, key);
}

bool pinion_pager_ask(struct pinion_pager *pager, u64 offset, u64 run)
{
	u64 spared = READ_ONCE(pager->spared);

	/* A packet that has lacked a page is performed again from its first byte on. */
	if (offset < spared) {
		if (spared <= offset + run)
			WRITE_ONCE(pager->spared, 0);
		return false;
	}
	/* The order is still pending: a mover that found a page missing need not fault at once. */
	if (READ_ONCE(pager->takes_away))
		return true;
	if (!pager->ops->invalidate)
		return false;
	if (!pinion_inject(PINION_INJECT_INVALIDATE, pager->pid, pager->key->value))
		return false;
	WRITE_ONCE(pager->takes_away, true);
	return true;
}

static int pager_take_away(struct pinion_pager *pager, u64 offset, u64 length)
{
	int err;

	if (!READ_ONCE(pager->takes_away))
		return 0;
	err = pager->ops->invalidate(pager, offset, length);
	if (err)
		return err;
	WRITE_ONCE(pager->spared, offset + 1);
	WRITE_ONCE(pager->takes_away, false);
	return 0;
}

int pinion_pager_fault(struct pinion_pager *pager, u64 offset, u64 length, bool write)
{
	struct mem_cgroup *before = pinion_pager_charge(pager);
	int err;

	err = pager_take_away(pager, offset, length);
	if (!err)
		err = pager_injected(pager);
	if (!err)
		err = pager->ops->fault(pager, offset, length, write);
	pinion_pager_uncharge(before);
	return pager_is_passing(err) ? -EAGAIN : err;
}

void pinion_pager_count(struct pinion_pager *pager, enum pinion_pager_count pages,
			enum pinion_pager_count events, u64 n)
{
	atomic64_add(n, &pager->counts[pages]);
	atomic64_inc(&pager->counts[events]);
}
