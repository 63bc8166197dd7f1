/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets to and from other hosts: RoCEv2 over UDP. One per network namespace, for all devices
 * that are in it.
 */
#ifndef PINION_WIRE_WIRE_H
#define PINION_WIRE_WIRE_H

#include <linux/skbuff.h>
#include <linux/workqueue.h>

#include "../logic/packet.h"
#include "../path/engine.h"

struct net;
struct sock;

struct pinion_wire {
	struct list_head node;		/* in the list of those whose namespace lives */
	u32 devices;
	struct net *net;		/* NULL: it does not any more; under RCU */
	struct sock __rcu *sock4;	/* likewise */
	struct sock __rcu *sock6;

	/* Packets that arrived, for @work: those who respond sleep. */
	struct sk_buff_head backlog;
	atomic_t backlog_bytes;
	struct work_struct work;
};

extern const struct pinion_engine pinion_wire_engine;

/*
 * That of @net, for one more device. Return: NULL without memory, or because somebody else,
 * like rdma_rxe, has the port there; *@err says what. Sleeps.
 */
struct pinion_wire *pinion_wire_open(struct net *net, int *err);
/* For one device less, which no packet finds any more. */
void pinion_wire_close(struct pinion_wire *wire);

/* What arrives is worked on there, one packet of a namespace after the other. */
extern struct workqueue_struct *pinion_wire_wq;

int pinion_wire_init(void);
void pinion_wire_exit(void);

/*
 * send.c: a packet with room for all of @packet, whose payload is to be put into it; NULL where the
 * socket has as much under way as it may, unless @forced, or there is none.
 */
struct sk_buff *pinion_wire_make(struct pinion_wire *wire, const struct pinion_av *av,
				 const struct pinion_packet *packet, bool forced);
/* The rest of it; and to where @av leads, by a way that @flow chooses. Takes @skb. */
bool pinion_wire_send(struct pinion_wire *wire, const struct pinion_av *av, u32 flow,
		      const struct pinion_packet *packet, struct sk_buff *skb);

/* receive.c: what it is, and where it says that it is from. Return: its payload, or NULL. */
const u8 *pinion_wire_parse(struct sk_buff *skb, struct pinion_av *av,
			    struct pinion_packet *packet);

/* receive.c: @skb begins with its UDP header. In softirq. Always takes it. */
void pinion_wire_arrived(struct pinion_wire *wire, struct sk_buff *skb);
void pinion_wire_receive_init(struct pinion_wire *wire);
void pinion_wire_receive_end(struct pinion_wire *wire);

#endif
