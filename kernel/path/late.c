// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The queue of datagrams that could not be delivered at once, and the work item that delivers them
 * later through the responder, in order. If the first one lacks a page, the work item has it
 * faulted and returns; it runs again when the fault is over.
 *
 * Datagrams are added under late_lock, with or without resp.lock; they are delivered and removed
 * with both. Adding to an empty queue queues the work item. While the queue is not empty, the work
 * item is pending, or is running, or will be queued by a fault or a timer.
 */
#include <linux/slab.h>

#include "../logic/pace.h"
#include "fault.h"
#include "late.h"
#include "move.h"

/* Datagrams queued for one queue pair. More are dropped, as datagrams may be. */
#define MAX_LATE	64
/* Those that each may have even beyond the limit of its user (PINION_MAX_WAITING). */
#define LATE_FLOOR	1
/* Faults for one datagram, some of them for pages that were evicted again. Then it is dropped. */
#define MAX_TRIES	256
/* Pauses before a fault is tried again that could not be started; doubled each time. */
#define AGAIN_NS	NSEC_PER_MSEC
#define AGAIN_MOST_NS	NSEC_PER_SEC
/* Datagrams delivered by one run of the work item; then other work items have their turn. */
#define TURN		64

/* resp.lock may be held while allocating: do not reclaim memory. */
#define LATE_GFP	(GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)

struct late {
	struct list_head node;		/* in resp.late */
	u32 bytes;			/* of this; counted in pinion_qp.waiting */
	int tries;
	u64 again;			/* the last pause, in ns: see AGAIN_NS */
	bool asked;			/* resp.late_fault was started for it */
	struct pinion_msg msg;
	struct pinion_av av;
	struct pinion_cursor payload;
	u8 data[];
};

static struct late *late_copy(struct pinion_msg *msg, enum pinion_moved *moved,
			      struct pinion_node *node)
{
	struct late *late;
	size_t bytes = kmalloc_size_roundup(struct_size(late, data, msg->length));
	u64 left = msg->length;

	late = kmalloc(bytes, LATE_GFP);
	if (!late)
		return NULL;
	late->bytes = bytes;
	late->tries = 0;
	late->again = 0;
	late->asked = false;
	pinion_cursor_rewind(msg->payload);
	pinion_cursor_memory(&late->payload, late->data);
	*moved = pinion_move(node, &late->payload, msg->payload, &left, &msg->missing);
	pinion_cursor_rewind(&late->payload);
	late->msg = *msg;
	late->av = *msg->av;
	late->msg.av = &late->av;
	late->msg.payload = &late->payload;
	late->msg.fault = NULL;		/* belongs to the sender */
	late->msg.late = true;
	return late;
}

/* Without late_lock the answer may be wrong in a moment. */
static bool late_has_room(const struct pinion_qp *qp)
{
	u32 num_late = READ_ONCE(qp->resp.num_late);

	if (num_late >= MAX_LATE)
		return false;
	return pinion_waiting_allows(qp->waiting, num_late < LATE_FLOOR);
}

/* @late was removed from the queue. */
static void late_free(struct pinion_qp *qp, struct late *late)
{
	pinion_waiting_add(qp->waiting, -(s64)late->bytes);
	kfree(late);
}

/* Return: false if there is no room, or @qp is being destroyed. */
static bool late_add(struct pinion_qp *qp, struct late *late)
{
	struct pinion_resp *resp = &qp->resp;

	guard(spinlock)(&resp->late_lock);
	/* pinion_qp_fini() sets @dying, then pinion_late_forget() takes the lock. */
	if (READ_ONCE(qp->dying) || !late_has_room(qp))
		return false;
	pinion_waiting_add(qp->waiting, late->bytes);
	/* The item may be pending with the delay of a datagram that is forgotten. */
	if (!resp->num_late)
		mod_delayed_work(qp->wq, &resp->late_work, 0);
	list_add_tail(&late->node, &resp->late);
	WRITE_ONCE(resp->num_late, resp->num_late + 1);
	return true;
}

enum pinion_verdict pinion_late_keep(struct pinion_qp *qp, struct pinion_msg *msg)
{
	enum pinion_moved moved;
	struct late *late;

	if (!late_has_room(qp))
		return PINION_SILENCE;
	late = late_copy(msg, &moved, qp->node);
	if (!late)
		return PINION_SILENCE;
	if (moved != PINION_MOVED) {
		kfree(late);
		return moved == PINION_MOVE_NO_SOURCE ? PINION_OWN_PAGE : PINION_OWN_FAULT;
	}
	if (late_add(qp, late))
		return PINION_ACK;
	kfree(late);
	return PINION_SILENCE;
}

static struct late *late_first(struct pinion_resp *resp)
{
	guard(spinlock)(&resp->late_lock);
	return list_first_entry_or_null(&resp->late, struct late, node);
}

static void late_drop(struct pinion_qp *qp, struct late *late)
{
	struct pinion_resp *resp = &qp->resp;

	spin_lock(&resp->late_lock);
	list_del(&late->node);
	WRITE_ONCE(resp->num_late, resp->num_late - 1);
	spin_unlock(&resp->late_lock);
	late_free(qp, late);
}

/*
 * Not called from pinion_respond(), whose message may be one of these. The work item may be waiting
 * for resp.lock; it will find none, or newer ones.
 */
void pinion_late_forget(struct pinion_qp *qp)
{
	struct pinion_resp *resp = &qp->resp;
	struct late *late, *next;
	LIST_HEAD(gone);

	pinion_half_assert(&resp->lock);
	/* All at once: senders may add as fast as they could be dropped one by one. */
	spin_lock(&resp->late_lock);
	list_splice_init(&resp->late, &gone);
	WRITE_ONCE(resp->num_late, 0);
	spin_unlock(&resp->late_lock);
	list_for_each_entry_safe(late, next, &gone, node) {
		pinion_stat_inc(qp, ud_drops);
		late_free(qp, late);
	}
	/* Leave the fault instead of waiting for it: it may never end. */
	if (resp->late_fault)
		pinion_fault_leave(resp->late_fault);
	resp->late_fault = NULL;
}

/* Called when resp.late_fault is over, whatever the result. Any context. */
static void late_wake(struct pinion_qp *qp)
{
	mod_delayed_work(qp->wq, &qp->resp.late_work, 0);
}

static void late_wake_again(struct pinion_qp *qp, struct late *late)
{
	late->again = pinion_pace_slower(late->again, AGAIN_NS, AGAIN_MOST_NS);
	queue_delayed_work(qp->wq, &qp->resp.late_work,
			   usecs_to_jiffies(late->again / NSEC_PER_USEC));
}

/*
 * @late lacks a page; msg.missing holds a reference to its pager. Start the fault. Return: false if
 * @late has been tried too often and is to be dropped.
 */
static bool late_ask(struct pinion_qp *qp, struct late *late)
{
	struct pinion_msg *msg = &late->msg;
	struct pinion_resp *resp = &qp->resp;

	if (late->tries++ == MAX_TRIES) {
		pinion_missing_put(&msg->missing);
		return false;
	}
	msg->fault_left = resp->left;
	if (!resp->late_fault)
		resp->late_fault = pinion_fault_alloc(LATE_GFP);
	late->asked = pinion_fault_start(resp->late_fault, qp->faulter, &msg->missing, resp->left);
	if (late->asked)
		pinion_fault_wait(resp->late_fault, qp, late_wake);
	else
		late_wake_again(qp, late);
	return true;
}

/*
 * resp.lock is held. Return: true if @late must wait for a page; false if it is done with. For its
 * sender it was received when it was queued, so here it is counted if it is not.
 */
static bool late_deliver(struct pinion_qp *qp, struct late *late)
{
	struct pinion_msg *msg = &late->msg;
	enum pinion_verdict verdict;

	if (late->asked) {
		/* The work item was queued for another reason. */
		if (pinion_fault_is_running(qp->resp.late_fault))
			return true;
		late->asked = false;
		msg->fault_err = pinion_fault_result(qp->resp.late_fault);
		if (msg->fault_err == -EAGAIN) {
			msg->fault_err = 0;
			late_wake_again(qp, late);
			return true;
		}
		late->again = 0;
	}
	verdict = pinion_respond(qp, msg);
	if (verdict == PINION_PEER_PAGE && late_ask(qp, late))
		return true;
	if (verdict != PINION_ACK)
		pinion_stat_inc(qp, ud_drops);
	return false;
}

/* Return: false if there is none that can be delivered now. resp.lock is held. */
static bool late_deliver_first(struct pinion_qp *qp)
{
	struct late *late = late_first(&qp->resp);

	if (!late || late_deliver(qp, late))
		return false;
	late_drop(qp, late);
	return true;
}

bool pinion_late_catch_up(struct pinion_qp *qp)
{
	struct pinion_resp *resp = &qp->resp;
	struct late *late;
	int turn;

	for (turn = 0; turn < MAX_LATE && !pinion_half_is_wanted(&resp->lock); turn++) {
		late = late_first(resp);
		/* One that lacked a page is retried by the work item only, after its pause. */
		if (!late || late->tries || !late_deliver_first(qp))
			break;
	}
	return !READ_ONCE(resp->num_late);
}

/* The work item, on the receiver's work queue. */
static void late_run(struct work_struct *work)
{
	struct pinion_qp *qp = container_of(to_delayed_work(work), struct pinion_qp,
					    resp.late_work);
	bool goes_on = true;
	int turn;

	for (turn = 0; turn < TURN && goes_on; turn++) {
		pinion_half_own(&qp->resp.lock);
		goes_on = late_deliver_first(qp);
		pinion_half_release(&qp->resp.lock);
		cond_resched();
	}
	if (goes_on)
		late_wake(qp);
}

void pinion_late_init(struct pinion_qp *qp)
{
	spin_lock_init(&qp->resp.late_lock);
	INIT_LIST_HEAD(&qp->resp.late);
	INIT_DELAYED_WORK(&qp->resp.late_work, late_run);
}

void pinion_late_stop(struct pinion_qp *qp)
{
	cancel_delayed_work_sync(&qp->resp.late_work);
}
