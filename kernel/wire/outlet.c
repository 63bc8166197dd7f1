// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The sockets by which packets leave. They are bound to no port and receive nothing: packets have
 * the headers that send.c writes, and the network stack charges them to these sockets until they
 * have left the host, or are lost.
 */
#include <linux/cleanup.h>
#include <linux/in.h>
#include <linux/ipv6.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "../path/qp.h"
#include "outlet.h"
#include "wire.h"

/* Limit of bytes that are sent by one outlet and not yet freed by the netdev. */
#define SEND_BYTES	(4 << 20)
/* Those who wait are woken when no more than this are left, so that it is worth it. */
#define FEW_BYTES	(SEND_BYTES / 2)
/* When to try again if there was no memory. */
#define MEMORY_PAUSE	(50 * NSEC_PER_USEC)
/* How many are woken at a time, with interrupts disabled. A user may have any number that wait. */
#define WAKE_MOST	32
/* How many sockets are closed after one grace period. */
#define CLOSE_MOST	16

static bool outlet_has_room(const struct sock *sk)
{
	return sk_wmem_alloc_get(sk) <= FEW_BYTES;
}

/*
 * If there is room, wake those who have waited longest. Each of them has the next ones woken when
 * it does not wait any more (pinion_outlet_leave()), if there is still room. If there is none,
 * packets are under way, and the next one that is freed leads here again. Any context.
 */
static void outlet_wake_some(struct pinion_outlet *outlet, const struct sock *sk)
{
	struct pinion_outlet_wait *wait;
	unsigned long flags;
	int i;

	if (!outlet_has_room(sk))
		return;
	spin_lock_irqsave(&outlet->lock, flags);
	for (i = 0; i < WAKE_MOST && !list_empty(&outlet->waiting); i++) {
		wait = list_first_entry(&outlet->waiting, struct pinion_outlet_wait, node);
		list_del_init(&wait->node);
		wait->wake(wait->qp);
	}
	spin_unlock_irqrestore(&outlet->lock, flags);
}

/* A packet was freed. Any context; for each packet, so it must be quick. */
static void outlet_write_space(struct sock *sk)
{
	struct pinion_outlet *outlet;

	rcu_read_lock();
	outlet = rcu_dereference_sk_user_data(sk);
	/* Pairs with the barrier in pinion_outlet_await(): it sees the room, or we the list. */
	smp_mb__after_atomic();
	if (outlet && !list_empty(&outlet->waiting))
		outlet_wake_some(outlet, sk);
	rcu_read_unlock();
}

static int outlet_open(struct pinion_outlet *outlet, struct net *net)
{
	int family = IS_ENABLED(CONFIG_IPV6) && ipv6_mod_enabled() ? AF_INET6 : AF_INET;
	struct socket *sock;
	int err;

	/* A socket of IPv6 may send packets of IPv4, too. */
	err = sock_create_kern(net, family, SOCK_DGRAM, IPPROTO_UDP, &sock);
	if (err)
		return err;
	WRITE_ONCE(sock->sk->sk_sndbuf, SEND_BYTES);
	/* Whoever makes the first queue pair: rules for his other sockets are not for this one. */
	WRITE_ONCE(sock->sk->sk_uid, make_kuid(net->user_ns, 0));
	rcu_assign_sk_user_data(sock->sk, outlet);
	outlet->write_space = sock->sk->sk_write_space;
	WRITE_ONCE(sock->sk->sk_write_space, outlet_write_space);
	rcu_assign_pointer(outlet->sk, sock->sk);
	return 0;
}

/*
 * Take the socket away, if there is one. After a grace period nobody uses it any more, but for
 * packets under way, which may keep it longer than this module is loaded.
 */
static struct sock *outlet_detach(struct pinion_outlet *outlet)
{
	struct sock *sk = rcu_replace_pointer(outlet->sk, NULL, true);

	if (!sk)
		return NULL;
	rcu_assign_sk_user_data(sk, NULL);
	WRITE_ONCE(sk->sk_write_space, outlet->write_space);
	return sk;
}

static void outlet_free(struct pinion_outlet *outlet)
{
	struct sock *sk = outlet_detach(outlet);

	if (sk) {
		/* Packets are freed in softirq, or with softirqs disabled. */
		synchronize_rcu();
		sock_release(sk->sk_socket);
	}
	/* If the socket was taken away before, one who frees a packet may still be in @outlet. */
	kfree_rcu(outlet, rcu);
}

static void outlet_end(struct work_struct *work)
{
	outlet_free(container_of(work, struct pinion_outlet, work));
}

static const void *outlet_user(const struct pinion_qp *qp)
{
	return qp->waiting ? (const void *)qp->waiting : qp->node;
}

static struct pinion_outlet *outlet_find(struct pinion_wire *wire, const void *user)
{
	struct pinion_outlet *outlet;

	lockdep_assert_held(&wire->outlets_lock);
	list_for_each_entry(outlet, &wire->outlets, node)
		if (outlet->user == user)
			return outlet;
	return NULL;
}

/* Count one more queue pair of @user's outlet. If there is none yet @fresh becomes it, or NULL. */
static struct pinion_outlet *outlet_use(struct pinion_wire *wire, const void *user,
					struct pinion_outlet *fresh)
{
	struct pinion_outlet *outlet;

	guard(spinlock)(&wire->outlets_lock);
	outlet = outlet_find(wire, user);
	if (!outlet && fresh) {
		list_add(&fresh->node, &wire->outlets);
		outlet = fresh;
	}
	if (outlet)
		outlet->qps++;
	return outlet;
}

/* @net: NULL, and it sends nothing, if the namespace is gone. */
static struct pinion_outlet *outlet_make(struct pinion_wire *wire, const void *user,
					 struct net *net)
{
	struct pinion_outlet *outlet = kzalloc(sizeof(*outlet), GFP_KERNEL_ACCOUNT);

	if (!outlet)
		return NULL;
	outlet->wire = wire;
	outlet->user = user;
	INIT_WORK(&outlet->work, outlet_end);
	spin_lock_init(&outlet->lock);
	INIT_LIST_HEAD(&outlet->waiting);
	if (net && outlet_open(outlet, net)) {
		kfree(outlet);
		return NULL;
	}
	return outlet;
}

/* The namespace with a reference, so that it does not end. NULL: it is ending, or is gone. */
static struct net *outlet_hold_net(const struct pinion_wire *wire)
{
	struct net *net;

	rcu_read_lock();
	net = READ_ONCE(wire->net);
	if (net)
		net = maybe_get_net(net);
	rcu_read_unlock();
	return net;
}

struct pinion_outlet *pinion_outlet_get(struct pinion_qp *qp)
{
	struct pinion_wire *wire = qp->node->wire;
	const void *user = outlet_user(qp);
	struct pinion_outlet *outlet = outlet_use(wire, user, NULL), *fresh;
	struct net *net;

	if (outlet)
		return outlet;
	net = outlet_hold_net(wire);
	fresh = outlet_make(wire, user, net);
	if (fresh)
		outlet = outlet_use(wire, user, fresh);
	/* Only now may the namespace end: it finds the socket in the list. */
	if (net)
		put_net(net);
	/* Another thread was quicker. */
	if (fresh != outlet)
		outlet_free(fresh);
	return outlet;
}

void pinion_outlet_put(struct pinion_outlet *outlet)
{
	guard(spinlock)(&outlet->wire->outlets_lock);
	if (--outlet->qps)
		return;
	list_del(&outlet->node);
	/* It waits for RCU, which who destroys a queue pair need not do. */
	queue_work(pinion_wire_wq, &outlet->work);
}

u64 pinion_outlet_await(struct pinion_outlet *outlet, struct pinion_outlet_wait *wait)
{
	u64 pause = PINION_OUTLET_LONG;
	unsigned long flags;
	struct sock *sk;

	wait->waits = true;
	spin_lock_irqsave(&outlet->lock, flags);
	if (list_empty(&wait->node))
		list_add_tail(&wait->node, &outlet->waiting);
	spin_unlock_irqrestore(&outlet->lock, flags);
	/* Pairs with the barrier in outlet_write_space(). */
	smp_mb();
	sk = pinion_wire_sock_get(&outlet->sk);
	if (!sk)
		return pause;
	if (outlet_has_room(sk)) {
		pinion_outlet_leave(outlet, wait);
		pause = MEMORY_PAUSE;
	}
	sock_put(sk);
	return pause;
}

/* One that was woken goes on: there may be room for the next. */
static void outlet_pass_on(struct pinion_outlet *outlet)
{
	struct sock *sk = pinion_wire_sock_get(&outlet->sk);

	if (!sk)
		return;
	outlet_wake_some(outlet, sk);
	sock_put(sk);
}

void pinion_outlet_leave(struct pinion_outlet *outlet, struct pinion_outlet_wait *wait)
{
	unsigned long flags;
	bool woken, others;

	if (!wait->waits)
		return;
	wait->waits = false;
	/* Also if it is being woken: that has ended then. */
	spin_lock_irqsave(&outlet->lock, flags);
	woken = list_empty(&wait->node);
	list_del_init(&wait->node);
	others = !list_empty(&outlet->waiting);
	spin_unlock_irqrestore(&outlet->lock, flags);
	if (woken && others)
		outlet_pass_on(outlet);
}

void pinion_outlets_init(struct pinion_wire *wire)
{
	spin_lock_init(&wire->outlets_lock);
	INIT_LIST_HEAD(&wire->outlets);
}

/* Take the sockets of some outlets away, at most CLOSE_MOST, to @sk. Return: how many. */
static u32 outlets_detach_some(struct pinion_wire *wire, struct sock **sk)
{
	struct pinion_outlet *outlet;
	u32 count = 0;

	guard(spinlock)(&wire->outlets_lock);
	list_for_each_entry(outlet, &wire->outlets, node) {
		if (count == CLOSE_MOST)
			break;
		sk[count] = outlet_detach(outlet);
		if (sk[count])
			count++;
	}
	return count;
}

void pinion_outlets_close(struct pinion_wire *wire)
{
	struct sock *sk[CLOSE_MOST];
	u32 count;

	while ((count = outlets_detach_some(wire, sk))) {
		synchronize_rcu();
		while (count--)
			sock_release(sk[count]->sk_socket);
	}
	/* Those that have been put. */
	flush_workqueue(pinion_wire_wq);
}
