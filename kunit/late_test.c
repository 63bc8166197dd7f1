// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams that are kept for a receiver that is busy or lacks a page: they come in order, none is
 * lost below the limits, each that is lost is counted, and the queue is never left without somebody
 * who will go on. The receiver, its pages and the work item are this test's; the decisions are
 * those of late.c and respond.c.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../kernel/logic/pace.h"
#include "../kernel/path/complete.h"
#include "../kernel/path/fault.h"
#include "../kernel/path/late.h"
#include "../kernel/path/move.h"
#include "../kernel/path/receive.h"
#include "../kernel/path/refuse.h"
#include "../kernel/path/remote.h"
#include "random.h"

#define QKEY	0x1234
#define MOST	600
#define LENGTH	200

/* When the work item runs. */
enum { NEVER, NOW, LATER };

/* What becomes of a datagram. */
struct datagram {
	u32 length;
	u32 faults;			/* pages that its receiver lacks */
	bool refused;			/* there is no receive request for it */
	bool told_lost;			/* its sender knows that it is lost */
};

static struct late_test {
	struct pinion_qp qp;
	struct pinion_node node;
	struct pinion_cq cq;
	atomic64_t waiting;
	struct datagram sent[MOST];
	u32 num_sent;
	u32 received[MOST];
	u32 num_received;
	u32 damaged;			/* received with other bytes, or without the lock */
	u32 want_after;			/* the half is wanted when so many more were received */
	int work;
	struct pinion_fault fault;
	bool running;			/* @fault */
	bool no_fault;			/* none can be started now */
	int fault_err;			/* the result of the next ones */
	void (*wake)(struct pinion_qp *qp);
	struct rnd_state rnd;
	u8 data[LENGTH];
} *t;

static DEFINE_PER_CPU(struct pinion_stats, late_test_stats);

static u8 byte_of(u32 number, u32 i)
{
	return (number * 31 + i) ^ (number >> 3);
}

/* ------------------------------------------------------------ what late.c and respond.c call */

static bool hooked_schedule(struct workqueue_struct *wq, struct delayed_work *work,
			    unsigned long delay)
{
	t->work = delay ? LATER : NOW;
	return true;
}

static bool hooked_queue(struct workqueue_struct *wq, struct delayed_work *work,
			 unsigned long delay)
{
	return t->work == NEVER && hooked_schedule(wq, work, delay);
}

static struct pinion_fault *hooked_alloc(gfp_t gfp)
{
	return t->no_fault ? NULL : &t->fault;
}

static bool hooked_start(struct pinion_fault *fault, struct pinion_sleepers *faulter,
			 struct pinion_missing *missing, u64 left)
{
	if (!fault || t->no_fault)
		return false;
	/* One that runs must not be started again. */
	t->damaged += t->running;
	t->running = true;
	return true;
}

static void hooked_wait(struct pinion_fault *fault, struct pinion_qp *qp,
			void (*wake)(struct pinion_qp *qp))
{
	t->wake = wake;
}

static bool hooked_is_running(struct pinion_fault *fault)
{
	return t->running;
}

static int hooked_result(struct pinion_fault *fault)
{
	return t->fault_err;
}

static void hooked_leave(struct pinion_fault *fault)
{
	t->running = false;
	t->wake = NULL;
}

static void hooked_missing_put(struct pinion_missing *missing)
{
}

static enum pinion_verdict hooked_receive(struct pinion_qp *qp, const struct pinion_target *target,
					  struct pinion_msg *msg)
{
	const u8 *data = msg->payload->memory;
	struct datagram *datagram;
	u32 number, i;

	memcpy(&number, data, sizeof(number));
	t->damaged += !mutex_is_locked(&qp->resp.lock.lock);
	datagram = &t->sent[number];
	if (datagram->faults && msg->fault_err)
		return PINION_SILENCE;
	if (datagram->faults)
		return PINION_PEER_PAGE;
	if (datagram->refused)
		return PINION_SILENCE;
	for (i = sizeof(number); i < msg->length; i++)
		t->damaged += data[i] != byte_of(number, i);
	t->damaged += msg->length != datagram->length;
	t->received[t->num_received++] = number;
	if (t->want_after && !--t->want_after)
		pinion_half_want(&qp->resp.lock);
	return PINION_ACK;
}

/* The rest is not for datagrams. */
static enum pinion_verdict hooked_refuse(struct pinion_qp *qp, enum pinion_verdict verdict,
					 enum ib_event_type event)
{
	t->damaged++;
	return PINION_SILENCE;
}

static enum pinion_verdict hooked_refuse_key(struct pinion_qp *qp, enum pinion_syndrome syndrome)
{
	t->damaged++;
	return PINION_SILENCE;
}

static enum pinion_verdict hooked_perform(struct pinion_qp *qp, const struct pinion_target *target,
					  struct pinion_msg *msg)
{
	t->damaged++;
	return PINION_SILENCE;
}

static enum pinion_verdict hooked_give(struct pinion_qp *qp, const struct pinion_target *target,
				       struct pinion_msg *msg, struct pinion_cursor *source)
{
	t->damaged++;
	return PINION_SILENCE;
}

static enum pinion_syndrome hooked_ask(struct pinion_qp *qp, const struct pinion_target *target,
				       const struct pinion_msg *msg, u64 length)
{
	t->damaged++;
	return 0;
}

static void hooked_source(struct pinion_qp *qp, const struct pinion_target *target,
			  const struct pinion_msg *msg, struct pinion_cursor *source)
{
	t->damaged++;
}

static struct pinion_srq *hooked_srq_get(struct pinion_node *node, u32 srqn)
{
	t->damaged++;
	return NULL;
}

static void hooked_srq_put(struct pinion_srq *srq)
{
	t->damaged++;
}

static void hooked_event(struct pinion_qp *qp, enum ib_event_type type)
{
	t->damaged++;
}

#define mod_delayed_work hooked_schedule
#define queue_delayed_work hooked_queue
#define pinion_fault_alloc hooked_alloc
#define pinion_fault_start hooked_start
#define pinion_fault_wait hooked_wait
#define pinion_fault_is_running hooked_is_running
#define pinion_fault_result hooked_result
#define pinion_fault_leave hooked_leave
#define pinion_missing_put hooked_missing_put
#define pinion_receive hooked_receive
#define pinion_refuse hooked_refuse
#define pinion_refuse_key hooked_refuse_key
#define pinion_remote_perform hooked_perform
#define pinion_remote_give hooked_give
#define pinion_remote_ask hooked_ask
#define pinion_remote_source hooked_source
#define pinion_srq_get hooked_srq_get
#define pinion_srq_put hooked_srq_put
#define pinion_qp_event hooked_event

#include "../kernel/path/late.c"
#include "../kernel/path/respond.c"

/* ------------------------------------------------------------ senders, pages, the work item */

static u64 drops(void)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(late_test_stats, cpu).count[PINION_STAT_ud_drops];
	return sum;
}

static void begin(struct kunit *test)
{
	struct pinion_qp *qp;
	int cpu;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	for_each_possible_cpu(cpu)
		memset(&per_cpu(late_test_stats, cpu), 0, sizeof(struct pinion_stats));
	qp = &t->qp;
	qp->node = &t->node;
	qp->stats = &late_test_stats;
	qp->waiting = &t->waiting;
	qp->service = PINION_SVC_UD;
	qp->state = IB_QPS_RTS;
	qp->attr.qkey = QKEY;
	qp->ibqp.qp_type = IB_QPT_UD;
	qp->ibqp.recv_cq = &t->cq.ibcq;
	pinion_half_init(&qp->resp.lock);
	pinion_late_init(qp);
	random_begin(&t->rnd, 71);
}

/* As loop_deliver(): with the half @owned by another thread, or wanted, the datagram is kept. */
static enum pinion_verdict send(struct datagram datagram, bool owned)
{
	struct pinion_qp *qp = &t->qp;
	u32 number = t->num_sent++, i;
	struct pinion_cursor payload;
	struct pinion_av av = {};
	enum pinion_verdict verdict;
	struct pinion_msg msg = {
		.op = pinion_op(PINION_OP_SEND),
		.opcode = PINION_OP_SEND,
		.service = PINION_SVC_UD,
		.begins = true,
		.ends = true,
		.payload = &payload,
		.packets = 1,
		.qkey = QKEY,
		.av = &av,
	};

	datagram.length = sizeof(number) + random_below(&t->rnd, LENGTH - sizeof(number) + 1);
	t->sent[number] = datagram;
	msg.length = datagram.length;
	memcpy(t->data, &number, sizeof(number));
	for (i = sizeof(number); i < datagram.length; i++)
		t->data[i] = byte_of(number, i);
	pinion_cursor_memory(&payload, t->data);
	if (owned || !pinion_half_try(&qp->resp.lock)) {
		verdict = pinion_late_keep(qp, &msg);
	} else {
		verdict = pinion_respond(qp, &msg);
		pinion_half_release(&qp->resp.lock);
	}
	t->sent[number].told_lost = verdict == PINION_SILENCE;
	/* The sender uses its memory again. */
	memset(t->data, 0, sizeof(t->data));
	return verdict;
}

static enum pinion_verdict send_plain(bool owned)
{
	return send((struct datagram){}, owned);
}

static void run_work(void)
{
	if (t->work != NOW)
		return;
	t->work = NEVER;
	late_run(&t->qp.resp.late_work.work);
}

/* The first that waits is the only one whose page is asked for. */
static void end_fault(int err)
{
	void (*wake)(struct pinion_qp *qp) = t->wake;
	struct late *late = late_first(&t->qp.resp);
	u32 number;

	if (!t->running)
		return;
	memcpy(&number, late->data, sizeof(number));
	if (!err && t->sent[number].faults)
		t->sent[number].faults--;
	t->fault_err = err;
	t->running = false;
	t->wake = NULL;
	if (wake)
		wake(&t->qp);
}

static void forget(void)
{
	pinion_half_own(&t->qp.resp.lock);
	pinion_late_forget(&t->qp);
	pinion_half_release(&t->qp.resp.lock);
}

static void check(struct kunit *test)
{
	u32 i, told = 0;

	KUNIT_ASSERT_EQ(test, t->damaged, 0);
	for (i = 1; i < t->num_received; i++)
		KUNIT_ASSERT_LT(test, t->received[i - 1], t->received[i]);
	for (i = 0; i < t->num_sent; i++)
		told += t->sent[i].told_lost;
	/* Each one is received, waits, or is lost and counted: by its sender, or here. */
	KUNIT_ASSERT_EQ(test, t->num_sent, t->num_received + t->qp.resp.num_late + told + drops());
	KUNIT_ASSERT_EQ(test, !t->qp.resp.num_late, !atomic64_read(&t->waiting));
	/* Somebody will go on. */
	KUNIT_ASSERT_TRUE(test, !t->qp.resp.num_late || t->work != NEVER || t->running);
}

/* All pages come and time passes, until none waits. */
static void settle(struct kunit *test)
{
	u32 i;

	t->no_fault = false;
	for (i = 0; i < 20 * MOST && t->qp.resp.num_late; i++) {
		if (t->work == LATER)
			t->work = NOW;
		run_work();
		end_fault(0);
	}
	check(test);
	KUNIT_ASSERT_EQ(test, t->qp.resp.num_late, 0);
	KUNIT_ASSERT_EQ(test, atomic64_read(&t->waiting), 0);
}

static void expect_received(struct kunit *test, u32 num)
{
	u32 i;

	check(test);
	KUNIT_ASSERT_EQ(test, t->num_received, num);
	for (i = 0; i < num; i++)
		KUNIT_ASSERT_EQ(test, t->received[i], i);
}

/* ------------------------------------------------------------ tests */

static void who_gets_the_receiver_delivers_those_that_wait(struct kunit *test)
{
	u32 i;

	begin(test);
	for (i = 0; i < 10; i++)
		KUNIT_ASSERT_EQ(test, send_plain(true), PINION_ACK);
	expect_received(test, 0);
	/* The work item has not come to it yet. */
	KUNIT_ASSERT_EQ(test, send_plain(false), PINION_ACK);
	expect_received(test, 11);
	settle(test);
}

static void a_sender_leaves_the_rest_when_the_half_is_wanted(struct kunit *test)
{
	u32 i;

	begin(test);
	for (i = 0; i < 10; i++)
		KUNIT_ASSERT_EQ(test, send_plain(true), PINION_ACK);
	t->want_after = 3;
	KUNIT_ASSERT_EQ(test, send_plain(false), PINION_ACK);
	expect_received(test, 3);
	/* Nobody else gets it meanwhile. */
	KUNIT_ASSERT_EQ(test, send_plain(false), PINION_ACK);
	expect_received(test, 3);
	pinion_half_allow(&t->qp.resp.lock);
	settle(test);
	expect_received(test, 12);
}

static void none_overtakes_one_that_lacks_a_page(struct kunit *test)
{
	u32 i;

	begin(test);
	KUNIT_ASSERT_EQ(test, send((struct datagram){ .faults = 2 }, false), PINION_ACK);
	for (i = 0; i < 20; i++)
		KUNIT_ASSERT_EQ(test, send_plain(i % 3), PINION_ACK);
	run_work();
	KUNIT_EXPECT_TRUE(test, t->running);
	KUNIT_ASSERT_EQ(test, send_plain(false), PINION_ACK);
	expect_received(test, 0);
	end_fault(0);
	run_work();
	expect_received(test, 0);
	end_fault(0);
	run_work();
	expect_received(test, 22);
}

static void none_is_lost_below_the_limit(struct kunit *test)
{
	u32 i;

	begin(test);
	for (i = 0; i < MAX_LATE; i++)
		KUNIT_ASSERT_EQ(test, send_plain(true), PINION_ACK);
	KUNIT_ASSERT_EQ(test, send_plain(true), PINION_SILENCE);
	t->num_sent--;
	KUNIT_ASSERT_EQ(test, send_plain(false), PINION_ACK);
	expect_received(test, MAX_LATE + 1);
	settle(test);
	KUNIT_EXPECT_EQ(test, drops(), 0);
}

static void a_user_has_a_limit_for_all_queue_pairs(struct kunit *test)
{
	begin(test);
	/* Other queue pairs of the user have used it up. Each has one even then. */
	atomic64_set(&t->waiting, PINION_MAX_WAITING);
	KUNIT_EXPECT_EQ(test, send_plain(true), PINION_ACK);
	KUNIT_EXPECT_EQ(test, send_plain(true), PINION_SILENCE);
	atomic64_sub(PINION_MAX_WAITING, &t->waiting);
	KUNIT_EXPECT_GT(test, atomic64_read(&t->waiting), LENGTH);
	KUNIT_EXPECT_LT(test, atomic64_read(&t->waiting), PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, send_plain(true), PINION_ACK);
	settle(test);
	KUNIT_EXPECT_EQ(test, t->num_received, 2);
}

static void kernel_consumers_have_no_common_limit(struct kunit *test)
{
	u32 i;

	begin(test);
	t->qp.waiting = NULL;
	for (i = 0; i < MAX_LATE; i++)
		KUNIT_ASSERT_EQ(test, send_plain(true), PINION_ACK);
	run_work();
	run_work();
	KUNIT_EXPECT_EQ(test, t->num_received, MAX_LATE);
}

static void those_that_are_lost_later_are_counted(struct kunit *test)
{
	begin(test);
	send((struct datagram){ .refused = true }, true);
	send_plain(true);
	send((struct datagram){ .faults = 1 }, true);
	run_work();
	KUNIT_EXPECT_EQ(test, drops(), 1);
	KUNIT_EXPECT_TRUE(test, t->running);
	/* Its page cannot be brought. */
	end_fault(-EFAULT);
	run_work();
	KUNIT_EXPECT_EQ(test, drops(), 2);
	send_plain(true);
	send_plain(true);
	forget();
	KUNIT_EXPECT_EQ(test, drops(), 4);
	check(test);
	KUNIT_EXPECT_EQ(test, t->num_received, 1);
	/* Its own sender counts this one. */
	KUNIT_EXPECT_EQ(test, send((struct datagram){ .refused = true }, false), PINION_SILENCE);
	KUNIT_EXPECT_EQ(test, drops(), 4);
	settle(test);
}

static void one_that_never_gets_its_page_is_dropped(struct kunit *test)
{
	u32 i;

	begin(test);
	send((struct datagram){ .faults = U32_MAX }, false);
	send_plain(false);
	for (i = 0; i < 2 * MAX_TRIES && t->num_received < 1; i++) {
		run_work();
		end_fault(0);
	}
	check(test);
	KUNIT_EXPECT_EQ(test, t->num_received, 1);
	KUNIT_EXPECT_EQ(test, drops(), 1);
	settle(test);
}

/* One thing that may happen at any time. */
static void one_step(struct kunit *test, bool *owned)
{
	static const int errs[] = { 0, 0, 0, -EAGAIN, -EFAULT };
	struct datagram datagram = {};
	u32 before = t->qp.resp.num_late;
	bool full;

	switch (random_below(&t->rnd, 16)) {
	case 0:
		*owned = !*owned;
		break;
	case 1:
		end_fault(errs[random_below(&t->rnd, ARRAY_SIZE(errs))]);
		break;
	case 2:
		t->no_fault = random_one_in(&t->rnd, 4);
		break;
	case 3:
		if (t->work == LATER)
			t->work = NOW;
		break;
	case 4:
	case 5:
		if (!*owned)
			run_work();
		break;
	case 6:
		if (random_one_in(&t->rnd, 16))
			forget();
		break;
	default:
		if (t->num_sent == MOST)
			break;
		if (random_one_in(&t->rnd, 16))
			datagram.faults = 1 + random_below(&t->rnd, 3);
		datagram.refused = random_one_in(&t->rnd, 16);
		if (!*owned && random_one_in(&t->rnd, 4))
			t->want_after = 1 + random_below(&t->rnd, 8);
		full = before == MAX_LATE;
		if (send(datagram, *owned) == PINION_SILENCE)
			KUNIT_ASSERT_TRUE(test, full || (!*owned && datagram.refused));
		if (pinion_half_is_wanted(&t->qp.resp.lock))
			pinion_half_allow(&t->qp.resp.lock);
		t->want_after = 0;
	}
	check(test);
}

static void none_is_lost_overtaken_or_left_alone(struct kunit *test)
{
	u32 round, i, kept = 0, lost = 0;
	bool owned;

	for (round = 0; round < 40; round++) {
		begin(test);
		random_begin(&t->rnd, 100 + round);
		owned = random_one_in(&t->rnd, 2);
		for (i = 0; i < 2 * MOST; i++) {
			one_step(test, &owned);
			kept += t->qp.resp.num_late > 1;
		}
		settle(test);
		lost += drops();
		kunit_kfree(test, t);
	}
	KUNIT_EXPECT_GT(test, kept, 1000);
	KUNIT_EXPECT_GT(test, lost, 100);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(who_gets_the_receiver_delivers_those_that_wait),
	KUNIT_CASE(a_sender_leaves_the_rest_when_the_half_is_wanted),
	KUNIT_CASE(none_overtakes_one_that_lacks_a_page),
	KUNIT_CASE(none_is_lost_below_the_limit),
	KUNIT_CASE(a_user_has_a_limit_for_all_queue_pairs),
	KUNIT_CASE(kernel_consumers_have_no_common_limit),
	KUNIT_CASE(those_that_are_lost_later_are_counted),
	KUNIT_CASE(one_that_never_gets_its_page_is_dropped),
	KUNIT_CASE(none_is_lost_overtaken_or_left_alone),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_late",
	.test_cases = cases,
};

kunit_test_suites(&suite);
