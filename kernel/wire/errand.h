/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Errands. A packet to this host is in the receiving socket before ip_local_out() returns to its
 * sender. If little was sent, the sending thread then processes that socket itself, which is
 * faster than waking another thread. The sockets that it must process are its errand. If much was
 * sent, work items are queued, so that one thread sends while another receives; but a sender that
 * has to wait helps one that has not begun.
 */
#ifndef PINION_WIRE_ERRAND_H
#define PINION_WIRE_ERRAND_H

#include <linux/sched.h>

struct pinion_qp;
struct pinion_way;
struct pinion_wire;

struct pinion_errand_stop {
	struct pinion_wire *wire;	/* where packets arrived; holds pinion_wire.users */
	bool queued;			/* its work item was queued for them */
};

struct pinion_errand {
	const struct pinion_qp *requester;	/* whose executor has it, if reliable; or NULL */
	struct task_struct *who;	/* the sender, while it hands a packet to the network */
	u32 count;
	struct pinion_errand_stop stops[2];
	bool large;			/* much was sent: leave it to the work item */
	bool waits;			/* only what comes back lets its thread go on */
	bool lingers;			/* of a work item that looks for more packets afterwards */
};

/* Called before and after a packet of @bytes is handed to the network, in process context. */
void pinion_errand_begin(const struct pinion_way *way, u32 bytes);
void pinion_errand_end(const struct pinion_way *way);

/*
 * A packet has arrived in a socket of @wire. Called in softirq. Return: true if the thread that was
 * interrupted will process it, as its errand; else the work item has to be queued, or is running.
 */
bool pinion_errand_take(struct pinion_wire *wire);

/*
 * Was what arrives sent by the executor of a requester on this CPU, which goes on, and has it sent
 * much, also of answers to others? Called in softirq.
 */
bool pinion_errand_is_stream(void);

/*
 * Process the errand, a bounded part of it here, the rest in work items. A caller that cannot go on
 * before something comes back (@waits) also processes what work items were queued for. Sleeps. The
 * caller may hold the sq.exec of one queue, but no resp.lock.
 */
void pinion_errand_run(struct pinion_errand *errand, bool waits);
/* Leave all of it to work items, in a hurry. */
void pinion_errand_leave(struct pinion_errand *errand);

#endif
