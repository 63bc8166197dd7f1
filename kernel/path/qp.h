/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A queue pair as the data path sees it: a requester half and a responder half (half.h).
 *
 * The requester half is protected by sq.exec. Its holder is the executor: it reads work requests,
 * performs and completes them. The responder half is protected by resp.lock, which is normally
 * taken by the executor of the peer.
 *
 * Attributes and state change only with both locks held, so either half may read them under its own
 * lock. The queue pair's own side takes sq.exec, then resp.lock. Those of others are only tried.
 */
#ifndef PINION_PATH_QP_H
#define PINION_PATH_QP_H

#include <linux/cache.h>
#include <linux/hrtimer.h>
#include <rdma/ib_verbs.h>

#include "../logic/op.h"
#include "../mem/users.h"
#include "cursor.h"
#include "half.h"
#include "linger.h"
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

/*
 * The limit of pinion_qp.waiting: of packets (wire/line.c) and datagrams (late.c) of one user that
 * are kept in kernel memory until a queue pair takes them. It is not charged to any process.
 */
#define PINION_MAX_WAITING	(32 << 20)
/*
 * Beyond it each queue pair may have a little, so that it makes progress although others of the
 * user do not take theirs. But he may have any number of queue pairs: this is the limit of all.
 */
#define PINION_MOST_WAITING	(256 << 20)

/* Any context, no lock. @waiting: pinion_qp.waiting, or NULL: kernel consumers have no limit. */
static inline void pinion_waiting_add(atomic64_t *waiting, s64 bytes)
{
	if (waiting)
		atomic64_add(bytes, waiting);
}

/* Do @most bytes wait, or more? */
static inline bool pinion_waiting_reaches(const atomic64_t *waiting, s64 most)
{
	return waiting && atomic64_read(waiting) >= most;
}

/* May more wait? @little: the queue pair has little so far. */
static inline bool pinion_waiting_allows(const atomic64_t *waiting, bool little)
{
	return !pinion_waiting_reaches(waiting, little ? PINION_MOST_WAITING : PINION_MAX_WAITING);
}

/* The limit of READs and atomics under way, for requester and responder. */
#define PINION_MAX_RD_ATOMIC	128

/* Whose page a send queue waits for: none, its own side's, or the peer's. */
enum pinion_awaits {
	PINION_AWAITS_NONE,
	PINION_AWAITS_OWN,
	PINION_AWAITS_PEER,
};

struct pinion_sq {
	struct pinion_half exec;	/* owned by the executor */
	struct pinion_ring ring;
	spinlock_t post_lock;		/* for posting by kernel consumers, in any context */
	u32 tail;			/* kernel consumers: private copy of hdr->user_idx */
	u32 head;			/* private copy of hdr->kern_idx */
	u32 max_sge;
	u32 max_inline;
	bool sig_all;
	u32 psn;			/* connected services: of the next request */

	struct pinion_requests requests;	/* begun and not retired, from @head on */
	struct pinion_qp *peer;		/* kept while requests are performed; peers.c */
	u64 last_length;		/* payload bytes of the request that was begun last */

	u64 again;			/* last pause for a fault or a busy peer, in ns */
	enum pinion_awaits awaits;	/* whose page @fault is for */
	struct pinion_fault *fault;	/* allocated when it is first needed */

	bool waiting;			/* parked until @timer or @fault calls pinion_qp_wake() */
	bool waits_for_peer;		/* which is not ready, or silent; for those who look */
	bool expired;			/* set by pinion_qp_wake(): try again */
	bool drain_event;		/* raise SQ_DRAINED when idle */
	struct hrtimer timer;
	struct work_struct work;	/* executes; see run.c */

	bool stint_asked;		/* used by stream.c: @work is to begin a stint */
	struct pinion_crowding crowding; /* of stints; with a window, of moves of @work */
};

struct pinion_resp {
	struct pinion_half lock;	/* owned while a message is performed on the QP */
	u32 psn;			/* connected services: of the message that is expected */
	struct pinion_recv *recv;	/* the receive request being filled */
	bool recv_kept;			/* @recv was taken, and its message is not complete */
	u32 recv_kept_srqn;		/* XRC: number of the queue it was taken from */
	/* The message being performed; or one that lacked a page, until it is tried again: */
	struct pinion_cursor cursor;	/* its position in our memory */
	u64 left;			/* bytes still to be copied */
	u64 token;			/* its number, see struct pinion_msg; 0: none */
	u64 before;			/* bytes of its earlier pieces */
	/* Datagrams that could not be delivered at once, used by late.c: */
	spinlock_t late_lock;		/* protects @late and @num_late; process context */
	struct list_head late;
	u32 num_late;
	struct pinion_fault *late_fault; /* allocated when it is first needed */
	struct delayed_work late_work;
	bool established;		/* COMM_EST was raised */
	/* The message may be anybody's, by a guessed number: drop it instead of refusing it. */
	bool doubtful;
};

struct pinion_qp {
	struct ib_qp ibqp;
	struct pinion_node *node;
	struct pinion_stats __percpu *stats;	/* the node's, or a tally's */
	/*
	 * Runs the executor's work item: the context's work queue, or the node's for kernel
	 * consumers. So users do not wait behind each other's requests.
	 */
	struct workqueue_struct *wq;
	struct pinion_sleepers *faulter;	/* faults pages of this side; likewise */
	bool user;
	pid_t pid;			/* of the process that created it; for mem/inject.h */
	struct pinion_user *owner;	/* for limits, used by verbs */
	atomic64_t *waiting;		/* bytes of packets and datagrams kept for @owner's QPs */
	u8 service;			/* enum pinion_service, set by pinion_qp_init() */
	bool dying;			/* set with both locks held; no timer is started after */
	/*
	 * The responder has broken and drops all messages. The executor will change the state
	 * and raise @fail_event. Set under resp.lock; only a reset clears it.
	 */
	bool failing;
	bool event_due;			/* @fail_event is still to be raised */
	enum ib_event_type fail_event;

	enum ib_qp_state state;
	struct ib_qp_attr attr;		/* as modified, without the state and PSNs */
	struct pinion_av av;		/* made from attr.ah_attr */
	const struct pinion_engine *engine;	/* connected services: chosen at RTR */
	struct pinion_conn *conn;	/* data of an engine to other hosts, or NULL */
	u64 rate;			/* its limit in bytes per second, to be shown; 0: none */
	u32 mtu;			/* path MTU in bytes */

	struct pinion_raw_qp *raw;	/* queues in mlx5's format are used instead; or NULL */
	bool has_sq;
	bool has_rq;			/* @rq is used; else a shared queue, or none */

	/*
	 * Written for each request, or by peers for each message: on cache lines of their own,
	 * apart from what both sides read.
	 */
	struct pinion_sq sq ____cacheline_aligned_in_smp;
	/* references of those who found it by number or group */
	struct pinion_users finders ____cacheline_aligned_in_smp;
	struct pinion_resp resp;
	struct pinion_recvq rq;

	/* of multicast groups (UD); mcast.c */
	struct list_head memberships ____cacheline_aligned_in_smp;
	struct list_head as_sender;	/* in the list of its send CQ; overflow.c */
	struct list_head as_receiver;	/* in the list of its receive CQ */

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
 * rq.max_sge (through pinion_recvq_init), then calls this, then pinion_node_add_qp(). The state is
 * RESET. Return: 0 or -ENOMEM.
 */
int pinion_qp_init(struct pinion_qp *qp, bool sig_all);

/*
 * Undo pinion_qp_init(). Called after pinion_node_del_qp(), so no peer uses @qp. Stops the timer
 * and the work item, and frees everything but the rings. Sleeps.
 */
void pinion_qp_fini(struct pinion_qp *qp);

/*
 * Take both locks, to change or to read attributes and state. If a completion in error was seen
 * before, the state is an error state already. Sleeps.
 */
void pinion_qp_lock(struct pinion_qp *qp);
void pinion_qp_unlock(struct pinion_qp *qp);

/*
 * Apply a change that was checked against the current state. @av is valid with IB_QP_AV. The
 * caller holds pinion_qp_lock(), and calls pinion_qp_resume() next.
 */
void pinion_qp_modify(struct pinion_qp *qp, const struct ib_qp_attr *attr, int mask,
		      const struct pinion_av *av);
/* Unlock, and run the executor once: the new state may flush requests, or let them go on. */
void pinion_qp_resume(struct pinion_qp *qp);

/*
 * Copy attributes and state, with both locks held: may wait for the executor and the responder.
 * sq_psn and rq_psn are the current ones.
 */
void pinion_qp_query(struct pinion_qp *qp, struct ib_qp_attr *attr);
/* Likewise without a lock: during a change some attributes may be old and some new. */
void pinion_qp_peek(struct pinion_qp *qp, struct ib_qp_attr *attr);

/* For pinion_qp_fail(): raise no event, since a completion reports the error. */
#define PINION_NO_EVENT ((enum ib_event_type)-1)

/* The responder has failed: have the executor enter the error state. resp.lock is held. */
void pinion_qp_fail(struct pinion_qp *qp, enum ib_event_type event);

/* The requester enters IB_QPS_ERR or IB_QPS_SQE. sq.exec is held. */
void pinion_qp_enter_error(struct pinion_qp *qp, enum ib_qp_state state);

#endif
