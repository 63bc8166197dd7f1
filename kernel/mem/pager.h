/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A pager is behind each region whose pages come and go: on-demand regions and dma-bufs that
 * move. It removes pages from the region's table when the owner of the memory says so, and
 * brings pages that are missing.
 *
 * A mover that finds a page missing takes a reference to the pager (inside the gate), leaves
 * all gates, and calls pinion_pager_fault(). A fault may never return, for example on a FUSE
 * file whose server is dead. So deregistration does not wait for it: the pager outlives its
 * region, and even the device, until the last fault has returned. Pages that such a fault
 * brings are seen by nobody.
 */
#ifndef PINION_MEM_PAGER_H
#define PINION_MEM_PAGER_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "inject.h"

struct mem_cgroup;
struct pinion_key;
struct pinion_pager;

enum pinion_pager_count {
	PINION_PAGER_FAULTS,		/* pages */
	PINION_PAGER_FAULTS_HANDLED,	/* events */
	PINION_PAGER_INVALIDATIONS,
	PINION_PAGER_INVALIDATIONS_HANDLED,
	PINION_PAGER_PREFETCHES,
	PINION_PAGER_NUM_COUNTS
};

struct pinion_pager_ops {
	/*
	 * A fault returns in bounded time, as those of dma-buf exporters do. Then the end of the
	 * region waits for faults that run, and on its return the memory is released.
	 */
	bool answers;
	/*
	 * Bring the first page that is missing from @offset into the region on, and as many
	 * more of @length bytes as is convenient. The caller is in no gate; sleeps. Return: 0 or
	 * a negative errno.
	 */
	int (*fault)(struct pinion_pager *pager, u64 offset, u64 length, bool write);
	/*
	 * Invalidate the pages of @length bytes at @offset, and maybe others, like an mmu
	 * notifier. On return no mover accesses them. In no gate; sleeps. Return: 0 or a
	 * negative errno. NULL if they could not come again.
	 */
	int (*invalidate)(struct pinion_pager *pager, u64 offset, u64 length);
	/*
	 * As pinion_mtt_run(), where the region has no table of its own; 0 if the byte at
	 * @offset is missing, or cannot be written. Inside its gate. Optional.
	 */
	u64 (*run)(struct pinion_pager *pager, u64 offset, u64 want, bool writes, void **kva);
	/* @key's memory is this pager's from here on. */
	void (*attach)(struct pinion_pager *pager, struct pinion_key *key);
	/* No fault runs any more, and the key has other memory or is dead. Sleeps. */
	void (*destroy)(struct pinion_pager *pager);
};

struct pinion_pager {
	const struct pinion_pager_ops *ops;
	struct pinion_key *key;		/* a reference */
	refcount_t users;		/* the region, and each fault that runs */
	bool ending;			/* the region has ended: a long prefetch may stop */
	struct mem_cgroup *memcg;	/* of the process that registered the memory */
	pid_t pid;			/* likewise; for mem/inject.h */
	/* Injection, see pinion_pager_takes_away(). Races between threads are harmless. */
	bool takes_away;		/* the next fault invalidates pages first */
	u64 spared;			/* no injection below this offset until it is passed */
	struct work_struct end;
	struct completion unused;	/* if ops->answers: no users are left */
	atomic64_t counts[PINION_PAGER_NUM_COUNTS];
};

/* Called in the registering process. Undone by pinion_pager_destroy() or _discard(). */
void pinion_pager_init(struct pinion_pager *pager, const struct pinion_pager_ops *ops);

/* Undo pinion_pager_init() of a pager that was never attached and has no memory. */
void pinion_pager_discard(struct pinion_pager *pager);

/*
 * Must a message that has found @run bytes at @offset treat them as missing, by order? Then its
 * fault first invalidates them. Afterwards the message is spared up to the bytes that the fault
 * brings, so it makes progress. Called inside the gate.
 */
bool pinion_pager_ask(struct pinion_pager *pager, u64 offset, u64 run);

static inline bool pinion_pager_takes_away(struct pinion_pager *pager, u64 offset, u64 run)
{
	return static_branch_unlikely(&pinion_injecting) && pinion_pager_ask(pager, offset, run);
}

/* The key is not published yet, or goes on with other memory for a while. */
void pinion_pager_attach(struct pinion_pager *pager, struct pinion_key *key);

/*
 * The region's own reference goes. The key is dead, or has other memory already. If faults still
 * run, the last one of them ends the pager; only with ops->answers are they waited for.
 * NULL is fine.
 */
void pinion_pager_destroy(struct pinion_pager *pager);

/* Inside the region's gate, where the pager cannot end: take a reference. */
static inline void pinion_pager_get(struct pinion_pager *pager)
{
	refcount_inc(&pager->users);
}

/* In any context. */
void pinion_pager_put(struct pinion_pager *pager);

/*
 * Return: 0, or what is wrong with the memory. -EAGAIN says nothing about the memory (a signal
 * was pending, or a lock was contended): try again after a pause, without a signal pending.
 */
int pinion_pager_fault(struct pinion_pager *pager, u64 offset, u64 length, bool write);

/*
 * Charge allocations of the current task to the memory cgroup of the process that registered
 * the memory. Return: what pinion_pager_uncharge() restores.
 */
struct mem_cgroup *pinion_pager_charge(const struct pinion_pager *pager);
void pinion_pager_uncharge(struct mem_cgroup *before);

/* Add @n to the counter @pages, and one to @events. */
void pinion_pager_count(struct pinion_pager *pager, enum pinion_pager_count pages,
			enum pinion_pager_count events, u64 n);

#endif
