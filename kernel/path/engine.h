/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An engine carries messages to their peers: loop.c to those that are reached without packets, on
 * this host, and wire/ to the others. It hands a message to the responder (respond.h) of the peer.
 *
 * The executor owns requests, their payload, their completions, and the retries that a verdict
 * asks for. The engine finds the peer, and checks that a message comes from the queue pair
 * that the peer is connected to and that it is the next in order.
 */
#ifndef PINION_PATH_ENGINE_H
#define PINION_PATH_ENGINE_H

#include "exec.h"
#include "respond.h"

struct pinion_joined;

struct pinion_engine {
	u8 services;			/* enum pinion_service that it carries */
	/*
	 * Hand @msg to queue pair msg->dst_qpn at the address msg->av. Return: the peer's
	 * verdict, or PINION_SILENCE if there is no peer. If the verdict says to try again, the
	 * executor parks the request and starts the same message again later (msg->token);
	 * meanwhile the engine holds nothing of the message or of the peer. @qp->sq.exec is
	 * held, no gate. May sleep, but does not wait for pages.
	 */
	enum pinion_verdict (*start)(struct pinion_qp *qp, struct pinion_msg *msg);

	/*
	 * For an engine that has several requests of a connected queue pair under way: replaces the
	 * executor's handling of requests. Begins those posted before @tail, sends, receives
	 * answers, and retires requests (see exec.h). Return: DONE if it made progress, else
	 * PARKED. @qp->sq.exec is held. May sleep, but does not wait for pages.
	 */
	enum pinion_step (*turn)(struct pinion_qp *qp, u32 tail);
	/* With @turn: allocate the engine's part of a queue pair, qp->conn. NULL: no memory. */
	struct pinion_conn *(*attach)(struct pinion_qp *qp);
	/* End and free it. @qp is dying, and no peer can find it any more. */
	void (*detach)(struct pinion_qp *qp);
	/*
	 * @qp's attributes in @mask have changed; its state was @before. Both locks are held. Of
	 * queue pairs whose requests it handles, and of those for datagrams.
	 */
	void (*modified)(struct pinion_qp *qp, enum ib_qp_state before, int mask);

	/*
	 * For an engine to other hosts: a queue pair of @node is to be a member of the group @mgid.
	 * Have the network bring its packets here, until ->leave. Return: an ERR_PTR if it does
	 * not. Both sleep, and take RTNL.
	 */
	struct pinion_joined *(*join)(struct pinion_node *node, const union ib_gid *mgid);
	void (*leave)(struct pinion_joined *joined);
};

/*
 * The engine for messages from @node to the address @av. For a connected queue pair it is chosen
 * once, on the way to RTR: only one engine knows the order of its messages.
 */
const struct pinion_engine *pinion_engine_choose(const struct pinion_node *node, u8 service,
						 const struct pinion_av *av);

/* Does the engine handle @qp's requests (->turn)? May be asked without any lock. */
static inline bool pinion_qp_has_window(const struct pinion_qp *qp)
{
	const struct pinion_engine *engine = READ_ONCE(qp->engine);

	return pinion_qp_is_connected(qp) && engine && engine->turn;
}

/* The engine that carries @msg of @qp. Called with @qp->sq.exec held. */
static inline const struct pinion_engine *pinion_engine_of(const struct pinion_qp *qp,
							   const struct pinion_msg *msg)
{
	return pinion_qp_is_connected(qp) ? qp->engine :
	       pinion_engine_choose(qp->node, qp->service, msg->av);
}

#endif
