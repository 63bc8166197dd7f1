// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Drops, damages, duplicates or reorders the packets of one queue pair, by order (mem/inject.h). It
 * happens before they are sent, so the receiver cannot tell it from a bad network.
 */
#include "harm.h"

static bool harm_is_due(const struct pinion_qp *qp, enum pinion_inject_kind kind)
{
	return pinion_inject(kind, qp->pid, qp->ibqp.qp_num);
}

/* The burst of a held packet is kept in its control block. */
static struct pinion_burst *harm_burst_of(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct pinion_burst) > sizeof(skb->cb));
	return (struct pinion_burst *)skb->cb;
}

/* Send a copy, charged to the same socket. Without memory at once nothing is duplicated. */
static void harm_put_twin(const struct pinion_qp *qp, const struct pinion_way *way,
			  const struct pinion_burst *burst, struct sk_buff *skb)
{
	struct sk_buff *twin = skb_copy(skb, GFP_NOWAIT | __GFP_NOWARN);

	if (!twin)
		return;
	skb_set_owner_w(twin, skb->sk);
	pinion_wire_send(qp->node->wire, way, burst, twin);
}

/* Hold @skb back, and send the packet that was held before, if there is one. */
static void harm_put_later(const struct pinion_qp *qp, const struct pinion_way *way,
			   const struct pinion_burst *burst, struct sk_buff *skb,
			   struct sk_buff **held)
{
	struct pinion_burst before;

	*harm_burst_of(skb) = *burst;
	skb = xchg(held, skb);
	if (!skb)
		return;
	before = *harm_burst_of(skb);
	pinion_wire_send(qp->node->wire, way, &before, skb);
}

/* Send the held packet. Requester and responder share @held under different locks: so xchg(). */
static void harm_put_held(const struct pinion_qp *qp, const struct pinion_way *way,
			  struct sk_buff **held)
{
	struct sk_buff *skb = xchg(held, NULL);
	struct pinion_burst burst;

	if (!skb)
		return;
	burst = *harm_burst_of(skb);
	pinion_wire_send(qp->node->wire, way, &burst, skb);
}

enum pinion_sent pinion_harm_ordered(struct pinion_qp *qp, struct sk_buff **held,
				     const struct pinion_way *way,
				     const struct pinion_burst *burst, struct sk_buff *skb)
{
	struct pinion_burst harmed = *burst;
	enum pinion_sent sent;

	/* The port was taken down by order, and the netdev does not know; see dev/force.c. */
	if (!READ_ONCE(qp->node->link.up)) {
		kfree_skb(skb);
		return PINION_SENT;
	}
	if (harm_is_due(qp, PINION_INJECT_LOSS)) {
		kfree_skb(skb);
		return PINION_SENT;
	}
	harmed.damaged = harm_is_due(qp, PINION_INJECT_CORRUPT);
	if (held && harm_is_due(qp, PINION_INJECT_REORDER)) {
		harm_put_later(qp, way, &harmed, skb, held);
		return PINION_SENT;
	}
	if (harm_is_due(qp, PINION_INJECT_DUPLICATE))
		harm_put_twin(qp, way, &harmed, skb);
	sent = pinion_wire_send(qp->node->wire, way, &harmed, skb);
	if (held)
		harm_put_held(qp, way, held);
	return sent;
}
