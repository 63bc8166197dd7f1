// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The objects of a node that are reached by number. Addresses are in peers.c.
 */
#include <linux/random.h>
#include <linux/rcupdate.h>

#include "../mem/table.h"
#include "mcast.h"

/* At most a small part of the numbers is used: this many tries do not fail in practice. */
#define MAX_TRIES	64

/**
 * pinion_node_init - initialize a node without objects, which no peer can find yet
 * @node: its memory
 * @ibdev: the device it is part of
 *
 * Return: 0 or a negative errno.
 */
int pinion_node_init(struct pinion_node *node, struct ib_device *ibdev)
{
	int err = -ENOMEM;

	node->ibdev = ibdev;
	xa_init_flags(&node->qps, XA_FLAGS_ACCOUNT);
	xa_init_flags(&node->srqs, XA_FLAGS_ACCOUNT);
	xa_init_flags(&node->ahs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	pinion_tallies_init(&node->tallies);
	node->stats = alloc_percpu(struct pinion_stats);
	if (!node->stats)
		return -ENOMEM;
	/* WQ_MEM_RECLAIM: storage may be reached through kernel consumers' queue pairs. */
	node->wq = alloc_workqueue("pinion", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!node->wq)
		goto err_free_stats;
	/* Faults may never end, so they must not occupy the executors' work queue. */
	node->faulter = pinion_faulter_create(INVALID_UID);
	if (IS_ERR(node->faulter)) {
		err = PTR_ERR(node->faulter);
		goto err_destroy_wq;
	}
	err = pinion_keys_init(&node->keys, ibdev);
	if (err)
		goto err_abandon;
	return 0;

err_abandon:
	pinion_sleepers_abandon(node->faulter);
err_destroy_wq:
	destroy_workqueue(node->wq);
err_free_stats:
	free_percpu(node->stats);
	return err;
}

void pinion_node_destroy(struct pinion_node *node)
{
	/* The addresses are removed, but a lookup that found one may still read node->qps. */
	synchronize_rcu();
	destroy_workqueue(node->wq);
	pinion_sleepers_abandon(node->faulter);
	free_percpu(node->stats);
	pinion_tallies_destroy(&node->tallies);
	pinion_keys_destroy(&node->keys);
	WARN_ON(!pinion_table_is_empty(&node->qps));
	WARN_ON(!pinion_table_is_empty(&node->srqs));
	WARN_ON(!pinion_table_is_empty(&node->ahs));
	xa_destroy(&node->qps);
	xa_destroy(&node->srqs);
	xa_destroy(&node->ahs);
}

u64 pinion_node_count(struct pinion_node *node, enum pinion_stat stat)
{
	return pinion_stat_read(node->stats, stat) + pinion_tallies_read(&node->tallies, stat);
}

struct pinion_qp *pinion_qp_visit(struct pinion_node *node, u32 qpn)
{
	struct pinion_qp *qp;

	pinion_visit_begin();
	xa_lock(&node->qps);
	qp = xa_load(&node->qps, qpn);
	if (qp)
		pinion_users_get(&qp->finders);
	xa_unlock(&node->qps);
	if (!qp)
		pinion_visit_end();
	return qp;
}

void pinion_qp_leave(struct pinion_qp *qp)
{
	pinion_qp_put(qp);
	pinion_visit_end();
}

void pinion_qp_put(struct pinion_qp *qp)
{
	pinion_users_put(&qp->finders);
}

static int node_reserve_random(struct xarray *xa, u32 first, u32 last, void *entry, u32 *number)
{
	int tries, err;

	for (tries = 0; tries < MAX_TRIES; tries++) {
		*number = first + get_random_u32_below(last - first + 1);
		err = xa_insert(xa, *number, entry, GFP_KERNEL_ACCOUNT);
		if (err != -EBUSY)
			return err;
	}
	return -ENOMEM;
}

int pinion_node_add_qp(struct pinion_node *node, struct pinion_qp *qp, bool gsi)
{
	if (gsi) {
		qp->ibqp.qp_num = 1;
		return xa_insert(&node->qps, 1, qp, GFP_KERNEL);
	}
	return node_reserve_random(&node->qps, 2, PINION_MAX_QPN, qp, &qp->ibqp.qp_num);
}

void pinion_node_del_qp(struct pinion_node *node, struct pinion_qp *qp)
{
	pinion_mcast_leave_all(qp);
	xa_erase(&node->qps, qp->ibqp.qp_num);
	/* A peer in the middle of a message gives way, then does not find @qp any more. */
	pinion_half_want(&qp->resp.lock);
	pinion_users_drain(&qp->finders);
	pinion_half_allow(&qp->resp.lock);
}

struct pinion_qp *pinion_node_next_qp(struct pinion_node *node, unsigned long *qpn)
{
	struct pinion_qp *qp;

	xa_lock(&node->qps);
	qp = xa_find(&node->qps, qpn, ULONG_MAX, XA_PRESENT);
	if (qp)
		pinion_users_get(&qp->finders);
	xa_unlock(&node->qps);
	return qp;
}

int pinion_node_add_srq(struct pinion_node *node, struct pinion_srq *srq)
{
	pinion_users_init(&srq->finders);
	return node_reserve_random(&node->srqs, 1, PINION_MAX_QPN, srq, &srq->srqn);
}

void pinion_node_del_srq(struct pinion_node *node, struct pinion_srq *srq)
{
	xa_erase(&node->srqs, srq->srqn);
	pinion_users_drain(&srq->finders);
}

struct pinion_srq *pinion_srq_get(struct pinion_node *node, u32 srqn)
{
	struct pinion_srq *srq;

	xa_lock(&node->srqs);
	srq = xa_load(&node->srqs, srqn);
	if (srq)
		pinion_users_get(&srq->finders);
	xa_unlock(&node->srqs);
	return srq;
}

void pinion_srq_put(struct pinion_srq *srq)
{
	pinion_users_put(&srq->finders);
}

/*
 * Kernel consumers add and remove AHs with interrupts off or in softirq, but not in a hard
 * interrupt. So xa_lock_bh() is enough where interrupts are known to be on.
 */
int pinion_node_add_ah(struct pinion_node *node, struct pinion_ah *ah, gfp_t gfp)
{
	unsigned long flags;
	int err;

	if (gfpflags_allow_blocking(gfp))
		return xa_alloc_bh(&node->ahs, &ah->number, ah, xa_limit_31b, gfp);
	xa_lock_irqsave(&node->ahs, flags);
	err = __xa_alloc(&node->ahs, &ah->number, ah, xa_limit_31b, gfp);
	xa_unlock_irqrestore(&node->ahs, flags);
	return err;
}

void pinion_node_del_ah(struct pinion_node *node, struct pinion_ah *ah)
{
	unsigned long flags;

	xa_lock_irqsave(&node->ahs, flags);
	__xa_erase(&node->ahs, ah->number);
	xa_unlock_irqrestore(&node->ahs, flags);
}

int pinion_node_copy_av(struct pinion_node *node, u32 number, struct ib_pd *pd,
			struct pinion_av *av)
{
	struct pinion_ah *ah;
	int err = -ENOENT;

	xa_lock_bh(&node->ahs);
	ah = xa_load(&node->ahs, number);
	if (ah) {
		err = ah->pd == pd ? 0 : -EPERM;
		if (!err)
			*av = ah->av;
	}
	xa_unlock_bh(&node->ahs);
	return err;
}
