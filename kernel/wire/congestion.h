/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Congestion of a connection's path, where routers mark packets (ECN). The receiver of marked
 * packets sends a notification (CNP), and its peer then sends more slowly (logic/rate.h).
 */
#ifndef PINION_WIRE_CONGESTION_H
#define PINION_WIRE_CONGESTION_H

#include <linux/skbuff.h>
#include <linux/spinlock.h>

#include "../logic/rate.h"

struct pinion_conn;
struct pinion_errand;
struct pinion_qp;

struct pinion_congestion {
	spinlock_t lock;		/* protects @rate; innermost, process context only */
	struct pinion_rate rate;	/* of requests and answers with payload */
	atomic64_t told;		/* time of the last notification sent, in ns; 0: never */
};

void pinion_congestion_init(struct pinion_congestion *congestion);
/* Reset, because the connection is made anew: there is no limit. */
void pinion_congestion_forget(struct pinion_conn *conn);

/*
 * @skb came from the peer. If its packets are marked, notify the peer, but not too often. The
 * holder of sq.exec or of resp.lock calls this before it processes the packets, maybe several times
 * for one buffer: only the first counts. @errand: of the calling thread, or NULL.
 */
void pinion_congestion_look(struct pinion_conn *conn, struct sk_buff *skb,
			    struct pinion_errand *errand);

/* A notification has come from the peer of @qp. */
void pinion_congestion_notified(struct pinion_qp *qp);

/*
 * How long to wait before the next packets are sent, in ns. If it is 0, *@room is set to the bytes
 * that may be sent now; one packet may in any case.
 */
u64 pinion_congestion_pause(struct pinion_conn *conn, u64 *room);
/* Count @bytes that were sent. */
void pinion_congestion_sent(struct pinion_conn *conn, u32 bytes);

#endif
