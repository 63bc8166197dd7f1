// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fills netlink messages with the state of our objects. `rdma resource show -dd' shows sizes and
 * fill levels. Any user may ask for those, so they tell nothing about keys or addresses, not even
 * offsets in a page. The raw entries do; the core gives them to CAP_NET_ADMIN only. The counters of
 * on-demand regions do, too, and the core gives those to anybody: see restrack_fill_stat_mr().
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/sched.h>
#include <net/netlink.h>
#include <rdma/pinion-abi.h>
#include <rdma/restrack.h>
#include <uapi/rdma/rdma_netlink.h>

#include "../mem/look.h"
#include "../mem/mr.h"
#include "../mem/mtt.h"
#include "../mem/odp.h"
#include "../mem/pager.h"
#include "../path/cq.h"
#include "../path/look.h"
#include "../path/qp.h"
#include "dev.h"

/* One driver attribute. */
struct row {
	const char *name;
	u64 value;
};

static int restrack_put_rows(struct sk_buff *msg, const struct row *rows, int num)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < num; i++) {
		if (rdma_nl_put_driver_u64(msg, rows[i].name, rows[i].value)) {
			nla_nest_cancel(msg, nest);
			return -EMSGSIZE;
		}
	}
	nla_nest_end(msg, nest);
	return 0;
}

/* The number of entries in a ring; 0 if the index that user space has written is impossible. */
static u32 restrack_waiting(const struct pinion_ring_facts *ring)
{
	u32 used = ring->user_idx - ring->kern_idx;

	return used <= ring->entries ? used : 0;
}

/* On some kernels the core calls us while a queue is being destroyed: then it has no entries. */
static int restrack_fill_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct pinion_qp *qp = to_pinion_qp(ibqp);
	struct row rows[] = { { "sq_entries" }, { "sq_waiting" }, { "rq_entries" },
			      { "rq_waiting" }, { "max_inline", qp->sq.max_inline },
			      { "send_rate", READ_ONCE(qp->rate) } };
	struct pinion_queue_facts facts;

	pinion_qp_look(ibqp, &facts);
	rows[0].value = facts.ring[0].entries;
	rows[1].value = restrack_waiting(&facts.ring[0]);
	rows[2].value = facts.ring[1].entries;
	rows[3].value = restrack_waiting(&facts.ring[1]);
	return restrack_put_rows(msg, rows, ARRAY_SIZE(rows));
}

static int restrack_fill_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct row rows[] = { { "entries" }, { "unpolled" }, { "overflow" } };
	struct pinion_queue_facts facts;
	const struct pinion_ring_facts *ring = &facts.ring[0];

	pinion_cq_look(ibcq, &facts);
	rows[0].value = ring->entries;
	rows[1].value = min(ring->kern_idx - ring->user_idx, ring->entries);
	rows[2].value = !!(facts.flags & PINION_QUEUE_BROKEN);
	return restrack_put_rows(msg, rows, ARRAY_SIZE(rows));
}

static int restrack_fill_srq(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct row rows[] = { { "entries" }, { "waiting" }, { "limit" } };
	struct pinion_queue_facts facts;

	pinion_srq_look(ibsrq, &facts);
	rows[0].value = facts.ring[0].entries;
	rows[1].value = restrack_waiting(&facts.ring[0]);
	rows[2].value = READ_ONCE(to_pinion_srq(ibsrq)->limit);
	return restrack_put_rows(msg, rows, ARRAY_SIZE(rows));
}

/*
 * The size and the number of its blocks are not shown: in a huge page both depend on where the
 * region begins (see above). They are among the raw facts and in debugfs.
 */
static int restrack_fill_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	const struct pinion_key *key = to_pinion_mr(ibmr)->key;
	struct row rows[] = { { "windows", atomic_read(&key->lent) } };

	return restrack_put_rows(msg, rows, ARRAY_SIZE(rows));
}

/* The core has checked for CAP_NET_ADMIN, here and for the other raw entries. */
static int restrack_fill_mr_raw(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct pinion_mr_facts facts;

	pinion_mr_look(ibmr, &facts);
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(facts), &facts);
}

static int restrack_fill_qp_raw(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct pinion_queue_facts facts;

	pinion_qp_look(ibqp, &facts);
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(facts), &facts);
}

static int restrack_fill_cq_raw(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct pinion_queue_facts facts;

	pinion_cq_look(ibcq, &facts);
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(facts), &facts);
}

static int restrack_fill_srq_raw(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct pinion_queue_facts facts;

	pinion_srq_look(ibsrq, &facts);
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(facts), &facts);
}

/* The names that other drivers use, for `rdma statistic show mr'. */
static const char * const pager_names[PINION_PAGER_NUM_COUNTS] = {
	[PINION_PAGER_FAULTS] = "page_faults",
	[PINION_PAGER_FAULTS_HANDLED] = "page_faults_handled",
	[PINION_PAGER_INVALIDATIONS] = "page_invalidations",
	[PINION_PAGER_INVALIDATIONS_HANDLED] = "page_invalidations_handled",
	[PINION_PAGER_PREFETCHES] = "page_prefetch",
};

/* @children: the number of children of an on-demand region, or NULL. */
static int restrack_put_counts(struct sk_buff *msg, const u64 *counts, const u64 *children)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < PINION_PAGER_NUM_COUNTS; i++) {
		if (rdma_nl_stat_hwcounter_entry(msg, pager_names[i], counts[i])) {
			nla_nest_cancel(msg, nest);
			return -EMSGSIZE;
		}
	}
	if (children && rdma_nl_stat_hwcounter_entry(msg, "children", *children)) {
		nla_nest_cancel(msg, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	return 0;
}

/*
 * Which pages a fault brings, and whether a byte begins another child, depends on where the region
 * is in its process's address space. A peer that writes single bytes and reads the counters would
 * learn that from them, even for a region that begins at 0 for its peers. So only the process
 * itself and administrators are told those of an on-demand region. Those of a dma-buf depend on no
 * address. In a dump the core may ask for later regions when the answer is read: then the
 * reader counts. A denial here is no event for the audit log, because everybody may list regions.
 */
static bool restrack_may_know(bool own)
{
	return own || ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN);
}

static int restrack_fill_stat_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct pinion_key *key = to_pinion_mr(ibmr)->key;
	u64 counts[PINION_PAGER_NUM_COUNTS] = {};
	bool paged, own = true;
	struct pinion_odp *odp;
	u64 children = 0;
	int slot, i;

	/* Inside the gate: rereg may make it a pinned region at any time. */
	slot = pinion_gate_enter_wait(&key->gate);
	paged = key->pager;
	for (i = 0; paged && i < PINION_PAGER_NUM_COUNTS; i++)
		counts[i] = atomic64_read(&key->pager->counts[i]);
	odp = pinion_odp_of(key);
	if (odp) {
		children = atomic_long_read(&odp->num_children);
		own = pinion_odp_umem(odp)->owning_mm == current->mm;
	}
	pinion_gate_leave(slot);
	if (!paged || !restrack_may_know(own))
		return 0;
	return restrack_put_counts(msg, counts, odp ? &children : NULL);
}

const struct ib_device_ops pinion_restrack_ops = {
	.fill_res_cq_entry = restrack_fill_cq,
	.fill_res_cq_entry_raw = restrack_fill_cq_raw,
	.fill_res_mr_entry = restrack_fill_mr,
	.fill_res_mr_entry_raw = restrack_fill_mr_raw,
	.fill_res_qp_entry = restrack_fill_qp,
	.fill_res_qp_entry_raw = restrack_fill_qp_raw,
	.fill_res_srq_entry = restrack_fill_srq,
	.fill_res_srq_entry_raw = restrack_fill_srq_raw,
	.fill_stat_mr_entry = restrack_fill_stat_mr,
};
