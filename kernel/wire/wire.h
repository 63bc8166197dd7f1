/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The engine for packets: RoCEv2 over UDP. One struct pinion_wire per network namespace, for
 * all devices in it.
 */
#ifndef PINION_WIRE_WIRE_H
#define PINION_WIRE_WIRE_H

#include <linux/mutex.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "../logic/packet.h"
#include "../mem/users.h"
#include "../path/engine.h"
#include "../path/linger.h"
#include "errand.h"

struct net;
struct pinion_outlet;
struct pinion_route;
struct sock;

struct pinion_wire {
	struct list_head node;		/* in the list of wires whose namespace exists */
	u32 devices;
	struct net *net;		/* NULL: the namespace is gone. Read under RCU */
	u64 cookie;			/* of the namespace */
	/* By which packets come; they leave by outlets. NULL after the namespace is gone. */
	struct sock __rcu *sock4;
	struct sock __rcu *sock6;

	/* Processes packets that have arrived in the sockets: responders sleep. */
	struct work_struct work;
	bool taken_back;		/* it waited too long for its CPU, and was queued again */
	bool goes_on;			/* it will look at the sockets again before it ends */
	bool away;			/* its next run may linger where it is; for itself only */
	u32 overtaken;			/* the turn that it went on without; likewise */
	struct pinion_crowding crowding; /* of moves of @work */
	/* Held while packets are processed, to keep their order. Only tried, see receive.c. */
	struct mutex turn;
	u32 turns;			/* so many have begun; written with @turn held */
	wait_queue_head_t turn_ends;	/* the work item waits for it */
	struct pinion_users users;	/* errands that include this wire */

	spinlock_t routes_lock;		/* protects the list; process context only */
	struct list_head routes;	/* of all connections: struct pinion_route */

	spinlock_t outlets_lock;	/* protects the list; process context only */
	struct list_head outlets;	/* of all users: struct pinion_outlet */
};

extern const struct pinion_engine pinion_wire_engine;

/*
 * Find or make the wire of @net, and count a device. Return: NULL and a negative errno in *@err:
 * -ENOMEM, or -EADDRINUSE if somebody else, like rdma_rxe, has the UDP port there. Sleeps.
 */
struct pinion_wire *pinion_wire_open(struct net *net, int *err);
/* Count a device out, which peers cannot find any more. Frees the wire after the last one. */
void pinion_wire_close(struct pinion_wire *wire);

/*
 * Get the socket at @at, of a wire or an outlet, with a reference (sock_put()). NULL: there is none
 * (any more).
 */
struct sock *pinion_wire_sock_get(struct sock __rcu **at);

/* Runs pinion_wire.work. */
extern struct workqueue_struct *pinion_wire_wq;

int pinion_wire_init(void);
void pinion_wire_exit(void);

/*
 * A burst: packets that are sent in one buffer (GSO), all but the last with the same number of
 * bytes, the last with as many or fewer. They have headers of the same length; of two packets, the
 * second may have shorter headers. If there are several, the length of the payload is a multiple of
 * 4 bytes but for the last.
 */
struct pinion_burst {
	u32 packets;
	u32 headers;			/* bytes of each packet's headers, from the BTH on */
	u32 last_headers;		/* likewise of the last packet */
	u32 payload;			/* bytes of payload of each packet but the last */
	u32 last;			/* bytes of payload of the last packet */
	bool damaged;			/* the last packet gets a wrong ICRC (mem/inject.h) */
};

static inline struct pinion_burst pinion_burst_of_one(const struct pinion_packet *packet)
{
	u32 headers = pinion_packet_header_bytes(packet->opcode);

	return (struct pinion_burst){
		.packets = 1,
		.headers = headers,
		.last_headers = headers,
		.payload = packet->payload,
		.last = packet->payload,
	};
}

/* The burst that ends with @last, the @packets-th packet from the begin of @burst. */
static inline struct pinion_burst pinion_burst_until(struct pinion_burst burst, u32 packets,
						     const struct pinion_packet *last)
{
	burst.packets = packets;
	burst.last_headers = pinion_packet_header_bytes(last->opcode);
	burst.last = last->payload;
	return burst;
}

static inline u64 pinion_burst_payload(const struct pinion_burst *burst)
{
	return (u64)(burst->packets - 1) * burst->payload + burst->last;
}

/* The largest number of packets in a burst of about @most bytes at most; at least 1. */
u32 pinion_burst_limit(u32 headers, u32 payload, u64 most);

/*
 * send.c: allocate a buffer for @burst, as @gfp says; of several packets, without any wait. NULL if
 * the outlet's send buffer is full (unless @forced), there is no memory, or no socket. The caller
 * copies the payload to the cursor @payload, then calls pinion_wire_put() for each packet.
 */
struct sk_buff *pinion_wire_make(struct pinion_outlet *outlet, const struct pinion_av *av,
				 const struct pinion_burst *burst, bool forced, gfp_t gfp,
				 struct pinion_cursor *payload);
/* Write the headers and the pad of packet @i. */
void pinion_wire_put(struct sk_buff *skb, const struct pinion_burst *burst, u32 i,
		     const struct pinion_packet *packet);

/*
 * The flow of packets from queue pair @own to @peer, by which routers choose between paths: it is
 * the flow label of IPv6, and the source port is made from it. The address may have one, else it
 * is made of the numbers, as the core and hardware do.
 */
static inline u32 pinion_wire_flow(const struct pinion_av *av, u32 own, u32 peer)
{
	return av->flow_label & IB_GRH_FLOWLABEL_MASK ?: rdma_calc_flow_label(own, peer);
}

/* Where packets are sent. */
struct pinion_way {
	const struct pinion_av *av;
	u32 flow;			/* pinion_wire_flow() */
	struct pinion_route *route;	/* where the route is kept, or NULL */
	struct pinion_errand *errand;	/* gets what arrives on this host, or NULL */
};

enum pinion_sent {
	PINION_SENT,			/* as far as this host knows */
	PINION_SENT_NOWHERE,		/* there is no route */
	PINION_SENT_FULL,		/* a queue of the netdev was full, and has dropped it */
};

/* Write ICRCs, UDP and IP headers, and send @skb. Consumes it. */
enum pinion_sent pinion_wire_send(struct pinion_wire *wire, const struct pinion_way *way,
				  const struct pinion_burst *burst, struct sk_buff *skb);

/*
 * buffer.c: a received buffer has one packet, or several that were sent as one (GSO) or merged
 * (GRO): these have one network header, and all but the last have the same size. Return: how many.
 */
u32 pinion_wire_packets(const struct sk_buff *skb);
/* Parse packet @i. Return: its payload, or NULL if it is not valid. */
const u8 *pinion_wire_parse(const struct sk_buff *skb, u32 i, struct pinion_packet *packet);
/* Bytes from the begin of a packet to that of the next. */
u32 pinion_wire_stride(const struct sk_buff *skb);
/* How many packets routers have marked (ECN). They are not marked any more. */
u32 pinion_wire_take_marks(struct sk_buff *skb);
/*
 * Fill @av from the network header. Return: false if that is not supported, as with options; then
 * @av says whom the packet was for.
 */
bool pinion_wire_addresses(const struct sk_buff *skb, struct pinion_av *av);

/* group.c: the engine's methods; they sleep, and take RTNL. */
struct pinion_joined *pinion_group_join(struct pinion_node *node, const union ib_gid *mgid);
void pinion_group_leave(struct pinion_joined *joined);

/* receive.c: a packet has arrived in a socket. Called in softirq. */
void pinion_wire_arrived(struct pinion_wire *wire);
/* Process some packets here, unless another thread does. @errand: of the calling thread. */
void pinion_wire_receive(struct pinion_wire *wire, struct pinion_errand *errand);
/* Likewise, but only if the work item, which was queued, has not begun. */
void pinion_wire_help(struct pinion_wire *wire, struct pinion_errand *errand);
/* Queue the work item. Any context. */
void pinion_wire_leave(struct pinion_wire *wire);
void pinion_wire_receive_init(struct pinion_wire *wire);
void pinion_wire_receive_end(struct pinion_wire *wire);

#endif
