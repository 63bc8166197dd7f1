// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Timeouts and retries: receiver not ready, no answer, drained and errored queues, depths (items
 * F1 to F10 and F13 to F24).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "event.h"
#include "transfer.h"

enum { LEN = 20000 };

static struct link link_;
static struct region a, b;

static void begin(const struct qp_cfg *cfg)
{
	link_make(&link_, cfg);
	a = region_new(LEN, 1003, ALL_ACCESS);
	b = region_new(LEN, 2017, ALL_ACCESS);
}

static struct ibv_send_wr message(struct ibv_sge *sge, uint64_t wr_id)
{
	return (struct ibv_send_wr){
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
}

static void post_message(uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(&a, 0, 1000);
	struct ibv_send_wr wr = message(&sge, wr_id);

	post(&link_.a, &wr);
}

static void post_write(uint64_t wr_id, uint64_t to, unsigned int flags)
{
	struct ibv_sge sge = sge_of(&a, 0, 1000);
	struct ibv_send_wr wr = message(&sge, wr_id);

	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = flags;
	wr.wr.rdma.remote_addr = b.base + to;
	wr.wr.rdma.rkey = b.rkey;
	post(&link_.a, &wr);
	if (to + 1000 <= LEN)
		memcpy(b.buf->want + to, a.buf->want, 1000);
}

static void receive_into(uint64_t at)
{
	struct ibv_sge sink = sge_of(&b, at, 1000);

	post_recv(&link_.b, &sink, 1, at);
}

static void works(void)
{
	transfer(&link_, &a, &b,
		 &(struct transfer){ .opcode = IBV_WR_SEND, .length = 9001 });
}

/* A sender waits for a receiver that is not ready, and sends in order when it is. */
static void f1_rnr_in_the_end(void)
{
	/* Field 14 is 1 ms. */
	struct qp_cfg cfg = { .rnr_timer = 14, .rnr_retry = 7 };
	double start;

	begin(&cfg);
	start = now();
	post_message(1);
	post_message(2);
	expect_none(link_.a.scq, 0.1);
	receive_into(0);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	expect(await(link_.b.rcq), IBV_WC_SUCCESS);
	receive_into(5000);
	CHECK_EQ(await(link_.a.scq).wr_id, 2);
	expect(await(link_.b.rcq), IBV_WC_SUCCESS);
	memcpy(b.buf->want, a.buf->want, 1000);
	memcpy(b.buf->want + 5000, a.buf->want, 1000);
	buf_check(b.buf);
	note("%.3f s", now() - start);
	works();
}

/*
 * The least time that three waits take: the kernel counts ticks, and if a processor stalls it
 * may count some of them late.
 */
#define LEAST 0.2

static double fails_after(const struct qp_cfg *cfg)
{
	double start;

	begin(cfg);
	start = now();
	post_message(3);
	expect_why(await(link_.a.scq), IBV_WC_RNR_RETRY_EXC_ERR,
		   PINION_SYN_RNR);
	end_await_state(&link_.a, IBV_QPS_ERR);
	return now() - start;
}

static long long rnr_waits(void)
{
	return device_counter_now("rnr_nak_retry_err");
}

/* A receiver that is never ready: the sender fails after the retries, and not before their time. */
static void f2_rnr_exhausted(void)
{
	/* Field 28 is 163.84 ms; the responder sets it. */
	struct qp_cfg cfg = { .rnr_timer = 28, .rnr_retry = 3 };
	long long before = rnr_waits();
	double took;

	took = fails_after(&cfg);
	note("3 retries of 164 ms: %.3f s", took);
	CHECK(took > LEAST);
	cfg.rnr_retry = -1;
	took = fails_after(&cfg);
	note("no retry: %.3f s", took);
	if (before >= 0)
		counter_await("rnr_nak_retry_err", before + 3);
	/* The receiver's QP still works. */
	link_renew(&link_);
	works();
}

/* With endless retries the sender waits until its queue pair ends. */
static void f3_rnr_for_ever(void)
{
	struct qp_cfg cfg = { .rnr_timer = 1, .rnr_retry = 7 };

	begin(&cfg);
	post_message(1);
	post_write(2, 0, IBV_SEND_SIGNALED);
	expect_none(link_.a.scq, 0.5);
	memcpy(b.buf->want, b.buf->data, 1000);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_ERR), 0);
	expect_why(await(link_.a.scq), IBV_WC_WR_FLUSH_ERR, PINION_SYN_FLUSHED);
	CHECK_EQ(await(link_.a.scq).wr_id, 2);
	/* Destroying a QP that waits must work, too. */
	link_renew(&link_);
	post_message(1);
	link_free(&link_);
}

/* With unlimited retries the waits double, up to 4 ms. */
static void f22_rnr_less_and_less(void)
{
	struct qp_cfg cfg = { .rnr_timer = 1, .rnr_retry = 7 };
	enum { DOUBLED = 9, A_SECOND = 250 };
	long long before, waits;
	double start;

	begin(&cfg);
	before = rnr_waits();
	start = now();
	post_message(1);
	expect_none(link_.a.scq, 2);
	waits = rnr_waits() - before;
	if (before >= 0) {
		note("%lld waits", waits);
		CHECK(waits > DOUBLED);
		CHECK(waits <= DOUBLED + 1 + A_SECOND * (now() - start));
	}
	receive_into(0);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	expect(await(link_.b.rcq), IBV_WC_SUCCESS);
	memcpy(b.buf->want, a.buf->want, 1000);
	works();
}

/* Without an answer a request fails after the retries, and not before their time. */
static void f4_no_answer(void)
{
	/* Field 15 is 134 ms. */
	struct qp_cfg cfg = { .timeout = 15, .retry = 3 };
	double start, took;

	begin(&cfg);
	CHECK_EQ(end_set_state(&link_.b, IBV_QPS_RESET), 0);
	start = now();
	post_write(1, 0, IBV_SEND_SIGNALED);
	post_write(2, 0, IBV_SEND_SIGNALED);
	memcpy(b.buf->want, b.buf->data, 1000);
	expect_why(await(link_.a.scq), IBV_WC_RETRY_EXC_ERR,
		   PINION_SYN_NO_RESPONSE);
	took = now() - start;
	note("3 retries of 134 ms: %.3f s", took);
	CHECK(took > LEAST);
	expect(await(link_.a.scq), IBV_WC_WR_FLUSH_ERR);
	buf_check(b.buf);

	cfg.retry = -1;
	begin(&cfg);
	CHECK_EQ(ibv_destroy_qp(link_.b.qp), 0);
	post_write(1, 0, IBV_SEND_SIGNALED);
	expect(await(link_.a.scq), IBV_WC_RETRY_EXC_ERR);
}

/* Without a timeout a request waits for an answer until its queue pair ends. */
static void f4_timeout_for_ever(void)
{
	struct qp_cfg cfg = { .timeout = -1, .retry = 1 };

	begin(&cfg);
	CHECK_EQ(end_set_state(&link_.b, IBV_QPS_RESET), 0);
	post_write(1, 0, IBV_SEND_SIGNALED);
	expect_none(link_.a.scq, 0.3);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_ERR), 0);
	expect(await(link_.a.scq), IBV_WC_WR_FLUSH_ERR);
}

/* A request waits for a peer that gets ready late, and succeeds. */
static void f5_answer_at_last(void)
{
	/* Field 19 is 2.1 s, seven times: time enough for the peer to get ready. */
	struct qp_cfg cfg = { .timeout = 19, .retry = 7 };
	struct peer peer_a, peer_b;

	end_make(&link_.a, &cfg);
	end_make(&link_.b, &cfg);
	a = region_new(LEN, 1003, ALL_ACCESS);
	b = region_new(LEN, 2017, ALL_ACCESS);
	peer_a = end_peer(&link_.a);
	peer_b = end_peer(&link_.b);
	end_init(&link_.a);
	end_connect(&link_.a, &peer_b);
	end_init(&link_.b);
	post_write(1, 0, IBV_SEND_SIGNALED);
	CHECK_EQ(end_to_rtr(&link_.b, &peer_a), 0);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	buf_check(b.buf);
}

/* All requests of a queue pair in error are flushed, in order, also those posted later. */
static void f6_flush(void)
{
	struct ibv_wc wc;
	int i;

	begin(NULL);
	for (i = 0; i < 10; i++)
		receive_into(i * 1000);
	CHECK_EQ(end_set_state(&link_.b, IBV_QPS_ERR), 0);
	for (i = 0; i < 10; i++) {
		wc = await(link_.b.rcq);
		expect_why(wc, IBV_WC_WR_FLUSH_ERR, PINION_SYN_FLUSHED);
		CHECK_EQ(wc.wr_id, i * 1000);
		CHECK_EQ(wc.qp_num, link_.b.qp->qp_num);
	}
	/* Requests that are posted in the error state are flushed at once. */
	for (i = 0; i < 10; i++) {
		receive_into(i * 1000);
		CHECK_EQ(await(link_.b.rcq).wr_id, i * 1000);
	}
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_SQD), 0);
	for (i = 0; i < 10; i++)
		post_write(i, LEN, i & 1 ? IBV_SEND_SIGNALED : 0);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_ERR), 0);
	for (i = 0; i < 20; i++) {
		if (i >= 10)
			post_write(i, LEN, i & 1 ? IBV_SEND_SIGNALED : 0);
		wc = await(link_.a.scq);
		expect_why(wc, IBV_WC_WR_FLUSH_ERR, PINION_SYN_FLUSHED);
		CHECK_EQ(wc.wr_id, i);
	}
	buf_check(b.buf);
}

/* Requests before a failed one succeed, those behind it are flushed and change nothing. */
static void f7_behind_an_error(void)
{
	struct ibv_wc wc;
	int i;

	begin(NULL);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_SQD), 0);
	for (i = 0; i < 9; i++)
		post_write(i, i == 4 ? LEN : i * 1000, IBV_SEND_SIGNALED);
	for (i = 5; i < 9; i++)
		memcpy(b.buf->want + i * 1000, b.buf->data + i * 1000, 1000);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RTS), 0);
	for (i = 0; i < 9; i++) {
		wc = await(link_.a.scq);
		expect(wc, i < 4  ? IBV_WC_SUCCESS :
			   i == 4 ? IBV_WC_REM_ACCESS_ERR :
				    IBV_WC_WR_FLUSH_ERR);
		CHECK_EQ(wc.wr_id, i);
	}
	buf_check(b.buf);
}

static void go_to_sqd(bool notify)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD,
				    .en_sqd_async_notify = notify };

	CHECK_EQ(ibv_modify_qp(link_.a.qp, &attr,
			       IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
		 0);
}

/* In SQD no request begins, an event tells that none is under way, and RTS goes on. */
static void f8_drained(void)
{
	begin(NULL);
	event_forget();
	post_write(1, 0, IBV_SEND_SIGNALED);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	go_to_sqd(true);
	CHECK(event_await(IBV_EVENT_SQ_DRAINED).element.qp == link_.a.qp);
	post_write(2, 2000, IBV_SEND_SIGNALED);
	expect_none(link_.a.scq, 0.05);
	CHECK(memcmp(b.buf->want, b.buf->data, LEN));
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RTS), 0);
	CHECK_EQ(await(link_.a.scq).wr_id, 2);
	buf_check(b.buf);
	go_to_sqd(false);
	event_none(IBV_EVENT_SQ_DRAINED, 0.05);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RTS), 0);
	works();
}

/* A request that has begun is finished before the send queue counts as drained. */
static void f9_draining(void)
{
	/* The receiver asks for 160 ms: a second message that is posted meanwhile does not begin. */
	struct qp_cfg cfg = { .rnr_timer = 28 };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	long long waits;

	begin(&cfg);
	event_forget();
	waits = device_counter("rnr_nak_retry_err");
	post_message(1);
	if (waits >= 0)
		counter_await_least("rnr_nak_retry_err", waits + 1);
	post_message(2);
	go_to_sqd(true);
	/* The first message has begun, and must be finished before the queue is drained. */
	event_none(IBV_EVENT_SQ_DRAINED, 0.05);
	CHECK_EQ(ibv_query_qp(link_.a.qp, &attr, IBV_QP_STATE, &init), 0);
	CHECK_EQ(attr.sq_draining, 1);
	receive_into(0);
	receive_into(1000);
	CHECK_EQ(await(link_.a.scq).wr_id, 1);
	event_await(IBV_EVENT_SQ_DRAINED);
	expect_none(link_.a.scq, 0.05);
	CHECK_EQ(ibv_query_qp(link_.a.qp, &attr, IBV_QP_STATE, &init), 0);
	CHECK_EQ(attr.sq_draining, 0);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RTS), 0);
	CHECK_EQ(await(link_.a.scq).wr_id, 2);
}

/* The first message to a queue pair in RTR gives an event, and only the first. */
static void f10_established(void)
{
	struct peer peer_a, peer_b;

	end_make(&link_.a, NULL);
	end_make(&link_.b, NULL);
	a = region_new(LEN, 1003, ALL_ACCESS);
	b = region_new(LEN, 2017, ALL_ACCESS);
	peer_a = end_peer(&link_.a);
	peer_b = end_peer(&link_.b);
	end_init(&link_.a);
	end_init(&link_.b);
	end_connect(&link_.a, &peer_b);
	CHECK_EQ(end_to_rtr(&link_.b, &peer_a), 0);
	event_forget();
	receive_into(0);
	post_message(1);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	CHECK(event_await(IBV_EVENT_COMM_EST).element.qp == link_.b.qp);
	expect(await(link_.b.rcq), IBV_WC_SUCCESS);
	receive_into(0);
	post_message(1);
	event_none(IBV_EVENT_COMM_EST, 0.05);
}

/* Only signaled requests complete, unless they fail or all are signaled. */
static void f13_signals(void)
{
	struct qp_cfg all = { .sig_all = true };
	int i;

	begin(NULL);
	for (i = 0; i < 20; i++)
		post_write(i, i * 900, 0);
	post_write(20, 0, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	CHECK_EQ(await(link_.a.scq).wr_id, 20);
	expect_none(link_.a.scq, 0.01);
	/* Errors complete even if unsignaled. */
	post_write(21, LEN, 0);
	CHECK_EQ(await(link_.a.scq).wr_id, 21);

	begin(&all);
	for (i = 0; i < 20; i++) {
		post_write(i, i * 900, 0);
		CHECK_EQ(await(link_.a.scq).wr_id, i);
	}
	buf_check(b.buf);
}

/* A request with a wrong sequence number, sender or receiver gets no answer and changes nothing. */
static void f14_wrong_address(void)
{
	struct qp_cfg cfg = { .timeout = 10, .retry = 1 };
	struct peer peer_a, peer_b;
	struct link other;
	int i;

	link_make(&other, &cfg);
	for (i = 0; i < 3; i++) {
		/* Packets do not contain the number of the sending QP. */
		if (i == 1 && dev.packets)
			continue;
		context("case %d", i);
		begin(&cfg);
		peer_a = end_peer(&link_.a);
		peer_b = end_peer(&link_.b);
		CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RESET), 0);
		CHECK_EQ(end_set_state(&link_.b, IBV_QPS_RESET), 0);
		end_init(&link_.a);
		end_init(&link_.b);
		/* A wrong sequence number, a wrong sender, a wrong receiver. */
		if (i == 0)
			/*
			 * One less, because an earlier number would be acknowledged as a
			 * duplicate.
			 */
			peer_a.psn = (peer_a.psn - 1) & 0xffffff;
		else if (i == 1)
			peer_a.qpn = other.a.qp->qp_num;
		else
			peer_b.qpn = other.b.qp->qp_num;
		end_connect(&link_.b, &peer_a);
		end_connect(&link_.a, &peer_b);
		post_write(1, 0, IBV_SEND_SIGNALED);
		memcpy(b.buf->want, b.buf->data, 1000);
		expect_why(await(link_.a.scq), IBV_WC_RETRY_EXC_ERR,
			   PINION_SYN_NO_RESPONSE);
		buf_check(b.buf);
		CHECK_EQ(end_state(&link_.b), IBV_QPS_RTS);
	}
}

/* An unreliable connection drops what it cannot deliver, and its sender succeeds. */
static void f15_unreliable(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UC };
	long long drops = dev.pinion ? device_counter("ud_drops") : 0;

	begin(&cfg);
	/* No receive request: the message is dropped without an error. */
	post_message(1);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	post_write(2, LEN, IBV_SEND_SIGNALED);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	if (dev.pinion)
		counter_await("ud_drops", drops + 2);
	buf_check(b.buf);
	CHECK_EQ(end_state(&link_.a), IBV_QPS_RTS);
	works();
	CHECK_EQ(ibv_destroy_qp(link_.b.qp), 0);
	post_write(3, 0, IBV_SEND_SIGNALED);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
}

/* Each time that a sender waits for a receiver is counted. */
static void f16_counters(void)
{
	long long waits = rnr_waits();
	struct qp_cfg cfg = { .rnr_timer = 14, .rnr_retry = 3 };

	if (waits < 0)
		lacks("no counters");
	begin(&cfg);
	post_message(1);
	expect(await(link_.a.scq), IBV_WC_RNR_RETRY_EXC_ERR);
	counter_await("rnr_nak_retry_err", waits + 3);
}

static const enum ibv_wr_opcode counted[] = {
	IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_FETCH_AND_ADD,
	IBV_WR_ATOMIC_CMP_AND_SWP,
};

static struct ibv_wc word(enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = sge_of(&a, 0, 8);
	uint64_t to = (b.base + 7) & ~7ULL;

	if (opcode == IBV_WR_RDMA_READ)
		return rdma(&link_.a, opcode, sge, to, b.rkey);
	return atomic_op(&link_.a, opcode, sge, to, b.rkey, 1, 2);
}

/* A responder with max_dest_rd_atomic of 0 refuses reads and atomics. */
static void f17_responder(void)
{
	struct qp_cfg none = { .dest_rd_atomic = -1 };
	struct ibv_async_event event;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counted); i++) {
		context("%s", opcode_name(counted[i]));
		link_make2(&link_, NULL, &none);
		a = region_new(LEN, 1003, ALL_ACCESS);
		b = region_new(LEN, 2017, ALL_ACCESS);
		event_forget();
		works();
		/* A write needs no such resource. */
		check_write(&link_, &a, 0, &b, 0, 1000);
		expect_why(word(counted[i]), IBV_WC_REM_INV_REQ_ERR,
			   PINION_SYN_REMOTE);
		event = event_await(IBV_EVENT_QP_REQ_ERR);
		CHECK(event.element.qp == link_.b.qp);
		end_await_state(&link_.b, IBV_QPS_ERR);
		buf_check(a.buf);
		buf_check(b.buf);
	}
}

/* With max_rd_atomic of 0 the requester fails before the peer sees anything. */
static void f17_requester(void)
{
	struct qp_cfg none = { .rd_atomic = -1 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counted); i++) {
		context("%s", opcode_name(counted[i]));
		link_make2(&link_, &none, NULL);
		a = region_new(LEN, 1003, ALL_ACCESS);
		b = region_new(LEN, 2017, ALL_ACCESS);
		works();
		expect_why(word(counted[i]), IBV_WC_LOC_QP_OP_ERR,
			   PINION_SYN_DEPTH);
		CHECK_EQ(end_state(&link_.a), IBV_QPS_ERR);
		CHECK_EQ(end_state(&link_.b), IBV_QPS_RTS);
		buf_check(a.buf);
		buf_check(b.buf);
	}
}

/* Once the completion of a failed receive can be polled, the QP is in the error state. */
static void f18_receiver(void)
{
	int i;

	begin(NULL);
	for (i = 0; i < 200; i++) {
		post_recv(&link_.b, NULL, 0, i);
		post_message(i);
		expect(await(link_.b.rcq), IBV_WC_LOC_LEN_ERR);
		CHECK_EQ(end_state(&link_.b), IBV_QPS_ERR);
		link_renew(&link_);
	}
}

/*
 * So many long writes by more queue pairs than there are processors. Those of a queue pair are one
 * list, which takes longer than the doorbell performs requests: so work items do the rest.
 */
enum { BUSY = 8, WRITES = 20, BUSY_MOST = 64 << 20 };

static struct link busy[BUSY];
static struct region busy_from, busy_to;
static size_t busy_length;

static void busy_begin(void)
{
	int i;

	busy_length = dev.packets ? 1 << 20 : 8 << 20;
	busy_from = region_new(BUSY_MOST, 0, ALL_ACCESS);
	busy_to = region_new(BUSY_MOST, 0, ALL_ACCESS);
	for (i = 0; i < BUSY; i++)
		link_make(&busy[i], NULL);
}

static void busy_post(void)
{
	struct ibv_sge sge = sge_of(&busy_from, 0, busy_length);
	struct ibv_send_wr wr[WRITES];
	int i;

	for (i = 0; i < WRITES; i++) {
		wr[i] = message(&sge, i);
		wr[i].next = i < WRITES - 1 ? &wr[i + 1] : NULL;
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		wr[i].wr.rdma.remote_addr = busy_to.base;
		wr[i].wr.rdma.rkey = busy_to.rkey;
	}
	for (i = 0; i < BUSY; i++)
		post(&busy[i].a, wr);
}

/* Wait for them all. Of how many queue pairs was one not done yet? */
static int busy_end(void)
{
	int i, done, late = 0;

	for (i = 0; i < BUSY; i++) {
		done = drain(busy[i].a.scq);
		late += done < WRITES;
		for (; done < WRITES; done++)
			expect(await(busy[i].a.scq), IBV_WC_SUCCESS);
	}
	return late;
}

static void send_after_failed_receive(void)
{
	struct ibv_sge bad = sge_of(&b, 0, 1000), sge = bad;
	struct ibv_send_wr wr = message(&sge, 7);

	bad.lkey ^= 1;
	post_recv(&link_.b, &bad, 1, 5);
	post_message(6);
	expect(await(link_.b.rcq), IBV_WC_LOC_PROT_ERR);
	post(&link_.b, &wr);
	expect(await(link_.b.scq), IBV_WC_WR_FLUSH_ERR);
}

/*
 * What is posted after the completion of a failed receive is flushed, not performed, although the
 * work item that enters the error state waits: others of its context are busy.
 */
static void f18_sends(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_RC };
	double limit;
	int waited;
	size_t i;

	busy_begin();
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		limit = now() + patience(PATIENCE);
		begin(&(struct qp_cfg){ .type = types[i] });
		for (waited = 0; waited < 2;) {
			busy_post();
			send_after_failed_receive();
			if (busy_end() >= sysconf(_SC_NPROCESSORS_ONLN))
				waited++;
			else if (busy_length < BUSY_MOST)
				busy_length *= 2;
			CHECK(now() < limit);
			link_renew(&link_);
		}
	}
}

/* SQD set again while the queue drains: the event still comes. */
static void f19_drained_once_more(void)
{
	struct qp_cfg cfg = { .rnr_timer = 14 };

	begin(&cfg);
	event_forget();
	post_message(1);
	go_to_sqd(true);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_SQD), 0);
	receive_into(0);
	CHECK_EQ(await(link_.a.scq).wr_id, 1);
	event_await(IBV_EVENT_SQ_DRAINED);
}

/* A queue pair with a shared receive queue tells once that it takes no more from it. */
static void f20_last_wqe(void)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = 8, .max_sge = 1 },
	};
	struct ibv_srq *srq = MUST(ibv_create_srq(dev.pd, &init));
	struct qp_cfg cfg = { .srq = srq };

	begin(&cfg);
	event_forget();
	CHECK_EQ(end_set_state(&link_.b, IBV_QPS_ERR), 0);
	CHECK(event_await(IBV_EVENT_QP_LAST_WQE_REACHED).element.qp ==
	      link_.b.qp);
	/* The event comes only once. */
	CHECK_EQ(end_set_state(&link_.b, IBV_QPS_ERR), 0);
	event_none(IBV_EVENT_QP_LAST_WQE_REACHED, 0.05);
}

static uint32_t psn_of(struct end *end, int which)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(end->qp, &attr, which, &init), 0);
	return which == IBV_QP_SQ_PSN ? attr.sq_psn : attr.rq_psn;
}

/*
 * Over UC a message without a receive request advances the PSN of the sender, and the receiver
 * continues with the next message.
 */
static void f21_unreliable_psn(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UC, .mtu = IBV_MTU_256 };
	long long drops = dev.pinion ? device_counter("ud_drops") : 0;
	uint32_t first;

	begin(&cfg);
	first = psn_of(&link_.a, IBV_QP_SQ_PSN);
	CHECK_EQ(psn_of(&link_.b, IBV_QP_RQ_PSN), first);
	/* 1000 bytes are four packets. */
	post_message(1);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	CHECK_EQ(psn_of(&link_.a, IBV_QP_SQ_PSN), (first + 4) & 0xffffff);
	/* By packets, which are counted each, it may arrive later than it completes. */
	if (dev.pinion)
		counter_await("ud_drops", drops + (dev.packets ? 4 : 1));
	receive_into(0);
	post_message(2);
	expect(await(link_.b.rcq), IBV_WC_SUCCESS);
	CHECK_EQ(psn_of(&link_.a, IBV_QP_SQ_PSN), (first + 8) & 0xffffff);
	CHECK_EQ(psn_of(&link_.b, IBV_QP_RQ_PSN), (first + 8) & 0xffffff);
}

/* A fenced WRITE waits for the READ before it. Both are in one list, so that they could overlap. */
static void f23_fence(void)
{
	enum { PART = LEN / 2 - 7 };
	struct ibv_sge sge;
	struct ibv_send_wr write = message(&sge, 2), read = message(&sge, 1);
	int i;

	begin(NULL);
	sge = sge_of(&a, 5, PART);
	write.opcode = IBV_WR_RDMA_WRITE;
	write.send_flags |= IBV_SEND_FENCE;
	write.wr.rdma.remote_addr = b.base;
	write.wr.rdma.rkey = b.rkey;
	read.opcode = IBV_WR_RDMA_READ;
	read.wr.rdma.remote_addr = b.base + LEN - PART;
	read.wr.rdma.rkey = b.rkey;
	read.next = &write;
	for (i = 0; i < 50; i++) {
		buf_fill(b.buf);
		post(&link_.a, &read);
		expect(await(link_.a.scq), IBV_WC_SUCCESS);
		expect(await(link_.a.scq), IBV_WC_SUCCESS);
		memcpy(a.buf->want + 5, b.buf->want + LEN - PART, PART);
		memcpy(b.buf->want, a.buf->want + 5, PART);
		buf_check(a.buf);
		buf_check(b.buf);
	}
}

/* A request fails for want of its own page, and what is behind it in the same list is flushed. */
static void f24_missing_page(void)
{
	struct ibv_send_wr wrs[3];
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	void *map;
	int i;

	need_odp();
	begin(NULL);
	map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(map != MAP_FAILED);
	mr = MUST(ibv_reg_mr(dev.pd, map, PAGE, ODP_ALL));
	CHECK_EQ(munmap(map, PAGE), 0);
	sge = (struct ibv_sge){ (uintptr_t)map, 100, mr->lkey };
	for (i = 0; i < 3; i++) {
		wrs[i] = message(&sge, i);
		wrs[i].opcode = IBV_WR_RDMA_WRITE;
		wrs[i].wr.rdma.remote_addr = b.base;
		wrs[i].wr.rdma.rkey = b.rkey;
		wrs[i].next = i < 2 ? &wrs[i + 1] : NULL;
	}
	post(&link_.a, wrs);
	for (i = 0; i < 3; i++) {
		wc = await(link_.a.scq);
		CHECK_EQ(wc.wr_id, i);
		expect(wc, i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_LOC_PROT_ERR);
	}
	buf_check(b.buf);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

static const struct test tests[] = {
	TEST(f1_rnr_in_the_end, "F1 not ready, then ready"),
	TEST(f2_rnr_exhausted, "F2 not ready, retries and time"),
	TEST(f3_rnr_for_ever, "F3 not ready, for ever"),
	TEST(f22_rnr_less_and_less, "F22 not ready, less and less often"),
	TEST(f4_no_answer, "F4 no answer, retries and time"),
	TEST(f4_timeout_for_ever, "F4 no answer, for ever"),
	TEST(f5_answer_at_last, "F5 the peer comes late"),
	TEST(f6_flush, "F6 flushed, in order"),
	TEST(f7_behind_an_error, "F7 before and behind an error"),
	TEST(f8_drained, "F8 drained"),
	TEST(f9_draining, "F9 drained, with a request begun"),
	TEST(f10_established, "F10 communication established"),
	TEST(f13_signals, "F13 signaled or not"),
	TEST(f14_wrong_address, "F14 not its peer, not its turn"),
	TEST(f15_unreliable, "F15 unreliable connections"),
	TEST(f16_counters, "F16 waits are counted"),
	TEST(f17_responder, "F17 no room for reads and atomics"),
	TEST(f17_requester, "F17 no reads and atomics at a time"),
	TEST(f18_receiver, "F18 the state of a failed receive"),
	TEST(f18_sends, "F18 sends after a failed receive"),
	TEST(f19_drained_once_more, "F19 drained, and changed meanwhile"),
	TEST(f20_last_wqe, "F20 the last receive, once"),
	TEST(f21_unreliable_psn, "F21 numbers of packets nobody took"),
	TEST(f23_fence, "F23 a fence"),
	TEST(f24_missing_page, "F24 behind one whose own page is gone"),
};

HARNESS_MAIN("Waiting, draining, flushing", tests)
