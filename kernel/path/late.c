// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The line of datagrams that came too early for their receiver's memory, and the work item
 * that delivers them through the responder, as if they came then.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "fault.h"
#include "late.h"
#include "move.h"

/* Of one queue pair. What does not fit is lost, as datagrams may be. */
#define MAX_LATE	16
/* How many pages one may lack, one after the other: its own, and some that went again. */
#define MAX_TRIES	256
/* Until the next try after one that says nothing of the memory. */
#define AGAIN_US	1000

struct late {
	struct list_head node;		/* in resp.late, until the work item has it */
	u32 life;			/* resp.life when it came */
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

	/* The receiver's lock is held: no time to look for memory. */
	late = kmalloc(struct_size(late, data, msg->length),
		       GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!late)
		return NULL;
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

enum pinion_verdict pinion_late_keep(struct pinion_qp *qp, struct pinion_msg *msg)
{
	struct pinion_resp *resp = &qp->resp;
	enum pinion_moved moved;
	struct late *late;

	lockdep_assert_held(&resp->lock);
	if (qp->dying || resp->num_late == MAX_LATE)
		return PINION_SILENCE;
	late = late_copy(msg, &moved, qp->node);
	if (!late)
		return PINION_SILENCE;
	if (moved != PINION_MOVED) {
		kfree(late);
		return moved == PINION_MOVE_NO_SOURCE ? PINION_OWN_PAGE : PINION_OWN_FAULT;
	}
	/* Once it runs it goes on until there is none left. */
	if (!resp->late_runs) {
		if (!pinion_faulter_enter(qp->faulter)) {
			kfree(late);
			return PINION_SILENCE;
		}
		resp->late_runs = true;
		queue_work(qp->faulter->wq, &resp->late_work);
	}
	late->life = resp->life;
	list_add_tail(&late->node, &resp->late);
	resp->num_late++;
	return PINION_ACK;
}

void pinion_late_forget(struct pinion_qp *qp)
{
	struct late *late, *next;

	lockdep_assert_held(&qp->resp.lock);
	list_for_each_entry_safe(late, next, &qp->resp.late, node) {
		list_del(&late->node);
		kfree(late);
	}
	qp->resp.num_late = 0;
	/* The work item may hold one, and not the lock while it faults. */
	qp->resp.life++;
}

static struct late *late_next(struct pinion_qp *qp)
{
	struct pinion_resp *resp = &qp->resp;
	struct late *late;

	mutex_lock(&resp->lock);
	late = list_first_entry_or_null(&resp->late, struct late, node);
	if (late) {
		list_del(&late->node);
		resp->num_late--;
	} else {
		resp->late_runs = false;
		pinion_faulter_leave(qp->faulter);
	}
	mutex_unlock(&resp->lock);
	return late;
}

/* Return: whether it lacks a page, which is held on to. */
static bool late_lacks(struct pinion_qp *qp, struct late *late)
{
	enum pinion_verdict verdict = PINION_SILENCE;
	struct pinion_msg *msg = &late->msg;

	mutex_lock(&qp->resp.lock);
	if (late->life == qp->resp.life)
		verdict = pinion_respond(qp, msg);
	if (verdict == PINION_PEER_PAGE)
		msg->fault_left = qp->resp.left;
	mutex_unlock(&qp->resp.lock);
	return verdict == PINION_PEER_PAGE;
}

static void late_deliver(struct pinion_qp *qp, struct late *late)
{
	struct pinion_msg *msg = &late->msg;
	int tries;

	for (tries = 0; late_lacks(qp, late); tries++) {
		msg->fault_err = pinion_missing_fault(&msg->missing);
		if (READ_ONCE(qp->dying) || tries == MAX_TRIES)
			return;
		if (msg->fault_err == -EAGAIN) {
			msg->fault_err = 0;
			usleep_range(AGAIN_US, 2 * AGAIN_US);
		}
	}
}

/* On behalf of the receiver, whose memory it is. */
static void late_run(struct work_struct *work)
{
	struct pinion_qp *qp = container_of(work, struct pinion_qp, resp.late_work);
	struct late *late;

	while ((late = late_next(qp))) {
		late_deliver(qp, late);
		kfree(late);
		cond_resched();
	}
}

void pinion_late_init(struct pinion_qp *qp)
{
	INIT_LIST_HEAD(&qp->resp.late);
	INIT_WORK(&qp->resp.late_work, late_run);
}

void pinion_late_flush(struct pinion_qp *qp)
{
	flush_work(&qp->resp.late_work);
}
