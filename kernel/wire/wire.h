/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets to and from other hosts: RoCEv2 over UDP. One per network namespace, for all devices
 * that are in it.
 */
#ifndef PINION_WIRE_WIRE_H
#define PINION_WIRE_WIRE_H

#include <linux/mutex.h>
#include <linux/skbuff.h>
#include <linux/time64.h>
#include <linux/workqueue.h>

#include "../logic/packet.h"
#include "../mem/users.h"
#include "../path/engine.h"
#include "errand.h"

struct net;
struct sock;

struct pinion_wire {
	struct list_head node;		/* in the list of those whose namespace lives */
	u32 devices;
	struct net *net;		/* NULL: it does not any more; under RCU */
	u64 cookie;			/* its namespace's */
	struct sock __rcu *sock4;	/* likewise */
	struct sock __rcu *sock6;

	/* Packets arrive in the sockets, for @work: those who respond sleep. */
	struct work_struct work;
	struct mutex turn;		/* held by who looks at what arrived, in order */
	struct pinion_users users;	/* those whose errand it is */
};

/* How long to wait for room in a socket, in ns. Where there is none any more there is no hurry. */
static inline u64 pinion_wire_pause(const struct pinion_wire *wire)
{
	return READ_ONCE(wire->net) ? 50 * NSEC_PER_USEC : NSEC_PER_SEC;
}

extern const struct pinion_engine pinion_wire_engine;

/*
 * That of @net, for one more device. Return: NULL without memory, or because somebody else,
 * like rdma_rxe, has the port there; *@err says what. Sleeps.
 */
struct pinion_wire *pinion_wire_open(struct net *net, int *err);
/* For one device less, which no packet finds any more. */
void pinion_wire_close(struct pinion_wire *wire);

/* Its socket, with a reference; NULL: there is none, or none any more. */
struct sock *pinion_wire_sock_get(struct pinion_wire *wire, bool ipv4);

/* What arrives is worked on there, one packet of a namespace after the other. */
extern struct workqueue_struct *pinion_wire_wq;

int pinion_wire_init(void);
void pinion_wire_exit(void);

/*
 * Packets that are sent as one buffer: they have the same headers and, but for the last, the same
 * payload, in fours of bytes if they are several.
 */
struct pinion_burst {
	u32 packets;
	u32 headers;			/* bytes of each, from the BTH on */
	u32 payload;			/* of each but the last */
	u32 last;			/* of the last */
};

static inline struct pinion_burst pinion_burst_of_one(const struct pinion_packet *packet)
{
	return (struct pinion_burst){
		.packets = 1,
		.headers = pinion_packet_header_bytes(packet->opcode),
		.payload = packet->payload,
		.last = packet->payload,
	};
}

/* How many packets a burst may have at most. */
u32 pinion_burst_limit(u32 headers, u32 payload);

/*
 * send.c: room for @burst; NULL where the socket has as much under way as it may, unless @forced,
 * or there is none. The payload is to be put where @payload is, then the packets.
 */
struct sk_buff *pinion_wire_make(struct pinion_wire *wire, const struct pinion_av *av,
				 const struct pinion_burst *burst, bool forced,
				 struct pinion_cursor *payload);
/* @packet is the @i th. */
void pinion_wire_put(struct sk_buff *skb, const struct pinion_burst *burst, u32 i,
		     const struct pinion_packet *packet);
/*
 * The rest of them; and to where @av leads, by a way that @flow chooses. Takes @skb. What arrives
 * then on this host may be added to @errand.
 */
bool pinion_wire_send(struct pinion_wire *wire, const struct pinion_av *av, u32 flow,
		      const struct pinion_burst *burst, struct sk_buff *skb,
		      struct pinion_errand *errand);

/*
 * receive.c: what arrives is a buffer of one packet, or of several that were sent as one: they have
 * a network header in common, and are of the same size, but for the last.
 */
u32 pinion_wire_packets(const struct sk_buff *skb);
/* What packet @i is. Return: its payload, or NULL. */
const u8 *pinion_wire_parse(const struct sk_buff *skb, u32 i, struct pinion_packet *packet);
/* How far the next packet is behind another. */
u32 pinion_wire_stride(const struct sk_buff *skb);
/* Where they say that they are from. */
bool pinion_wire_addresses(const struct sk_buff *skb, struct pinion_av *av);

/* receive.c: something is in a socket. In softirq. */
void pinion_wire_arrived(struct pinion_wire *wire);
/* Look at it here, if nobody else is about it; what that brings about is added to @errand. */
void pinion_wire_receive(struct pinion_wire *wire, struct pinion_errand *errand);
/* Leave it to the work item. Any context. */
void pinion_wire_leave(struct pinion_wire *wire);
void pinion_wire_receive_init(struct pinion_wire *wire);
void pinion_wire_receive_end(struct pinion_wire *wire);

#endif
