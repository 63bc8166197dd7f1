/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Orders that drop, damage, duplicate or reorder packets (mem/inject.h) are carried out here, when
 * the packets are sent.
 */
#ifndef PINION_WIRE_HARM_H
#define PINION_WIRE_HARM_H

#include "../mem/inject.h"
#include "../path/qp.h"
#include "wire.h"

enum pinion_sent pinion_harm_ordered(struct pinion_qp *qp, struct sk_buff **held,
				     const struct pinion_way *way,
				     const struct pinion_burst *burst, struct sk_buff *skb);

/*
 * Like pinion_wire_send() on @qp's wire. A packet that is to be reordered is held in *@held until
 * the next one was sent; without @held (datagrams) none is reordered. What is dropped or held by
 * order counts as sent.
 */
static inline enum pinion_sent pinion_harm_send(struct pinion_qp *qp, struct sk_buff **held,
						const struct pinion_way *way,
						const struct pinion_burst *burst,
						struct sk_buff *skb)
{
	if (static_branch_unlikely(&pinion_injecting))
		return pinion_harm_ordered(qp, held, way, burst, skb);
	return pinion_wire_send(qp->node->wire, way, burst, skb);
}

/* Drop a held packet: its connection ends, or is made anew. */
static inline void pinion_harm_forget(struct sk_buff **held)
{
	kfree_skb(xchg(held, NULL));
}

#endif
