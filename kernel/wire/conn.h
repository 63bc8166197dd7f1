/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A connected queue pair whose peer is on another host: what its requester half has under way,
 * and what its responder half is about. Packets for it wait in two lines, one for each half,
 * so that neither waits for the other. Of one that is not connected there is the line of requests,
 * which are datagrams.
 */
#ifndef PINION_WIRE_CONN_H
#define PINION_WIRE_CONN_H

#include <linux/hrtimer.h>

#include "../logic/receiver.h"
#include "../logic/sender.h"
#include "line.h"
#include "train.h"
#include "wire.h"

/* The most packets that a requester has under way. */
#define PINION_CONN_WINDOW	256

/* A READ that is being answered, packet by packet. */
struct pinion_reading {
	bool active;
	bool again;			/* it was answered before */
	u32 psn;			/* of the next packet */
	u32 srqn;			/* XRC */
	u32 offset;			/* of its bytes in those that were asked for */
	u32 length;			/* of all */
	struct pinion_cursor source;
};

/* What an atomic found, should it be asked again. */
struct pinion_found {
	u64 number;			/* pinion_receiver_number() of its packet */
	u64 before;
};

/* What a READ asked for, likewise. */
struct pinion_asked {
	u64 number;			/* of its first packet */
	u64 addr;
	u32 packets;
	u32 length;
	u32 rkey;
	u32 srqn;			/* XRC */
};

struct pinion_conn {
	struct pinion_qp *qp;

	/* The requester's; under sq.exec, but for the line */
	struct pinion_sender sender;
	struct pinion_line answers;
	bool attended;			/* who has sq.exec looks at the line before he goes */
	struct pinion_errand errand;	/* of who has it */
	struct pinion_request *lacking;	/* whose page sq.fault brings */
	struct hrtimer timer;
	u64 deadline;			/* ns: when to give up waiting; 0: not at all */
	u8 lateness;			/* how often it was doubled, as nothing came back */
	u32 window;			/* packets that may be under way, answers included */
	u32 una;			/* of @sender, when @window grew last */

	/* The responder's; under resp.lock, but for the line */
	struct pinion_receiver receiver;
	struct pinion_line requests;
	struct pinion_errand *bringer;	/* of who brought them: his errand, or NULL */
	struct work_struct work;	/* responds */
	struct hrtimer pause;		/* until the socket may have room again */
	bool ack_due;
	u32 ack_psn;			/* of the last packet that has no other answer */
	struct pinion_reading reading;
	/* For a page that a packet lacked: */
	struct pinion_fault *fault;
	bool asked;			/* it was asked for, */
	u32 asked_psn;			/* by that packet */
	u8 page_timer;			/* when its sender was told to come; 0: not yet */
	u32 page_psn;			/* of the packet that lacked it */

	u32 num_found;			/* of all times */
	u32 num_asked_for;		/* likewise */
	/* The last of them; no datagram is asked for again, so from here on it is not there. */
	struct pinion_found found[PINION_MAX_RD_ATOMIC];
	struct pinion_asked asked_for[PINION_MAX_RD_ATOMIC];
};

/* conn.c: the engine's methods */
struct pinion_conn *pinion_conn_attach(struct pinion_qp *qp);
void pinion_conn_detach(struct pinion_qp *qp);
void pinion_conn_modified(struct pinion_qp *qp, enum ib_qp_state before, int mask);

/*
 * @skb is for @qp, which somebody keeps, and whose conn is as @role says. Process context.
 * Return: whether it was taken.
 */
bool pinion_conn_arrived(struct pinion_qp *qp, struct sk_buff *skb, enum pinion_packet_role role,
			 struct pinion_errand *errand);

/* What its packets have in their opcodes. */
u8 pinion_conn_transport(const struct pinion_qp *qp);

/*
 * Does a packet with @av come from who @qp is connected to? One of its locks is held; or none, for
 * a glance.
 */
bool pinion_conn_is_peer(const struct pinion_qp *qp, const struct pinion_av *av);

/* requester.c: the engine's method; sq.exec is held */
enum pinion_step pinion_requester_turn(struct pinion_qp *qp, u32 tail);

/*
 * What came back is looked at for an executor who is not there; sq.exec is held. Return: false if
 * he has to come.
 */
bool pinion_requester_glance(struct pinion_qp *qp);

/* responder.c: what waits is done, up to so many packets; resp.lock is held. */
void pinion_responder_turn(struct pinion_conn *conn, int packets);
/* Nothing that came before counts any more, and nothing comes. Likewise. */
void pinion_responder_forget(struct pinion_conn *conn);

/* datagram.c: likewise */
void pinion_datagram_turn(struct pinion_conn *conn, int packets);

#endif
