// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Each injected failure (items IN1 to IN27; kernel/mem/inject.h): it happens as ordered, only to
 * its target, and leaves nothing behind.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dmabuf.h"
#include "link.h"
#include "orders.h"

enum { LENGTH = 10000 };

/* Number of keys of the device, of all users. */
static int keys_live(void)
{
	char path[128], line[512];
	int keys = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/kernel/debug/pinion/%s/keys",
		 ibv_get_device_name(dev.ctx->device));
	file = MUST(fopen(path, "re"));
	while (fgets(line, sizeof(line), file))
		keys += *line == '0';
	fclose(file);
	return keys;
}

/* KiB that this process has pinned. */
static long pinned(void)
{
	FILE *file = MUST(fopen("/proc/self/status", "re"));
	char line[256];
	long kb = -1;

	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "VmPin: %ld", &kb) == 1)
			break;
	fclose(file);
	CHECK(kb >= 0);
	return kb;
}

/* A registration fails once with @err and leaves nothing; the next one succeeds. */
static void check_refused_once(int access, int err)
{
	struct buf *buf = buf_new(LENGTH, 100);
	int keys = keys_live();
	long kb = pinned();
	struct region r;

	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, buf->length, access), err);
	CHECK_EQ(keys_live(), keys);
	CHECK_EQ(pinned(), kb);
	r = region_reg(dev.pd, buf, access);
	CHECK_EQ(keys_live(), keys + 1);
	orders_over(1);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	buf_free(buf);
}

/* A registration fails once while it pins, with the errno that was ordered. */
static void in1_pin(void)
{
	orders_begin();
	order("pin pid %d", getpid());
	check_refused_once(ALL_ACCESS, ENOMEM);
	order("pin value %d", EINTR);
	check_refused_once(ALL_ACCESS, EINTR);
}

/* A registration on demand fails once while it begins to watch its memory. */
static void in2_watch(void)
{
	need_odp();
	orders_begin();
	order("watch pid %d value %d", getpid(), ENODEV);
	check_refused_once(ODP_ALL, ENODEV);
}

/* A registration fails once while it makes its table. */
static void in3_table(void)
{
	orders_begin();
	order("table pid %d", getpid());
	check_refused_once(ALL_ACCESS, ENOMEM);
}

/* A registration, or a window, fails once while it takes its key. */
static void in4_key(void)
{
	orders_begin();
	order("key pid %d", getpid());
	check_refused_once(ALL_ACCESS, ENOMEM);
	order("key value %d", ENFILE);
	MUST_NOT(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2), ENFILE);
	orders_over(1);
}

/* A call fails once while its answer is copied, and leaves nothing. */
static void in5_copy_out(void)
{
	orders_begin();
	order("copy-out pid %d", getpid());
	MUST_NOT(ibv_create_cq(dev.ctx, 10, NULL, NULL, 0), EFAULT);
	orders_over(1);
	CHECK_EQ(
		ibv_destroy_cq(MUST(ibv_create_cq(dev.ctx, 10, NULL, NULL, 0))),
		0);
}

static void dmabuf_refused(const struct dmabuf *dmabuf, int err)
{
	int keys = keys_live();

	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, dmabuf->size, 0, dmabuf->fd,
				   ALL_ACCESS & ~IBV_ACCESS_MW_BIND),
		 err);
	CHECK_EQ(keys_live(), keys);
	dmabuf_check_unused(dmabuf);
	orders_over(1);
}

/* A registration of a dma-buf fails once while it attaches to it. */
static void in6_attach(void)
{
	struct dmabuf dmabuf;

	need_exporter();
	orders_begin();
	dmabuf = dmabuf_own(5 * PAGE, 0);
	order("attach pid %d", getpid());
	dmabuf_refused(&dmabuf, ENODEV);
	dmabuf_free(&dmabuf);
}

static struct link link_;
static struct region own, remote;

static void begin_link(const struct qp_cfg *cfg)
{
	orders_begin();
	link_make(&link_, cfg);
	own = region_new(LENGTH, 50, ALL_ACCESS);
	remote = region_new(LENGTH, 7, ALL_ACCESS);
}

static struct ibv_wc write_to(const struct region *region)
{
	return rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&own, 0, 1000),
		    region->base, region->rkey);
}

/* The link works as if nothing had happened. */
static void still_good(void)
{
	link_renew(&link_);
	exchange(&link_, &own, &remote);
}

/* A dma-buf fails once while it is mapped, at registration or after a move. */
static void in7_map(void)
{
	struct dmabuf dmabuf;
	struct region region;

	need_exporter();
	begin_link(NULL);
	dmabuf = dmabuf_own(5 * PAGE, 0);
	order("map pid %d value %d", getpid(), EIO);
	dmabuf_refused(&dmabuf, EIO);
	/* When a moved buffer is mapped again. */
	region = dmabuf_region(&dmabuf, 0, dmabuf.size, 0,
			       ALL_ACCESS & ~IBV_ACCESS_MW_BIND);
	CHECK_EQ(dmabuf_move(&dmabuf, 0), 0);
	order("map number %u value %d", region.rkey, EIO);
	expect(write_to(&region), IBV_WC_REM_ACCESS_ERR);
	orders_over(1);
	link_renew(&link_);
	expect(write_to(&region), IBV_WC_SUCCESS);
}

static struct region not_there(void)
{
	struct region region = region_new(LENGTH, 7, ODP_ALL);

	buf_forget(region.buf);
	return region;
}

/* A message fails once while it brings pages of the region that was meant. */
static void in8_fault(void)
{
	struct region region, other;

	need_odp();
	begin_link(NULL);
	region = not_there();
	other = not_there();
	order("fault number %u", region.rkey);
	expect(write_to(&other), IBV_WC_SUCCESS);
	CHECK_EQ(ordered("met"), 0);
	expect(write_to(&region), IBV_WC_REM_ACCESS_ERR);
	orders_over(1);
	link_renew(&link_);
	expect(write_to(&region), IBV_WC_SUCCESS);
}

/* EAGAIN is no error of the memory: the fault is retried until it succeeds. */
static void in9_fault_again(void)
{
	struct region region;

	need_odp();
	begin_link(NULL);
	region = not_there();
	order("fault number %u value %d count 5", region.rkey, EAGAIN);
	expect(write_to(&region), IBV_WC_SUCCESS);
	orders_over(5);
}

/* A fault takes as long as ordered. */
static void in10_fault_delay(void)
{
	struct region region;
	double begun;

	need_odp();
	begin_link(NULL);
	region = not_there();
	order("fault-delay pid %d value 300000", getpid());
	begun = now();
	expect(write_to(&region), IBV_WC_SUCCESS);
	CHECK(now() - begun >= 0.3);
	orders_over(1);
}

/* The greatest number of retries in @seconds if each pause doubles, up to one second. */
static unsigned int most_tries(double seconds)
{
	enum { DOUBLED = 10 };

	return DOUBLED + 2 + seconds;
}

/* Sends into memory that is not present. */
static void send_into(const struct region *region)
{
	struct ibv_sge mine = sge_of(&own, 0, 1000);
	struct ibv_sge sink = sge_of(region, 0, LENGTH);
	struct ibv_send_wr wr = {
		.sg_list = &mine,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (link_.a.cfg.type == IBV_QPT_UD) {
		wr.wr.ud.ah = link_.a.ah;
		wr.wr.ud.remote_qpn = link_.b.qp->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	}
	post_recv(&link_.b, &sink, 1, 1);
	post(&link_.a, &wr);
}

/* The pauses between retries grow while the fault fails; once it succeeds, the message does. */
static void asked_again(enum ibv_qp_type type)
{
	struct qp_cfg cfg = { .type = type };
	struct region region;
	unsigned int tries;
	double begun;

	begin_link(&cfg);
	region = not_there();
	order("fault number %u value %d count 0", region.rkey, EAGAIN);
	begun = now();
	send_into(&region);
	sleep(3);
	tries = ordered("failed");
	printf("# asked %u times\n", tries);
	CHECK(tries > 5);
	/* By packets the sender retries as the RNR timer says. */
	CHECK(dev.packets || tries <= most_tries(now() - begun));
	orders_off();
	expect(await(link_.b.rcq), IBV_WC_SUCCESS);
}

/* Faults that fail again and again are retried less and less often. */
static void in20_less_and_less(void)
{
	need_odp();
	asked_again(IBV_QPT_RC);
	link_free(&link_);
	asked_again(IBV_QPT_UD);
}

/* Any status can be ordered; the peer receives nothing. */
static void in11_status(void)
{
	enum ibv_wc_status status;

	begin_link(NULL);
	for (status = IBV_WC_LOC_LEN_ERR; status <= IBV_WC_GENERAL_ERR;
	     status++) {
		order("status number %u value %d", link_.a.qp->qp_num, status);
		buf_fill(own.buf);
		expect(write_to(&remote), status);
		end_await_state(&link_.a, IBV_QPS_ERR);
		buf_check(remote.buf);
		orders_over(1);
		still_good();
	}
}

/* An order takes effect the third time. */
static void in12_third(void)
{
	int i;

	begin_link(NULL);
	order("status number %u value %d skip 2", link_.a.qp->qp_num,
	      IBV_WC_REM_OP_ERR);
	for (i = 0; i < 2; i++)
		expect(write_to(&remote), IBV_WC_SUCCESS);
	expect(write_to(&remote), IBV_WC_REM_OP_ERR);
	CHECK_EQ(ordered("met"), 3);
	orders_over(1);
	still_good();
}

static void async_is(enum ibv_event_type type)
{
	struct ibv_async_event event;

	CHECK_EQ(ibv_get_async_event(dev.ctx, &event), 0);
	CHECK_EQ(event.event_type, type);
	ibv_ack_async_event(&event);
}

/* A queue pair breaks with the event and flushes its request. */
static void in13_fatal(void)
{
	begin_link(NULL);
	order("fatal number %u", link_.a.qp->qp_num);
	expect(write_to(&remote), IBV_WC_WR_FLUSH_ERR);
	end_await_state(&link_.a, IBV_QPS_ERR);
	async_is(IBV_EVENT_QP_FATAL);
	orders_over(1);
	still_good();
}

/* A completion comes as late as ordered. */
static void in14_late(void)
{
	double begun;

	begin_link(NULL);
	order("late number %u value 300000", link_.a.qp->qp_num);
	begun = now();
	expect(write_to(&remote), IBV_WC_SUCCESS);
	CHECK(now() - begun >= 0.3);
	orders_over(1);
	still_good();
}

/* Lost requests are repeated, or fail after the retries. */
static void in15_loss(void)
{
	struct qp_cfg cfg = { .timeout = 8, .retry = 3 };

	begin_link(&cfg);
	order("loss number %u count 3", link_.a.qp->qp_num);
	expect(write_to(&remote), IBV_WC_SUCCESS);
	orders_over(3);
	order("loss number %u count 0", link_.a.qp->qp_num);
	expect(write_to(&remote), IBV_WC_RETRY_EXC_ERR);
	orders_over(4);
	still_good();
}

/* A receiver that is said not to be ready: the sender retries, or fails. */
static void in16_rnr(void)
{
	struct qp_cfg cfg = { .rnr_retry = 2 };

	begin_link(&cfg);
	order("rnr number %u count 2", link_.a.qp->qp_num);
	expect(write_to(&remote), IBV_WC_SUCCESS);
	orders_over(2);
	order("rnr number %u count 0", link_.a.qp->qp_num);
	expect(write_to(&remote), IBV_WC_RNR_RETRY_EXC_ERR);
	orders_over(3);
	still_good();
}

/* A completion queue overflows although it has room. */
static void in17_overflow(void)
{
	begin_link(NULL);
	order("overflow number %u", link_.a.qp->qp_num);
	post_rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&own, 0, 1000),
		  remote.base, remote.rkey, 0);
	async_is(IBV_EVENT_CQ_ERR);
	end_await_state(&link_.a, IBV_QPS_ERR);
	orders_over(1);
}

static void of_another(void *arg)
{
	struct ibv_context *ctx = MUST(device_another());
	struct ibv_pd *pd = MUST(ibv_alloc_pd(ctx));
	char *memory = MUST(aligned_alloc(PAGE, PAGE));

	(void)arg;
	MUST(ibv_reg_mr(pd, memory, PAGE, IBV_ACCESS_LOCAL_WRITE));
}

/* An order for one process does not affect another. */
static void in18_pid(void)
{
	struct buf *buf;

	orders_begin();
	buf = buf_new(LENGTH, 0);
	order("pin pid %d", getpid());
	reap_ok(spawn(of_another, NULL));
	CHECK_EQ(ordered("met"), 0);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, buf->length, ALL_ACCESS),
		 ENOMEM);
	orders_over(1);
}

static void give_orders(void *arg)
{
	(void)arg;
	CHECK_EQ(setuid(65534), 0);
	CHECK_EQ(open(ORDERS, O_RDONLY), -1);
	CHECK_EQ(errno, EACCES);
	CHECK_EQ(orders_try("off"), EACCES);
}

/* Only root gives orders, and wrong ones are refused. */
static void in19_root(void)
{
	orders_begin();
	CHECK_EQ(orders_try("pin pid x"), EINVAL);
	CHECK_EQ(orders_try("nothing"), EINVAL);
	reap_ok(spawn(give_orders, NULL));
}

/*
 * Response packets are lost, too: a READ, which by packets is many requests, repeats each, and
 * all bytes arrive.
 */
static void in22_lost_answers(int rd_atomic)
{
	/* A small MTU, because a large one makes few buffers, each of which is lost as a whole. */
	struct qp_cfg cfg = {
		.mtu = IBV_MTU_256,
		.timeout = 18,
		.rd_atomic = rd_atomic,
		.dest_rd_atomic = rd_atomic,
	};
	enum { LONG = 2 << 20 };
	struct region to, from;

	orders_begin();
	if (!dev.packets)
		skip("no packets to peers on this host");
	link_make(&link_, &cfg);
	to = region_new(LONG + 100, 50, ALL_ACCESS);
	from = region_new(LONG + 100, 7, ALL_ACCESS);
	order("loss number %u percent 6 seed 7 count 0", link_.b.qp->qp_num);
	check_read(&link_, &to, 33, &from, 66, LONG);
	CHECK(ordered("failed") > 10);
	orders_off();
	check_read(&link_, &to, 0, &from, 0, LONG + 100);
}

/* A READ whose response is lost is repeated also in SQD, in which no request may begin. */
static void in23_none_any_more(void)
{
	struct qp_cfg cfg = { .timeout = 17 };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct ibv_send_wr wr = {
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_sge sge;

	begin_link(&cfg);
	if (!dev.packets)
		skip("no packets to peers on this host");
	sge = sge_of(&own, 0, 5000);
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = remote.base;
	wr.wr.rdma.rkey = remote.rkey;
	order("loss number %u", link_.b.qp->qp_num);
	post(&link_.a, &wr);
	CHECK_EQ(ibv_modify_qp(link_.a.qp, &attr, IBV_QP_STATE), 0);
	attr.max_rd_atomic = 0;
	CHECK_EQ(ibv_modify_qp(link_.a.qp, &attr,
			       IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC),
		 0);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	CHECK(!memcmp(own.buf->data, remote.buf->data, 5000));
	orders_over(1);
}

/* A repeated atomic gets the same response, and is not executed again. */
static void in24_atomics(void)
{
	struct qp_cfg cfg = { .timeout = 12 };
	uint64_t sum, found;
	struct region word;
	int i;

	begin_link(&cfg);
	if (!dev.packets)
		skip("no packets to peers on this host");
	word = region_reg(dev.pd, buf_new(8, 64), ALL_ACCESS);
	memcpy(&sum, word.buf->want, 8);
	order("loss number %u percent 30 seed 5 count 0", link_.b.qp->qp_num);
	for (i = 1; i <= 100; i++) {
		expect(atomic_op(&link_.a, IBV_WR_ATOMIC_FETCH_AND_ADD,
				 sge_of(&own, 8, 8), word.base, word.rkey, i,
				 0),
		       IBV_WC_SUCCESS);
		memcpy(&found, own.buf->data + 8, 8);
		CHECK_EQ(found, sum);
		sum += i;
	}
	CHECK(ordered("failed") > 10);
	orders_off();
	memcpy(word.buf->want, &sum, 8);
	buf_check(word.buf);
}

/*
 * A sender of packets gets RNR NAKs for a page that is not present, with growing pauses, so that
 * few retries suffice. On a slow machine they are fewer.
 */
static void in25_slow_page(void)
{
	enum { PAUSE_US = 500000, MOST = 24 };
	struct region region;
	long long before;

	need_odp();
	begin_link(NULL);
	if (!dev.packets)
		skip("no packets to peers on this host");
	region = not_there();
	before = device_counter("rnr_nak_retry_err");
	order("fault-delay number %u value %d", region.rkey, PAUSE_US);
	expect(write_to(&region), IBV_WC_SUCCESS);
	orders_over(1);
	/* The kernel refreshes counters only some times a second. */
	usleep(20000);
	CHECK(device_counter("rnr_nak_retry_err") > before);
	CHECK(device_counter("rnr_nak_retry_err") <= before + MOST);

	buf_forget(region.buf);
	before = device_counter("rnr_nak_retry_err");
	order("fault-delay number %u value %d", region.rkey, PAUSE_US);
	expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&own, 0, 1000),
		    region.base, region.rkey),
	       IBV_WC_SUCCESS);
	orders_over(1);
	/* The kernel refreshes counters only some times a second. */
	usleep(20000);
	CHECK(device_counter("rnr_nak_retry_err") > before);
	CHECK(device_counter("rnr_nak_retry_err") <= before + MOST);
}

/* A region that gets other memory while a fault for a missing page of it is delayed. */
struct exchanged {
	struct ibv_mr *mr;
	struct buf *bufs[2];
};

enum { MESSAGE = 60000, THERE = 40960 };

static void *exchange_meanwhile(void *arg)
{
	const struct exchanged *x = arg;

	while (!ordered("met"))
		usleep(1000);
	CHECK_EQ(ibv_rereg_mr(x->mr,
			      IBV_REREG_MR_CHANGE_TRANSLATION |
				      IBV_REREG_MR_CHANGE_ACCESS,
			      NULL, x->bufs[1]->data, MESSAGE,
			      ODP_ALL | IBV_ACCESS_ZERO_BASED),
		 0);
	return NULL;
}

/*
 * A message lacks a page in its middle, and when that has come its region has other memory: the
 * message is refused, since else it would be from both.
 */
static void in26_exchanged(int opcode)
{
	struct exchanged x = {
		.bufs = { buf_new(MESSAGE, 0), buf_new(MESSAGE, 0) },
	};
	bool by_peer = opcode == IBV_WR_RDMA_READ;
	pthread_t thread;
	struct region all;
	struct ibv_sge sge;
	struct ibv_wc wc;

	need_odp();
	begin_link(NULL);
	memset(x.bufs[0]->data, 0xaa, MESSAGE);
	memset(x.bufs[1]->data, 0xbb, MESSAGE);
	x.mr = MUST(ibv_reg_mr(dev.pd, x.bufs[0]->data, MESSAGE,
			       ODP_ALL | IBV_ACCESS_ZERO_BASED));
	all = region_new(MESSAGE, 9, ALL_ACCESS);
	sge = by_peer ? sge_of(&all, 0, MESSAGE) :
			(struct ibv_sge){ 0, MESSAGE, x.mr->lkey };
	expect(rdma(&link_.a, opcode, sge, by_peer ? 0 : all.base,
		    by_peer ? x.mr->rkey : all.rkey),
	       IBV_WC_SUCCESS);
	CHECK(all.buf->data[0] == 0xaa &&
	      !memcmp(all.buf->data, all.buf->data + 1, MESSAGE - 1));

	CHECK_EQ(orders_invalidate("%u %d %zu", x.mr->lkey, THERE, PAGE), 0);
	order("fault-delay number %u value 500000", x.mr->lkey);
	CHECK_EQ(pthread_create(&thread, NULL, exchange_meanwhile, &x), 0);
	wc = rdma(&link_.a, opcode, sge, by_peer ? 0 : all.base,
		  by_peer ? x.mr->rkey : all.rkey);
	pthread_join(thread, NULL);
	orders_over(1);
	if (wc.status == IBV_WC_SUCCESS)
		FAIL("it begins with %#x and ends with %#x", all.buf->data[0],
		     all.buf->data[MESSAGE - 1]);
	if (by_peer)
		expect(wc, IBV_WC_REM_ACCESS_ERR);
	else
		expect_why(wc, IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_STATE);
	/* A message that begins now is from the new memory. */
	link_renew(&link_);
	expect(rdma(&link_.a, opcode, sge, by_peer ? 0 : all.base,
		    by_peer ? x.mr->rkey : all.rkey),
	       IBV_WC_SUCCESS);
	CHECK(all.buf->data[0] == 0xbb &&
	      !memcmp(all.buf->data, all.buf->data + 1, MESSAGE - 1));
}

/*
 * A peer that answers that it is not ready can be reached: what was lost before its answer uses up no
 * retries any more. So three may be lost, and three more behind an answer, with three retries.
 */
static void in27_not_ready(void)
{
	struct qp_cfg cfg = { .timeout = 8, .retry = 3, .rnr_timer = 20 };
	struct ibv_sge from, to;
	long long answers;
	int i;

	begin_link(&cfg);
	from = sge_of(&own, 3, 777);
	to = sge_of(&remote, 5, 777);
	for (i = 0; i < 2; i++) {
		order("loss number %u count 3", link_.a.qp->qp_num);
		if (!i)
			post(&link_.a,
			     &(struct ibv_send_wr){
				     .sg_list = &from,
				     .num_sge = 1,
				     .opcode = IBV_WR_SEND,
				     .send_flags = IBV_SEND_SIGNALED });
		answers = device_counter_now("rnr_nak_retry_err");
		/* The first of these may be of an attempt that began before the order. */
		counter_await_least("rnr_nak_retry_err", answers + 2);
		orders_over(3);
	}
	post_recv(&link_.b, &to, 1, 0);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	memcpy(remote.buf->want + 5, own.buf->data + 3, 777);
	buf_check(remote.buf);
	still_good();
}

static const struct test tests[] = {
	TEST(in1_pin, "IN1 pin"),
	TEST(in2_watch, "IN2 watch"),
	TEST(in3_table, "IN3 table"),
	TEST(in4_key, "IN4 key"),
	TEST(in5_copy_out, "IN5 copy-out"),
	TEST(in6_attach, "IN6 attach"),
	TEST(in7_map, "IN7 map"),
	TEST(in8_fault, "IN8 fault"),
	TEST(in9_fault_again, "IN9 fault, and again"),
	TEST(in10_fault_delay, "IN10 fault-delay"),
	TEST(in11_status, "IN11 status"),
	TEST(in12_third, "IN12 the third time"),
	TEST(in13_fatal, "IN13 fatal"),
	TEST(in14_late, "IN14 late"),
	TEST(in15_loss, "IN15 loss"),
	TEST(in16_rnr, "IN16 rnr"),
	TEST(in17_overflow, "IN17 overflow"),
	TEST(in18_pid, "IN18 only who is meant"),
	TEST(in19_root, "IN19 root's alone"),
	TEST(in20_less_and_less, "IN20 fault, less and less often"),
	TEST_OF(in22_lost_answers, 1,
		"IN22 loss of answers, one read at a time"),
	TEST_OF(in22_lost_answers, 16,
		"IN22 loss of answers, sixteen at a time"),
	TEST(in23_none_any_more, "IN23 loss of an answer, and no more reads"),
	TEST(in24_atomics, "IN24 loss of answers to atomics"),
	TEST(in25_slow_page, "IN25 fault-delay, and when to come again"),
	TEST_OF(in26_exchanged, IBV_WR_RDMA_WRITE,
		"IN26 fault-delay, and other memory behind an lkey (class 7)"),
	TEST_OF(in26_exchanged, IBV_WR_RDMA_READ,
		"IN26 fault-delay, and other memory behind an rkey (class 7)"),
	TEST(in27_not_ready, "IN27 loss, and a receiver that is not ready"),
};

ORDERS_MAIN("Failures by order", tests)
