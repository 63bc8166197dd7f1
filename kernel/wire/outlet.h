/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Outlets: by which packets leave. Each user of a device has a socket of his own, whose send buffer
 * limits what he has under way. So he does not take the room of others, by packets to neighbours
 * that never answer, for instance, or to a slow network.
 */
#ifndef PINION_WIRE_OUTLET_H
#define PINION_WIRE_OUTLET_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/workqueue.h>

struct pinion_conn;
struct pinion_qp;
struct pinion_wire;
struct sock;

struct pinion_outlet {
	struct list_head node;		/* in the wire's list, under its lock */
	struct pinion_wire *wire;
	const void *user;		/* pinion_qp.waiting; kernel consumers': the device */
	u32 qps;			/* that use it; under the wire's lock */
	struct sock __rcu *sk;		/* NULL after the namespace is gone */
	void (*write_space)(struct sock *sk);	/* of the socket, before it was ours */
	struct work_struct work;	/* closes @sk, and frees this */
	struct rcu_head rcu;		/* it is used in softirq, by who has found it in @sk */

	spinlock_t lock;		/* any context */
	struct list_head waiting;	/* halves of queue pairs that wait for room */
};

/* One half of a queue pair that may wait for room. */
struct pinion_outlet_wait {
	bool waits;			/* after pinion_outlet_await(); lock of the half */
	struct list_head node;		/* under pinion_outlet.lock */
	/* Called in any context, with that lock held. */
	void (*wake)(struct pinion_qp *qp);
	struct pinion_qp *qp;
};

static inline void pinion_outlet_wait_init(struct pinion_outlet_wait *wait, struct pinion_qp *qp,
					   void (*wake)(struct pinion_qp *qp))
{
	wait->waits = false;
	INIT_LIST_HEAD(&wait->node);
	wait->wake = wake;
	wait->qp = qp;
}

/* The outlet for @qp, counted. NULL: no memory, or the namespace is gone. Sleeps. */
struct pinion_outlet *pinion_outlet_get(struct pinion_qp *qp);
void pinion_outlet_put(struct pinion_outlet *outlet);

/* The time after which to try again in any case, in ns. */
#define PINION_OUTLET_LONG	NSEC_PER_SEC

/*
 * The lock of that half is held, in the next two functions. There was no room, or no memory: see to
 * it that @wait is woken when there is room. Return: PINION_OUTLET_LONG; or, if it will not be
 * woken, how long to wait.
 */
u64 pinion_outlet_await(struct pinion_outlet *outlet, struct pinion_outlet_wait *wait);
/* Do not wait any more: @wait is not woken after this. */
void pinion_outlet_leave(struct pinion_outlet *outlet, struct pinion_outlet_wait *wait);

void pinion_outlets_init(struct pinion_wire *wire);
/* The namespace, or the last device in it, ends: close the sockets of all outlets. Sleeps. */
void pinion_outlets_close(struct pinion_wire *wire);

#endif
