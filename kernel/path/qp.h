/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A queue pair as the data path sees it: a requester half and a responder half.
 *
 * The requester half belongs to the executor, whoever holds @sq.exec: it reads
 * work requests, performs them to the end, and completes them. The responder half
 * belongs to whoever holds @resp.lock: normally the executor of the peer.
 *
 * Attributes and state change only with both held, so either half may read them
 * under its own lock. Order: sq.exec, then resp.lock; an executor that holds its
 * own sq.exec takes the peer's resp.lock, and never a second sq.exec.
 */
#ifndef PINION_PATH_QP_H
#define PINION_PATH_QP_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "../logic/op.h"
#include "../mem/users.h"
#include "cursor.h"
#include "node.h"
#include "recvq.h"
#include "request.h"
#include "ring.h"

struct pinion_conn;
struct pinion_cq;
struct pinion_engine;
struct pinion_fault;
struct pinion_raw_qp;
struct pinion_sleepers;

/* READs and atomics under way, either way. */
#define PINION_MAX_RD_ATOMIC	128

enum pinion_awaits {
	PINION_AWAITS_NONE,
	PINION_AWAITS_OWN,
	PINION_AWAITS_PEER,
};

struct pinion_sq {
	struct mutex exec;		/* held by the executor */
	struct pinion_ring ring;
	spinlock_t post_lock;		/* kernel consumers posting, any context */
	u32 tail;			/* kernel consumers: our own copy of hdr->user_idx */
	u32 head;			/* our own copy of hdr->kern_idx */
	u32 max_sge;
	u32 max_inline;
	bool sig_all;

	/* Those from head on that were begun. */
	struct pinion_requests requests;
	u64 last_length;		/* of the payload of the last that was begun */

	u64 again;			/* ns that were waited last for a page nobody asked for */
	enum pinion_awaits awaits;	/* whose page @fault brings */
	struct pinion_fault *fault;	/* made when it is first needed */

	bool waiting;			/* until @timer or @fault says: try again */
	bool expired;			/* it does; written by pinion_qp_wake() */
	bool drain_event;		/* raise SQ_DRAINED when idle */
	atomic_t wanted;		/* how many wait to interrupt: make way */
	struct hrtimer timer;
	struct work_struct work;

	/* path/stream.c: the work item is asked to look at the ring by itself */
	bool asked;
	unsigned long pause;		/* jiffies: how long it was not asked the last time */
	unsigned long pause_end;	/* jiffies */
};

struct pinion_resp {
	struct mutex lock;		/* held by who lets a message act on the QP */
	struct pinion_recv *recv;	/* the receive request being filled */
	bool kept;			/* @recv was taken, and the message is not there (yet) */
	u32 kept_srqn;			/* XRC: of which queue it is */
	/* Of the message just being performed, and of one that lacked a page until it is back. */
	struct pinion_cursor cursor;
	u64 left;
	u64 token;			/* what it is known by; 0: not at all */
	u64 before;			/* bytes of the message in pieces that were performed */
	/* Datagrams that came too early for our memory; late.c's */
	struct list_head late;
	u32 num_late;
	struct pinion_fault *late_fault; /* if there are any */
	struct delayed_work late_work;
	bool established;		/* COMM_EST was raised */
};

struct pinion_qp {
	struct ib_qp ibqp;
	struct pinion_node *node;
	struct pinion_stats __percpu *stats;	/* the node's, or a tally's */
	/*
	 * Performs what the doorbell leaves. Of the context that made the QP, or of the node for
	 * kernel users: requests may take for ever, and no other is to wait behind them.
	 */
	struct workqueue_struct *wq;
	struct pinion_sleepers *faulter;	/* brings pages that messages lack here; likewise */
	struct pinion_users finders;	/* by number, or as a member of a group */
	bool user;
	pid_t pid;			/* of who made it; for mem/inject.h */
	struct pinion_user *owner;	/* whom verbs counts it for */
	atomic_t *waiting;		/* bytes of packets that wait for the owner's QPs */
	u8 service;			/* enum pinion_service, set by pinion_qp_init() */
	bool dying;			/* set with both locks held; nothing is armed after */
	/*
	 * The responder broke: it is deaf from now on, and its own executor is to
	 * change the state and raise @fail_event, if there is one. Set under resp.lock, never unset
	 * but by a reset.
	 */
	bool failing;
	bool untold;			/* @fail_event is still to be raised */
	enum ib_event_type fail_event;

	enum ib_qp_state state;
	struct ib_qp_attr attr;		/* as modified so far, but the state; PSNs are live */
	struct pinion_av av;		/* of attr.ah_attr */
	const struct pinion_engine *engine;	/* of a connected one, from RTR on */
	struct pinion_conn *conn;	/* what an engine to other hosts has of it, or NULL */
	u32 mtu;			/* path MTU in bytes */

	struct pinion_raw_qp *raw;	/* where its user posts instead; NULL: to the rings here */
	struct pinion_sq sq;
	bool has_sq;
	struct pinion_recvq rq;
	bool has_rq;			/* of its own */
	struct pinion_resp resp;
	struct list_head memberships;	/* UD; mcast.c's */

	/* user space: mappings, owned by verbs */
	struct rdma_user_mmap_entry *sq_mmap;
	struct rdma_user_mmap_entry *rq_mmap;
};

static inline struct pinion_qp *to_pinion_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct pinion_qp, ibqp);
}

static inline bool pinion_qp_is_reliable(const struct pinion_qp *qp)
{
	return qp->service == PINION_SVC_RC;
}

static inline bool pinion_qp_is_connected(const struct pinion_qp *qp)
{
	return qp->service != PINION_SVC_UD;
}

/*
 * The verbs layer sets node, stats, wq, faulter, user, has_sq, has_rq, the rings, sq.max_* and
 * rq.max_sge (through pinion_recvq_init), then calls this, then
 * pinion_node_add_qp(). State is RESET.
 */
int pinion_qp_init(struct pinion_qp *qp, bool sig_all);

/*
 * The end: after pinion_node_del_qp(), so no peer is inside. Stops the timer and
 * the work, frees what pinion_qp_init() allocated, not the rings. Never fails.
 */
void pinion_qp_fini(struct pinion_qp *qp);

/*
 * The whole queue pair, for who changes it or asks: its state is that of every completion
 * that was seen. Sleeps.
 */
void pinion_qp_lock(struct pinion_qp *qp);
void pinion_qp_unlock(struct pinion_qp *qp);

/*
 * Apply a modify that was validated against the present state: @attr, @mask with the new
 * state in attr->qp_state if IB_QP_STATE. @av belongs to IB_QP_AV. The queue pair is locked.
 */
void pinion_qp_modify(struct pinion_qp *qp, const struct ib_qp_attr *attr, int mask,
		      const struct pinion_av *av);
/* Unlock; the new state may flush what is posted, or let it go on. */
void pinion_qp_resume(struct pinion_qp *qp);

/*
 * A consistent copy for query_qp; sq_psn and rq_psn are the live ones. It waits for who
 * executes, and for who responds.
 */
void pinion_qp_query(struct pinion_qp *qp, struct ib_qp_attr *attr);
/* Likewise, but waits for nobody: in the middle of a change it may be of before and after. */
void pinion_qp_peek(struct pinion_qp *qp, struct ib_qp_attr *attr);

/* Of pinion_qp_fail(): a completion tells it. */
#define PINION_NO_EVENT ((enum ib_event_type)-1)

/* The responder, under resp.lock, asks for the error state and @event. */
void pinion_qp_fail(struct pinion_qp *qp, enum ib_event_type event);

/* The requester, holding sq.exec, enters the error state (or SQE). */
void pinion_qp_enter_error(struct pinion_qp *qp, enum ib_qp_state state);

/* What the queue waited for is there. Any context; something keeps @qp. */
void pinion_qp_wake(struct pinion_qp *qp);

/* What a doorbell does, and a work item in its place. sq.exec is held. */
void pinion_qp_run(struct pinion_qp *qp);

/*
 * sq.exec for something other than executing: whoever executes makes way between
 * two requests, and leaves the rest to the work item.
 */
static inline void pinion_sq_interrupt(struct pinion_sq *sq)
{
	atomic_inc(&sq->wanted);
	mutex_lock(&sq->exec);
	atomic_dec(&sq->wanted);
}

/* post.c: the doorbell method, and the ops of kernel consumers */
void pinion_qp_doorbell(struct pinion_qp *qp);
int pinion_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad_wr);
int pinion_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad_wr);

#endif
