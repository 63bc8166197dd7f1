/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is ordered to befall packets (mem/inject.h) befalls them here, as they leave.
 */
#ifndef PINION_WIRE_HARM_H
#define PINION_WIRE_HARM_H

#include "../mem/inject.h"
#include "wire.h"

struct pinion_qp;

bool pinion_harm_ordered(struct pinion_qp *qp, struct sk_buff **held, const struct pinion_av *av,
			 u32 flow, const struct pinion_burst *burst, struct sk_buff *skb,
			 struct pinion_errand *errand);

/*
 * As pinion_wire_send() to @qp's wire. A packet that is to be sent behind the next waits in *@held;
 * with NULL there is no such place. What is ordered to be lost or to wait counts as sent.
 */
static inline bool pinion_harm_send(struct pinion_qp *qp, struct pinion_wire *wire,
				    struct sk_buff **held, const struct pinion_av *av, u32 flow,
				    const struct pinion_burst *burst, struct sk_buff *skb,
				    struct pinion_errand *errand)
{
	if (static_branch_unlikely(&pinion_injecting))
		return pinion_harm_ordered(qp, held, av, flow, burst, skb, errand);
	return pinion_wire_send(wire, av, flow, burst, skb, errand);
}

/* What waits is lost: its connection ends, or is another. */
static inline void pinion_harm_forget(struct sk_buff **held)
{
	kfree_skb(xchg(held, NULL));
}

#endif
