// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The line of datagrams that came too early for their receiver's memory, and the work item
 * that delivers them through the responder, as if they came then. Where one lacks a page it is
 * left where it is, and the work item runs again when the page is there: it waits for nothing.
 */
#include <linux/slab.h>

#include "../logic/pace.h"
#include "fault.h"
#include "late.h"
#include "move.h"

/* Of one queue pair. What does not fit is lost, as datagrams may be. */
#define MAX_LATE	16
/* How many pages one may lack, one after the other: its own, and some that went again. */
#define MAX_TRIES	256
/* How long until the next try after one that says nothing of the memory; longer each time. */
#define AGAIN_NS	NSEC_PER_MSEC
#define AGAIN_MOST_NS	NSEC_PER_SEC
/* How many are delivered before others of the line of work items have their turn. */
#define TURN		64

/* The receiver's lock is held: no time to look for memory. */
#define LATE_GFP	(GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)

struct late {
	struct list_head node;		/* in resp.late */
	int tries;
	u64 again;			/* ns that were waited last after such a one */
	bool asked;			/* resp.late_fault brings what it lacks */
	struct pinion_msg msg;
	struct pinion_av av;
	struct pinion_cursor payload;
	u8 data[];
};

static struct late *late_copy(struct pinion_msg *msg, enum pinion_moved *moved,
			      struct pinion_node *node)
{
	struct late *late;
	u64 left = msg->length;

	late = kmalloc(struct_size(late, data, msg->length), LATE_GFP);
	if (!late)
		return NULL;
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
	late->msg.fault = NULL;		/* the sender's */
	late->msg.late = true;
	return late;
}

/* What the next to lack a page is going to need, too. */
static bool late_have_fault(struct pinion_resp *resp)
{
	if (!resp->late_fault)
		resp->late_fault = pinion_fault_alloc(LATE_GFP);
	return resp->late_fault;
}

enum pinion_verdict pinion_late_keep(struct pinion_qp *qp, struct pinion_msg *msg)
{
	struct pinion_resp *resp = &qp->resp;
	enum pinion_moved moved;
	struct late *late;

	lockdep_assert_held(&resp->lock);
	if (qp->dying || resp->num_late == MAX_LATE || !late_have_fault(resp))
		return PINION_SILENCE;
	late = late_copy(msg, &moved, qp->node);
	if (!late)
		return PINION_SILENCE;
	if (moved != PINION_MOVED) {
		kfree(late);
		return moved == PINION_MOVE_NO_SOURCE ? PINION_OWN_PAGE : PINION_OWN_FAULT;
	}
	if (!resp->num_late)
		queue_delayed_work(qp->wq, &resp->late_work, 0);
	list_add_tail(&late->node, &resp->late);
	resp->num_late++;
	return PINION_ACK;
}

static void late_drop(struct pinion_resp *resp, struct late *late)
{
	list_del(&late->node);
	resp->num_late--;
	kfree(late);
}

/*
 * Not by the responder, whose message may be one of them. The work item may be about to look:
 * it finds none, or those that came after.
 */
void pinion_late_forget(struct pinion_qp *qp)
{
	struct pinion_resp *resp = &qp->resp;
	struct late *late, *next;

	lockdep_assert_held(&resp->lock);
	list_for_each_entry_safe(late, next, &resp->late, node)
		late_drop(resp, late);
	/* The page may never come. */
	if (resp->late_fault)
		pinion_fault_leave(resp->late_fault);
	resp->late_fault = NULL;
}

/* The page of the first came, or nothing that says anything of it. */
static void late_wake(struct pinion_qp *qp)
{
	queue_delayed_work(qp->wq, &qp->resp.late_work, 0);
}

static void late_wake_again(struct pinion_qp *qp, struct late *late)
{
	late->again = pinion_pace_slower(late->again, AGAIN_NS, AGAIN_MOST_NS);
	queue_delayed_work(qp->wq, &qp->resp.late_work,
			   usecs_to_jiffies(late->again / NSEC_PER_USEC));
}

/* It lacks a page, which is held on to, and which is asked for. Return: whether to wait. */
static bool late_ask(struct pinion_qp *qp, struct late *late)
{
	struct pinion_msg *msg = &late->msg;
	struct pinion_resp *resp = &qp->resp;

	if (late->tries++ == MAX_TRIES) {
		pinion_missing_put(&msg->missing);
		return false;
	}
	msg->fault_left = resp->left;
	late->asked = pinion_fault_start(resp->late_fault, qp->faulter, &msg->missing, resp->left);
	if (late->asked)
		pinion_fault_wait(resp->late_fault, qp, late_wake);
	else
		late_wake_again(qp, late);
	return true;
}

/* resp.lock is held. Return: whether it waits; else it is over. */
static bool late_deliver(struct pinion_qp *qp, struct late *late)
{
	struct pinion_msg *msg = &late->msg;

	if (late->asked) {
		/* Something else had the work item run. */
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
	if (pinion_respond(qp, msg) != PINION_PEER_PAGE)
		return false;
	return late_ask(qp, late);
}

/* On behalf of the receiver, whose memory it is. */
static void late_run(struct work_struct *work)
{
	struct pinion_qp *qp = container_of(to_delayed_work(work), struct pinion_qp,
					    resp.late_work);
	struct pinion_resp *resp = &qp->resp;
	struct late *late;
	int turn;

	for (turn = 0; turn < TURN; turn++) {
		mutex_lock(&resp->lock);
		late = list_first_entry_or_null(&resp->late, struct late, node);
		if (!late || late_deliver(qp, late)) {
			mutex_unlock(&resp->lock);
			return;
		}
		late_drop(resp, late);
		mutex_unlock(&resp->lock);
		cond_resched();
	}
	late_wake(qp);
}

void pinion_late_init(struct pinion_qp *qp)
{
	INIT_LIST_HEAD(&qp->resp.late);
	INIT_DELAYED_WORK(&qp->resp.late_work, late_run);
}

void pinion_late_stop(struct pinion_qp *qp)
{
	cancel_delayed_work_sync(&qp->resp.late_work);
}
