/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A pager stands behind a region whose pages come and go: it takes them out of the
 * region's table when whoever owns the memory says so, and brings them when they are
 * missed. Who misses one keeps the pager by a count, leaves all gates, and faults. That may
 * take for ever, so who ends the region does not wait for it: the pager outlives the region,
 * and the device, until the last who faults is done, and brings pages that nobody will find.
 */
#ifndef PINION_MEM_PAGER_H
#define PINION_MEM_PAGER_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/workqueue.h>

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
	 * What it waits for answers by itself, as an exporter of the kernel does: the end of the
	 * region waits for who faults, and what is behind it is let go when that returns.
	 */
	bool answers;
	/*
	 * Make pages present from @offset bytes into the region on: the first that is
	 * missing, and more of the following @length bytes as it suits. In no gate;
	 * sleeps. Return: 0 or a negative errno.
	 */
	int (*fault)(struct pinion_pager *pager, u64 offset, u64 length, bool write);
	/*
	 * As pinion_mtt_run(), where the region has no table of its own; 0 if the byte at
	 * @offset is missing, or cannot be written. Inside its gate. Optional.
	 */
	u64 (*run)(struct pinion_pager *pager, u64 offset, u64 want, bool writes, void **kva);
	/* From here on pages reach @key's table, and leave it. */
	void (*attach)(struct pinion_pager *pager, struct pinion_key *key);
	/* Nobody faults any more, and the key means something else or nothing. Sleeps. */
	void (*destroy)(struct pinion_pager *pager);
};

struct pinion_pager {
	const struct pinion_pager_ops *ops;
	struct pinion_key *key;		/* a reference */
	refcount_t users;		/* the region, and who faults, outside any gate */
	bool ending;			/* who brings pages may stop, and nobody minds */
	struct mem_cgroup *memcg;	/* of who registered the memory */
	pid_t pid;			/* likewise; for mem/inject.h */
	struct work_struct end;
	struct completion unused;	/* of those that answer */
	atomic64_t counts[PINION_PAGER_NUM_COUNTS];
};

/* By who registers. Ended by pinion_pager_destroy(), or pinion_pager_discard(). */
void pinion_pager_init(struct pinion_pager *pager, const struct pinion_pager_ops *ops);

/* It was never attached, and there is nothing behind it. */
void pinion_pager_discard(struct pinion_pager *pager);

/* The key is not published yet, or goes on with other memory for a while. */
void pinion_pager_attach(struct pinion_pager *pager, struct pinion_key *key);

/*
 * The key is dead, or has other memory. If somebody still faults, the rest is done by whoever
 * is the last, and nobody is waited for; but for memory that answers. NULL is fine.
 */
void pinion_pager_destroy(struct pinion_pager *pager);

/* Inside a gate: keep it until pinion_pager_put(). */
static inline void pinion_pager_get(struct pinion_pager *pager)
{
	refcount_inc(&pager->users);
}

/* In any context. */
void pinion_pager_put(struct pinion_pager *pager);

/*
 * Return: 0; -EAGAIN, which says nothing of the memory: try again, though not at once and not
 * with a signal pending; or what is wrong with it.
 */
int pinion_pager_fault(struct pinion_pager *pager, u64 offset, u64 length, bool write);

/*
 * Whoever brings pages, tables of them are charged to who registered the memory. Return:
 * what to give back to pinion_pager_uncharge().
 */
struct mem_cgroup *pinion_pager_charge(const struct pinion_pager *pager);
void pinion_pager_uncharge(struct mem_cgroup *before);

/* @n pages, in one event. */
void pinion_pager_count(struct pinion_pager *pager, enum pinion_pager_count pages,
			enum pinion_pager_count events, u64 n);

#endif
