/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of the responder (responder*.c) have in common. resp.lock is held in all
 * functions.
 */
#ifndef PINION_WIRE_RESPONDER_H
#define PINION_WIRE_RESPONDER_H

#include "../logic/psn.h"
#include "../path/respond.h"
#include "conn.h"

/* responder_answers.c */

/*
 * Send @skb, made by pinion_wire_make() for @burst, to the peer. If a queue of the netdev
 * is full it is lost.
 */
void pinion_responder_send(struct pinion_conn *conn, const struct pinion_burst *burst,
			   struct sk_buff *skb);
/* Make the headers of an answer. */
struct pinion_packet pinion_responder_packet(const struct pinion_conn *conn, u8 code, u32 psn,
					     u8 syndrome);
/* An answer for packet @psn was sent. It acknowledges all packets before it, too. */
void pinion_responder_said(struct pinion_conn *conn, u32 psn);
/*
 * Send an acknowledgment or an answer without payload. It may exceed the socket's send buffer,
 * since these packets are few and small. Nothing is sent on unreliable connections. If there is no
 * memory at once, a stranger leaves it to the work item (conn->unsaid).
 */
void pinion_responder_say(struct pinion_conn *conn, const struct pinion_packet *packet);
/* Say what was left. Return: false if it is still left, as the caller is a stranger, too. */
bool pinion_responder_catch_up(struct pinion_conn *conn);
void pinion_responder_acknowledge(struct pinion_conn *conn, u32 psn, u8 syndrome);
/*
 * Send the acknowledgment that is due. It must not have the PSN of a READ or an atomic: some
 * requesters would take it for the answer.
 */
void pinion_responder_acknowledge_due(struct pinion_conn *conn);
/* Packet receiver.expected is missing: all is to be sent again from there on. */
void pinion_responder_say_lost(struct pinion_conn *conn);
/* A packet that came early is dropped: have the sender begin again at the one that is due, once. */
void pinion_responder_ask_again(struct pinion_conn *conn);
/*
 * The packet that is due had been kept, and cannot be performed: drop all that is kept, and ask for
 * the sender's own.
 */
void pinion_responder_drop_doubtful(struct pinion_conn *conn);
/*
 * Reliable: send the NAK for @verdict; if the packet is doubtful, drop what is kept instead.
 */
void pinion_responder_refuse(struct pinion_conn *conn, u32 psn, enum pinion_verdict verdict);
/* Answer a FLUSH or an ATOMIC_WRITE. */
void pinion_responder_say_done(struct pinion_conn *conn, u32 psn);
/* Remember the result of an atomic; @psn is of the packet that was performed last. */
void pinion_responder_remember(struct pinion_conn *conn, u32 psn, u64 before);
/* Answer an atomic. */
void pinion_responder_say_found(struct pinion_conn *conn, u32 psn, u64 before);
/* Answer a duplicate of an atomic with the result that is remembered, if it still is. */
void pinion_responder_say_found_again(struct pinion_conn *conn, u32 psn);

/* responder_page.c */

/*
 * Take the result of a fault that was started. Return: false if it is still running; else whether
 * to try the packet, with the result in @msg.
 */
bool pinion_responder_page_came(struct pinion_conn *conn, struct pinion_msg *msg);
/* The packet lacks a page. Note whether conn->fault was started; allocate it for the next try. */
void pinion_responder_await_page(struct pinion_conn *conn, const struct pinion_msg *msg);
/* The RNR timer for packet @psn, which lacks a page. Longer each time. */
u8 pinion_responder_page_timer(struct pinion_conn *conn, u32 psn);
/* Tell the sender to send packet @psn, and all behind it, again after @timer. */
void pinion_responder_defer(struct pinion_conn *conn, u32 psn, u8 timer);
/* Unreliable: packet @psn, which lacks a page, stays in the line until the page may be there. */
void pinion_responder_hold(struct pinion_conn *conn, u32 psn);

/* responder_message.c */

/*
 * Perform a train. Return: false if it stays in the line, to be tried again: at once, if it gave
 * way (conn->flushing).
 */
bool pinion_responder_perform(struct pinion_conn *conn, struct pinion_train *train);
/*
 * Answer a duplicate. Atomics are not performed again: the old result is sent. A READ is performed
 * again, and may ask for a rest of what it asked for before.
 */
void pinion_responder_answer_again(struct pinion_conn *conn, const struct pinion_packet *packet);

/* responder_read.c */

/* Begin to answer the READ @msg, which @packet asks for. */
void pinion_responder_read_new(struct pinion_conn *conn, struct pinion_msg *msg,
			       const struct pinion_packet *packet);
/* Likewise a duplicate, if it asks for the same memory as the original. */
void pinion_responder_read_again(struct pinion_conn *conn, struct pinion_msg *msg);
/* Send the next packets of the answer. Return: how many; 0 for a pause: the rate, or no room. */
u32 pinion_responder_give(struct pinion_conn *conn);

/* responder_early.c */

/*
 * Packet @psn, packet @i of @skb, came early: keep it and those that follow it, and tell the sender
 * which packets are missing: those right before it, and those before all that is kept, if that was
 * not told since something was performed. Return: how many packets of @skb are done.
 */
u32 pinion_responder_keep(struct pinion_conn *conn, u32 psn, struct sk_buff *skb, u32 i);

#endif
