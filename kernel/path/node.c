// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The nodes of this host: who can be reached, by which address and number. Never
 * looks at messages.
 */
#include <linux/etherdevice.h>
#include <linux/random.h>

#include "mcast.h"

static LIST_HEAD(nodes);
static DEFINE_RWLOCK(nodes_lock);

/* Numbers are sparse, so a handful of misses means that something is wrong. */
#define MAX_TRIES	64

/**
 * pinion_node_init - an unreachable node without objects
 * @node: its memory
 * @ibdev: the device it is part of
 *
 * Return: 0 or a negative errno.
 */
int pinion_node_init(struct pinion_node *node, struct ib_device *ibdev)
{
	int err = -ENOMEM;

	node->ibdev = ibdev;
	INIT_LIST_HEAD(&node->list);
	xa_init_flags(&node->qps, XA_FLAGS_ACCOUNT);
	xa_init_flags(&node->srqs, XA_FLAGS_ACCOUNT);
	xa_init_flags(&node->ahs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	node->stats = alloc_percpu(struct pinion_stats);
	if (!node->stats)
		return -ENOMEM;
	/* Storage is reached through it. */
	node->wq = alloc_workqueue("pinion", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!node->wq)
		goto err_free_stats;
	err = pinion_keys_init(&node->keys);
	if (err)
		goto err_destroy_wq;
	/* Not among those that perform requests. */
	pinion_faulter_init(&node->faulter, node->keys.prefetches);
	return 0;

err_destroy_wq:
	destroy_workqueue(node->wq);
err_free_stats:
	free_percpu(node->stats);
	return err;
}

void pinion_node_destroy(struct pinion_node *node)
{
	destroy_workqueue(node->wq);
	free_percpu(node->stats);
	pinion_keys_destroy(&node->keys);
	WARN_ON(!xa_empty(&node->qps) || !xa_empty(&node->srqs) || !xa_empty(&node->ahs));
	xa_destroy(&node->qps);
	xa_destroy(&node->srqs);
	xa_destroy(&node->ahs);
}

void pinion_node_publish(struct pinion_node *node)
{
	write_lock_bh(&nodes_lock);
	list_add_tail(&node->list, &nodes);
	write_unlock_bh(&nodes_lock);
}

void pinion_node_unpublish(struct pinion_node *node)
{
	write_lock_bh(&nodes_lock);
	list_del_init(&node->list);
	write_unlock_bh(&nodes_lock);
}

void pinion_node_set_gid(struct pinion_node *node, u32 index, const union ib_gid *gid)
{
	if (index >= PINION_GID_TABLE_LEN)
		return;
	write_lock_bh(&nodes_lock);
	node->gids[index] = *gid;
	node->num_gids = max(node->num_gids, index + 1);
	write_unlock_bh(&nodes_lock);
}

void pinion_node_set_link(struct pinion_node *node, const u8 *mac, u32 mtu, bool up)
{
	write_lock_bh(&nodes_lock);
	ether_addr_copy(node->mac, mac);
	WRITE_ONCE(node->mtu, mtu);
	WRITE_ONCE(node->up, up);
	write_unlock_bh(&nodes_lock);
}

static bool has_gid(const struct pinion_node *node, const union ib_gid *gid)
{
	u32 i;

	for (i = 0; i < node->num_gids; i++)
		if (!memcmp(&node->gids[i], gid, sizeof(*gid)))
			return true;
	return false;
}

static struct pinion_qp *get_qp(struct pinion_node *node, u32 qpn)
{
	struct pinion_qp *qp;

	xa_lock(&node->qps);
	qp = xa_load(&node->qps, qpn);
	if (qp)
		pinion_users_get(&qp->finders);
	xa_unlock(&node->qps);
	return qp;
}

struct pinion_qp *pinion_peer_get(struct pinion_node *from, const struct pinion_av *av,
				  u32 qpn)
{
	struct pinion_qp *qp = NULL;
	struct pinion_node *node;

	read_lock_bh(&nodes_lock);
	if (!from->up)
		goto out;
	list_for_each_entry(node, &nodes, list) {
		/* One address may exist in several namespaces; the MAC tells them apart. */
		if (!node->up || !ether_addr_equal(node->mac, av->dmac) ||
		    !has_gid(node, &av->dgid))
			continue;
		qp = get_qp(node, qpn);
		break;
	}
out:
	read_unlock_bh(&nodes_lock);
	return qp;
}

void pinion_qp_put(struct pinion_qp *qp)
{
	pinion_users_put(&qp->finders);
}

static int reserve_random(struct xarray *xa, u32 first, u32 last, void *entry, u32 *number)
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
	return reserve_random(&node->qps, 2, PINION_MAX_QPN, qp, &qp->ibqp.qp_num);
}

void pinion_node_del_qp(struct pinion_node *node, struct pinion_qp *qp)
{
	pinion_mcast_leave_all(qp);
	xa_erase(&node->qps, qp->ibqp.qp_num);
	pinion_users_drain(&qp->finders);
}

struct pinion_qp *pinion_node_next_qp(struct pinion_node *node, const struct ib_cq *cq,
				      unsigned long *qpn)
{
	struct pinion_qp *qp;
	bool found;

	for (;; ++*qpn) {
		xa_lock(&node->qps);
		qp = xa_find(&node->qps, qpn, ULONG_MAX, XA_PRESENT);
		found = qp && (qp->ibqp.send_cq == cq || qp->ibqp.recv_cq == cq);
		if (found)
			pinion_users_get(&qp->finders);
		xa_unlock(&node->qps);
		if (!qp)
			return NULL;
		if (found) {
			++*qpn;
			return qp;
		}
		/* There may be very many, of others. */
		cond_resched();
	}
}

int pinion_node_add_srq(struct pinion_node *node, struct pinion_srq *srq)
{
	pinion_users_init(&srq->finders);
	return reserve_random(&node->srqs, 1, PINION_MAX_QPN, srq, &srq->srqn);
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
 * Consumers make and end AHs under locks of their own with interrupts off, though
 * never in an interrupt: enough for those who only copy to keep softirqs out.
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
