// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The UDP sockets that receive RoCEv2: one for IPv4 and one for IPv6 in each network namespace that
 * has devices. If the namespace ends before its devices, the sockets are closed; the wire stays
 * until the last device is gone, but sends and receives nothing.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/udp.h>

#include "../logic/packet.h"
#include "outlet.h"
#include "route.h"
#include "wire.h"

/* Limit of bytes received by one socket and not yet processed. More packets are dropped. */
#define RECEIVE_BYTES	(64 << 20)

struct workqueue_struct *pinion_wire_wq;

static LIST_HEAD(wires);
static DEFINE_MUTEX(wires_lock);

static void wire_data_ready(struct sock *sk)
{
	struct pinion_wire *wire;

	rcu_read_lock();
	wire = rcu_dereference_sk_user_data(sk);
	if (wire)
		pinion_wire_arrived(wire);
	rcu_read_unlock();
}

static int wire_bind(struct socket *sock, int family)
{
	struct sockaddr_storage any = { .ss_family = family };

	if (family == AF_INET) {
		((struct sockaddr_in *)&any)->sin_port = htons(PINION_UDP_PORT);
		return kernel_bind(sock, (void *)&any, sizeof(struct sockaddr_in));
	}
	((struct sockaddr_in6 *)&any)->sin6_port = htons(PINION_UDP_PORT);
	ip6_sock_set_v6only(sock->sk);
	/* RoCEv2 packets have no UDP checksum, but the ICRC. */
	udp_set_no_check6_rx(sock->sk, true);
	return kernel_bind(sock, (void *)&any, sizeof(struct sockaddr_in6));
}

/*
 * Accept buffers of several packets (GSO) as they are, and have the kernel merge consecutive
 * packets from network cards into such buffers (GRO). It merges those that have a UDP checksum.
 */
static void wire_accept_bursts(struct socket *sock)
{
	int on = 1;

	/* Without it packets arrive one by one. */
	sock->ops->setsockopt(sock, SOL_UDP, UDP_GRO, KERNEL_SOCKPTR(&on), sizeof(on));
}

static struct sock *wire_sock_make(struct pinion_wire *wire, int family)
{
	struct socket *sock;
	int err;

	err = sock_create_kern(wire->net, family, SOCK_DGRAM, IPPROTO_UDP, &sock);
	if (err)
		return ERR_PTR(err);
	err = wire_bind(sock, family);
	if (err) {
		sock_release(sock);
		return ERR_PTR(err);
	}
	WRITE_ONCE(sock->sk->sk_rcvbuf, RECEIVE_BYTES);
	wire_accept_bursts(sock);
	rcu_assign_sk_user_data(sock->sk, wire);
	WRITE_ONCE(sock->sk->sk_data_ready, wire_data_ready);
	return sock->sk;
}

struct sock *pinion_wire_sock_get(struct sock __rcu **at)
{
	struct sock *sk;

	rcu_read_lock();
	sk = rcu_dereference(*at);
	if (sk && !refcount_inc_not_zero(&sk->sk_refcnt))
		sk = NULL;
	rcu_read_unlock();
	return sk;
}

static void wire_sock_end(struct sock *sk)
{
	rcu_assign_sk_user_data(sk, NULL);
	kernel_sock_shutdown(sk->sk_socket, SHUT_RDWR);
	synchronize_rcu();
	sock_release(sk->sk_socket);
}

static int wire_open_sockets(struct pinion_wire *wire)
{
	struct sock *sock4, *sock6 = NULL;

	sock4 = wire_sock_make(wire, AF_INET);
	if (IS_ERR(sock4))
		return PTR_ERR(sock4);
	if (IS_ENABLED(CONFIG_IPV6) && ipv6_mod_enabled()) {
		sock6 = wire_sock_make(wire, AF_INET6);
		if (IS_ERR(sock6)) {
			wire_sock_end(sock4);
			return PTR_ERR(sock6);
		}
	}
	rcu_assign_pointer(wire->sock4, sock4);
	rcu_assign_pointer(wire->sock6, sock6);
	return 0;
}

/* Close the sockets. After this nothing is sent or received. */
static void wire_shut(struct pinion_wire *wire)
{
	struct sock *sock4, *sock6;

	lockdep_assert_held(&wires_lock);
	if (!wire->net)
		return;
	list_del(&wire->node);
	WRITE_ONCE(wire->net, NULL);
	sock4 = rcu_replace_pointer(wire->sock4, NULL, lockdep_is_held(&wires_lock));
	sock6 = rcu_replace_pointer(wire->sock6, NULL, lockdep_is_held(&wires_lock));
	wire_sock_end(sock4);
	if (sock6)
		wire_sock_end(sock6);
	/* wire_sock_end() has waited for those who saw @net: nobody uses a route any more. */
	pinion_routes_forget(wire);
	pinion_outlets_close(wire);
}

static struct pinion_wire *wire_find(const struct net *net)
{
	struct pinion_wire *wire;

	list_for_each_entry(wire, &wires, node)
		if (wire->net == net)
			return wire;
	return NULL;
}

static struct pinion_wire *wire_make(struct net *net, int *err)
{
	struct pinion_wire *wire = kzalloc(sizeof(*wire), GFP_KERNEL);

	*err = -ENOMEM;
	if (!wire)
		return NULL;
	wire->net = net;
	wire->cookie = net->net_cookie;
	pinion_wire_receive_init(wire);
	pinion_routes_init(wire);
	pinion_outlets_init(wire);
	*err = wire_open_sockets(wire);
	if (*err) {
		/* Packets may have arrived in the IPv4 socket already. */
		pinion_wire_receive_end(wire);
		kfree(wire);
		return NULL;
	}
	list_add(&wire->node, &wires);
	return wire;
}

struct pinion_wire *pinion_wire_open(struct net *net, int *err)
{
	struct pinion_wire *wire;

	/* If the namespace is being removed, wire_net_exit() may have run already. */
	*err = -ENODEV;
	if (!maybe_get_net(net))
		return NULL;
	*err = 0;
	mutex_lock(&wires_lock);
	wire = wire_find(net);
	if (!wire)
		wire = wire_make(net, err);
	if (wire)
		wire->devices++;
	mutex_unlock(&wires_lock);
	put_net(net);
	return wire;
}

void pinion_wire_close(struct pinion_wire *wire)
{
	mutex_lock(&wires_lock);
	if (--wire->devices) {
		mutex_unlock(&wires_lock);
		return;
	}
	wire_shut(wire);
	mutex_unlock(&wires_lock);
	pinion_wire_receive_end(wire);
	kfree(wire);
}

static void __net_exit wire_net_exit(struct net *net)
{
	struct pinion_wire *wire;

	mutex_lock(&wires_lock);
	wire = wire_find(net);
	if (wire)
		wire_shut(wire);
	mutex_unlock(&wires_lock);
}

static struct pernet_operations wire_net_ops = {
	.exit = wire_net_exit,
};

int pinion_wire_init(void)
{
	int err;

	pinion_wire_wq = alloc_workqueue("pinion_wire", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!pinion_wire_wq)
		return -ENOMEM;
	err = register_pernet_subsys(&wire_net_ops);
	if (err)
		destroy_workqueue(pinion_wire_wq);
	return err;
}

void pinion_wire_exit(void)
{
	unregister_pernet_subsys(&wire_net_ops);
	destroy_workqueue(pinion_wire_wq);
}
