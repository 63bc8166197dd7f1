/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What carries messages to their peers. The executor knows engines by this alone; what an engine
 * brings to a peer it gives to the responder, see respond.h.
 *
 * Who has what: the executor has requests, their payload, their completions, and the retries
 * that a verdict asks for. An engine has the way there: who the peer is, whether a message is
 * from the one that the peer is connected to, and whether it is the next in order.
 */
#ifndef PINION_PATH_ENGINE_H
#define PINION_PATH_ENGINE_H

#include "exec.h"
#include "respond.h"

struct pinion_engine {
	u8 services;			/* enum pinion_service that it carries */
	/*
	 * Take @msg to QP msg->dst_qpn where msg->av leads, and say what became of it: the peer's
	 * verdict, or PINION_SILENCE where nobody is. With one that asks to come again the
	 * executor parks the request and starts it again as the same message (msg->token); until
	 * then the engine has nothing of it, and nothing of the peer's. @qp->sq.exec is held, no
	 * gate. May sleep, but waits for no page.
	 */
	enum pinion_verdict (*start)(struct pinion_qp *qp, struct pinion_msg *msg);

	/*
	 * Where it has several requests of a connected queue pair under way, @turn takes the place
	 * of all that the executor does with requests: it begins those that are posted before
	 * @tail, and retires them, see exec.h. Return: whether it got further. @qp->sq.exec is
	 * held. May sleep, but waits for no page.
	 */
	enum pinion_step (*turn)(struct pinion_qp *qp, u32 tail);
	/* With @turn: what it has of a queue pair, qp->conn. Return: NULL without memory. */
	struct pinion_conn *(*attach)(struct pinion_qp *qp);
	/* No peer finds it any more, and it is dying. */
	void (*detach)(struct pinion_qp *qp);
	/* Its attributes, or its state from @before, were changed. Both locks are held. */
	void (*modified)(struct pinion_qp *qp, enum ib_qp_state before, int mask);
};

/*
 * For messages from @node where @av leads. A connected queue pair is asked for once, when it gets
 * ready to receive: no other engine may give it messages, as none knows their order.
 */
const struct pinion_engine *pinion_engine_choose(const struct pinion_node *node, u8 service,
						 const struct pinion_av *av);

/* Are its requests the engine's? For both halves, and for who asks from without. */
static inline bool pinion_qp_has_window(const struct pinion_qp *qp)
{
	const struct pinion_engine *engine = READ_ONCE(qp->engine);

	return pinion_qp_is_connected(qp) && engine && engine->turn;
}

/* The one that @msg of @qp goes by. @qp->sq.exec is held. */
static inline const struct pinion_engine *pinion_engine_of(const struct pinion_qp *qp,
							   const struct pinion_msg *msg)
{
	return pinion_qp_is_connected(qp) ? qp->engine :
	       pinion_engine_choose(qp->node, qp->service, msg->av);
}

#endif
