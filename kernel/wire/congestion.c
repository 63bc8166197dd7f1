// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sends and obeys notifications of congestion. A notification has no contents: a host that knows
 * both addresses and the number of the queue pair can forge one. The minimum interval and the
 * lowest rate limit the damage.
 */
#include <linux/limits.h>
#include <linux/timekeeping.h>
#include <net/inet_ecn.h>

#include "../path/qp.h"
#include "congestion.h"
#include "conn.h"

/* Notifications are not marked themselves, and have the class of network control. */
#define CNP_TRAFFIC_CLASS	(48 << 2 | INET_ECN_NOT_ECT)

void pinion_congestion_init(struct pinion_congestion *congestion)
{
	spin_lock_init(&congestion->lock);
	pinion_rate_init(&congestion->rate);
	atomic64_set(&congestion->told, 0);
}

/* Update qp->rate, which is read without the lock. */
static void congestion_show(struct pinion_conn *conn)
{
	const struct pinion_rate *rate = &conn->congestion.rate;

	lockdep_assert_held(&conn->congestion.lock);
	WRITE_ONCE(conn->qp->rate, rate->limited ? rate->rate : 0);
}

void pinion_congestion_forget(struct pinion_conn *conn)
{
	spin_lock(&conn->congestion.lock);
	pinion_rate_init(&conn->congestion.rate);
	congestion_show(conn);
	spin_unlock(&conn->congestion.lock);
}

/* ------------------------------------------------------------ notifications */

static void congestion_tell(struct pinion_conn *conn, struct pinion_errand *errand)
{
	struct pinion_qp *qp = conn->qp;
	const struct pinion_packet packet = {
		.opcode = PINION_OPCODE_CNP,
		.migrated = true,
		.becn = true,
		.pkey = PINION_PKEY_DEFAULT,
		.qpn = qp->attr.dest_qp_num,
	};
	struct pinion_burst burst = pinion_burst_of_one(&packet);
	struct pinion_av av = qp->av;
	/* Another class may have another route, so this is not that of the connection. */
	const struct pinion_way way = {
		.av = &av,
		.flow = pinion_conn_flow(qp),
		.errand = errand,
	};
	struct pinion_cursor none;
	enum pinion_sent sent;
	struct sk_buff *skb;

	av.traffic_class = CNP_TRAFFIC_CLASS;
	/* Whose thread this is does not matter: without memory at once it is not told. */
	skb = pinion_wire_make(conn->outlet, &av, &burst, false, GFP_NOWAIT | __GFP_NOWARN, &none);
	if (!skb)
		return;
	pinion_wire_put(skb, &burst, 0, &packet);
	sent = pinion_wire_send(qp->node->wire, &way, &burst, skb);
	if (sent == PINION_SENT)
		pinion_stat_inc(qp, np_cnp_sent);
	else if (sent == PINION_SENT_FULL)
		pinion_stat_inc(qp, tx_drops);
}

/* May a notification be sent by now? Both halves of the queue pair may call this at a time. */
static bool congestion_may_tell(struct pinion_congestion *congestion)
{
	s64 now = ktime_get_ns(), told = atomic64_read(&congestion->told);

	if (told && now < told + (s64)PINION_RATE_CUT_NS)
		return false;
	return atomic64_try_cmpxchg(&congestion->told, &told, now);
}

void pinion_congestion_look(struct pinion_conn *conn, struct sk_buff *skb,
			    struct pinion_errand *errand)
{
	u32 marked = pinion_wire_take_marks(skb);

	if (!marked)
		return;
	pinion_stat_add(conn->qp, np_ecn_marked_roce_packets, marked);
	if (congestion_may_tell(&conn->congestion))
		congestion_tell(conn, errand);
}

void pinion_congestion_notified(struct pinion_qp *qp)
{
	struct pinion_congestion *congestion = &qp->conn->congestion;
	bool obeyed;

	spin_lock(&congestion->lock);
	obeyed = pinion_rate_notified(&congestion->rate, ktime_get_ns());
	congestion_show(qp->conn);
	spin_unlock(&congestion->lock);
	if (obeyed)
		pinion_stat_inc(qp, rp_cnp_handled);
	else
		pinion_stat_inc(qp, rp_cnp_ignored);
}

/* ----------------------------------------------------------------- the rate */

u64 pinion_congestion_pause(struct pinion_conn *conn, u64 *room)
{
	struct pinion_congestion *congestion = &conn->congestion;
	u64 now, pause = 0;

	*room = U64_MAX;
	/* No lock: a notification that comes now slows down the next packets. */
	if (!READ_ONCE(conn->qp->rate))
		return 0;
	spin_lock(&congestion->lock);
	if (congestion->rate.limited) {
		now = ktime_get_ns();
		pause = pinion_rate_pause(&congestion->rate, now);
		*room = pinion_rate_room(&congestion->rate, now);
	}
	/* The limit may have ended here, or when the last packets were sent. */
	congestion_show(conn);
	spin_unlock(&congestion->lock);
	return pause;
}

void pinion_congestion_sent(struct pinion_conn *conn, u32 bytes)
{
	struct pinion_congestion *congestion = &conn->congestion;

	spin_lock(&congestion->lock);
	/* Without a limit this is called for each packet, so use a cheap clock. */
	pinion_rate_sent(&congestion->rate, bytes, congestion->rate.limited ?
			 ktime_get_ns() : ktime_get_coarse_ns());
	spin_unlock(&congestion->lock);
}
