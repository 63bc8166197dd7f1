/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A packet to somebody on this host is in his socket before its sender is back from the network.
 * Where little was sent its sender looks at it himself, as he would over the loop; that is sooner
 * done than another thread is awake. What he has to look at is his errand.
 */
#ifndef PINION_WIRE_ERRAND_H
#define PINION_WIRE_ERRAND_H

#include <linux/sched.h>

struct pinion_wire;

struct pinion_errand {
	struct task_struct *who;	/* while a packet is given to the network */
	u32 count;
	struct pinion_wire *wires[2];	/* where something arrived meanwhile; each is kept */
	bool large;			/* more was sent than is worth the while of one thread */
};

/* Around what gives a packet of @bytes to the network, in process context. @errand: or NULL */
void pinion_errand_begin(struct pinion_errand *errand, u32 bytes);
void pinion_errand_end(struct pinion_errand *errand);

/*
 * Something is in a socket of @wire, which is there. Return: whether the thread that is interrupted
 * here does the rest. In softirq.
 */
bool pinion_errand_take(struct pinion_wire *wire);

/*
 * Do it, or leave it to who else does. No resp.lock is held, but maybe the sq.exec of one queue. A
 * bounded part is done.
 */
void pinion_errand_run(struct pinion_errand *errand);

#endif
