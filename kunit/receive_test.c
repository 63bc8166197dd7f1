// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages over XRC that lack a page and are tried again. Meanwhile the shared queue that they name
 * may have ended, and another one may have its number. That happens once in 2^24 times, so here the
 * test chooses the numbers. Queues, memory and completions are this test's; the decisions are those
 * of receive.c.
 */
#include <kunit/test.h>

#include "../kernel/path/carry.h"
#include "../kernel/path/complete.h"
#include "../kernel/path/grh.h"
#include "../kernel/path/late.h"
#include "../kernel/path/move.h"
#include "../kernel/path/raw_qp.h"
#include "../kernel/path/receive.h"
#include "../kernel/path/refuse.h"
#include "../kernel/path/remote.h"

#define LENGTH	100
#define NUMBER	0x1234
#define OTHER	0x4321

/* A shared receive queue of XRC, its domain and its completion queue. */
struct queue {
	struct pinion_srq srq;
	struct pinion_cq cq;
	struct ib_pd pd;
	u32 taken;			/* receive requests */
	u32 flushed;			/* completions in error */
	u32 completed;
};

static struct receive_test {
	struct pinion_qp qp;
	struct pinion_node node;
	struct ib_xrcd xrcd;
	struct queue old, new;
	struct queue *found;		/* the one that has the number now */
	bool lacks;			/* a page */
	const struct ib_pd *used;		/* the domain of the last look-up */
	u32 wrong;			/* calls that are not for these messages */
	u8 recv[sizeof(struct pinion_recv) + sizeof(struct pinion_sge)] __aligned(8);
} *t;

/* ------------------------------------------------------------------ what receive.c calls */

static struct queue *queue_of(struct pinion_cq *cq)
{
	return container_of(cq, struct queue, cq);
}

static int hooked_take(struct pinion_srq *srq, struct pinion_recv *recv)
{
	container_of(srq, struct queue, srq)->taken++;
	recv->num_sge = 1;
	recv->length = LENGTH;
	return 0;
}

static struct pinion_srq *hooked_srq_get(struct pinion_node *node, u32 srqn)
{
	return t->found && t->found->srq.srqn == srqn ? &t->found->srq : NULL;
}

static void hooked_srq_put(struct pinion_srq *srq)
{
}

static bool hooked_recv_error(struct pinion_qp *qp, struct pinion_cq *cq, enum ib_wc_status status,
			      enum pinion_syndrome syndrome)
{
	queue_of(cq)->flushed++;
	return true;
}

static bool hooked_complete(struct pinion_cq *cq, struct pinion_cqe *cqe)
{
	queue_of(cq)->completed++;
	return true;
}

static void hooked_local(struct pinion_cursor *cursor, struct pinion_keys *keys, struct ib_pd *pd,
			 const struct pinion_sge *sge, u32 num_sge, u32 rights)
{
	*cursor = (struct pinion_cursor){ .keys = keys, .want.pd = pd };
}

static enum pinion_verdict hooked_carry(struct pinion_qp *qp, const struct pinion_target *target,
					struct pinion_msg *msg, bool read)
{
	t->used = qp->resp.cursor.want.pd;
	return t->lacks ? PINION_PEER_PAGE : PINION_ACK;
}

/* The rest is not for these messages. */
static int hooked_own_take(struct pinion_recvq *rq, struct pinion_recv *recv)
{
	t->wrong++;
	return -ENOENT;
}

static u32 hooked_count(struct pinion_recvq *rq)
{
	t->wrong++;
	return 0;
}

static enum ib_wc_status hooked_status(enum pinion_syndrome syndrome)
{
	t->wrong++;
	return IB_WC_GENERAL_ERR;
}

static enum pinion_verdict hooked_refuse(struct pinion_qp *qp, enum pinion_verdict verdict,
					 enum ib_event_type event)
{
	t->wrong++;
	return verdict;
}

static enum pinion_verdict hooked_refuse_key(struct pinion_qp *qp, enum pinion_syndrome syndrome)
{
	t->wrong++;
	return PINION_NAK_ACCESS;
}

static enum pinion_verdict hooked_remote(struct pinion_qp *qp, const struct pinion_target *target,
					 struct pinion_msg *msg)
{
	t->wrong++;
	return PINION_SILENCE;
}

static enum pinion_syndrome hooked_invalidate(struct pinion_keys *keys, struct ib_pd *pd, u32 rkey,
					      u32 qpn)
{
	t->wrong++;
	return 0;
}

static void hooked_memory(struct pinion_cursor *cursor, void *memory)
{
	t->wrong++;
}

static void hooked_grh(u8 grh[PINION_GRH_SIZE], const struct pinion_av *av, u64 length)
{
	t->wrong++;
}

static enum pinion_moved hooked_move(struct pinion_node *node, struct pinion_cursor *sink,
				     struct pinion_cursor *source, u64 *left,
				     struct pinion_missing *missing)
{
	t->wrong++;
	return PINION_MOVED;
}

static enum pinion_verdict hooked_lacks(struct pinion_qp *qp, const struct pinion_target *target,
					struct pinion_msg *msg, struct pinion_cursor *cursor)
{
	t->wrong++;
	return PINION_PEER_PAGE;
}

static void hooked_forget(struct pinion_qp *qp)
{
	t->wrong++;
}

#define pinion_srq_take hooked_take
#define pinion_srq_get hooked_srq_get
#define pinion_srq_put hooked_srq_put
#define pinion_complete_recv_error hooked_recv_error
#define pinion_complete hooked_complete
#define pinion_cursor_local hooked_local
#define pinion_carry hooked_carry
#define pinion_recvq_take hooked_own_take
#define pinion_recvq_count hooked_count
#define pinion_local_status hooked_status
#define pinion_refuse hooked_refuse
#define pinion_break hooked_refuse
#define pinion_refuse_key hooked_refuse_key
#define pinion_remote_move hooked_remote
#define pinion_key_invalidate hooked_invalidate
#define pinion_cursor_memory hooked_memory
#define pinion_grh_build hooked_grh
#define pinion_move hooked_move
#define pinion_lacks hooked_lacks
#define pinion_late_forget hooked_forget

#include "../kernel/path/receive.c"

/* ------------------------------------------------------------------------- the tests */

static void queue_begin(struct queue *queue, u32 number)
{
	queue->srq.srqn = number;
	queue->srq.ibsrq.srq_type = IB_SRQT_XRC;
	queue->srq.ibsrq.pd = &queue->pd;
	queue->srq.ibsrq.ext.cq = &queue->cq.ibcq;
	queue->srq.ibsrq.ext.xrc.xrcd = &t->xrcd;
}

static void begin(struct kunit *test, u32 other_number)
{
	struct pinion_qp *qp;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	qp = &t->qp;
	qp->node = &t->node;
	qp->service = PINION_SVC_RC;
	qp->ibqp.qp_type = IB_QPT_XRC_TGT;
	qp->ibqp.xrcd = &t->xrcd;
	qp->resp.recv = (struct pinion_recv *)t->recv;
	pinion_half_init(&qp->resp.lock);
	queue_begin(&t->old, NUMBER);
	queue_begin(&t->new, other_number);
}

/* A SEND to the queue. */
static enum pinion_verdict send_to(struct queue *queue, bool resumed)
{
	const struct pinion_target target = {
		.pd = &queue->pd,
		.recv_pd = &queue->pd,
		.srq = &queue->srq,
		.cq = &queue->cq,
		.xrc = true,
	};
	struct pinion_msg msg = {
		.opcode = PINION_OP_SEND,
		.op = pinion_op(PINION_OP_SEND),
		.service = PINION_SVC_RC,
		.xrc = true,
		.begins = true,
		.ends = true,
		.resumed = resumed,
		.length = LENGTH,
		.srqn = queue->srq.srqn,
	};

	enum pinion_verdict verdict;

	t->found = queue;
	pinion_half_own(&t->qp.resp.lock);
	verdict = pinion_receive(&t->qp, &target, &msg);
	pinion_half_release(&t->qp.resp.lock);
	return verdict;
}

static void it_goes_on_in_the_domain_of_the_queue_it_names_now(struct kunit *test)
{
	begin(test, NUMBER);
	t->lacks = true;
	KUNIT_EXPECT_EQ(test, (int)PINION_PEER_PAGE, (int)send_to(&t->old, false));
	KUNIT_EXPECT_PTR_EQ(test, t->used, &t->old.pd);
	KUNIT_EXPECT_EQ(test, (int)PINION_PEER_PAGE, (int)send_to(&t->old, true));
	KUNIT_EXPECT_PTR_EQ(test, t->used, &t->old.pd);
	/* The queue ends, and another one has its number. */
	t->lacks = false;
	KUNIT_EXPECT_EQ(test, (int)PINION_ACK, (int)send_to(&t->new, true));
	KUNIT_EXPECT_PTR_EQ(test, t->used, &t->new.pd);
	KUNIT_EXPECT_EQ(test, 1, t->old.taken + t->new.taken);
	KUNIT_EXPECT_EQ(test, 1, t->new.completed);
	KUNIT_EXPECT_EQ(test, 0, t->old.flushed + t->new.flushed + t->old.completed);
	KUNIT_EXPECT_EQ(test, 0, t->wrong);
}

/* The request that a message has taken is flushed when the next one names another queue. */
static void what_was_taken_from_another_queue_is_given_back(struct kunit *test)
{
	begin(test, OTHER);
	t->lacks = true;
	KUNIT_EXPECT_EQ(test, (int)PINION_PEER_PAGE, (int)send_to(&t->old, false));
	t->lacks = false;
	KUNIT_EXPECT_EQ(test, (int)PINION_ACK, (int)send_to(&t->new, false));
	KUNIT_EXPECT_PTR_EQ(test, t->used, &t->new.pd);
	KUNIT_EXPECT_EQ(test, 1, t->new.taken);
	KUNIT_EXPECT_EQ(test, 1, t->new.completed);
	/* send_to() lets only one queue be found: the old one has ended, which is no failure. */
	KUNIT_EXPECT_EQ(test, 0, t->old.flushed);
	/* It is still there. */
	t->lacks = true;
	KUNIT_EXPECT_EQ(test, (int)PINION_PEER_PAGE, (int)send_to(&t->old, false));
	pinion_half_own(&t->qp.resp.lock);
	pinion_give_back(&t->qp);
	pinion_half_release(&t->qp.resp.lock);
	KUNIT_EXPECT_EQ(test, 1, t->old.flushed);
	KUNIT_EXPECT_FALSE(test, t->qp.resp.recv_kept);
	KUNIT_EXPECT_EQ(test, 0, t->wrong);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(it_goes_on_in_the_domain_of_the_queue_it_names_now),
	KUNIT_CASE(what_was_taken_from_another_queue_is_given_back),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_receive",
	.test_cases = cases,
};

kunit_test_suites(&suite);
