// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters of queue pairs, bound and read with rdma(8) (items QC1 to QC7).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "rdma_tool.h"

enum { LEN = 5000 };

/* Two links: the QPs of the second one are not bound to a counter. */
static struct link link_, other;
static struct region a, b;

static void begin(void)
{
	if (!dev.pinion)
		skip("others count as they like");
	need_rdma_tool();
	if (rdma_does("statistic qp set link %s/1 auto off", device_name()))
		skip("this rdma cannot bind queue pairs");
	link_make(&link_, NULL);
	link_make(&other, NULL);
	a = region_new(LEN, 0, ALL_ACCESS);
	b = region_new(LEN, 0, ALL_ACCESS);
}

static void write_once(struct link *link)
{
	expect(rdma(&link->a, IBV_WR_RDMA_WRITE, sge_of(&a, 0, LEN), b.base,
		    b.rkey),
	       IBV_WC_SUCCESS);
}

static uint64_t word_of(const char *text, const char *name)
{
	char word[64];
	char *at;

	snprintf(word, sizeof(word), " %s ", name);
	at = strstr(text, word);
	if (!at)
		FAIL("no %s in: %s", name, text);
	return strtoull(at + strlen(word), NULL, 0);
}

/* The count of the port as `rdma statistic' prints it: includes QPs that are or were bound. */
static uint64_t port_count(const char *name)
{
	return word_of(rdma_says("statistic show link %s/1", device_name()),
		       name);
}

/* Is @number in a list like <1,2>? */
static bool lists(const char *list, uint32_t number)
{
	char *end;

	while (*list == '<' || *list == ',') {
		if (strtoul(list + 1, &end, 10) == number)
			return true;
		list = end;
	}
	return false;
}

/* The text about the counter that @end is bound to, or NULL. */
static const char *counter_of(const struct end *end)
{
	char *said = rdma_says("statistic qp show link %s/1", device_name());
	char *at = said, *next, *list;

	/* The counters follow each other; each ends with the list of its queue pairs. */
	while ((list = strstr(at, "LQPN: <"))) {
		next = strchr(list, '>');
		if (!next)
			FAIL("half a list: %s", said);
		*next = 0;
		if (lists(strchr(list, '<'), end->qp->qp_num))
			return at;
		at = next + 1;
	}
	return NULL;
}

static bool is_bound(const struct end *end)
{
	return counter_of(end);
}

static uint64_t qp_count(const struct end *end, const char *name)
{
	const char *said = counter_of(end);

	if (!said)
		FAIL("%#x is bound to no counter", end->qp->qp_num);
	return word_of(said, name);
}

/* Binds @end to a new counter; returns the counter's number. */
static uint64_t bind_alone(const struct end *end)
{
	CHECK_EQ(rdma_does("statistic qp bind link %s/1 lqpn %u", device_name(),
			   end->qp->qp_num),
		 0);
	return qp_count(end, "cntn");
}

static int unbind(const struct end *end, uint64_t counter)
{
	return rdma_does("statistic qp unbind link %s/1 cntn %llu lqpn %u",
			 device_name(), (unsigned long long)counter,
			 end->qp->qp_num);
}

/*
 * A counter that is bound to a queue pair counts its messages alone; the port's sum has them,
 * too.
 */
static void qc1_its_own(void)
{
	uint64_t messages, bytes, received;

	begin();
	write_once(&link_);
	messages = port_count("tx_messages");
	bytes = port_count("tx_bytes");
	received = port_count("rx_messages");
	bind_alone(&link_.a);
	CHECK(is_bound(&link_.a));
	CHECK(!is_bound(&link_.b));
	CHECK_EQ(qp_count(&link_.a, "tx_messages"), 0);

	write_once(&link_);
	write_once(&link_);
	write_once(&other);
	CHECK_EQ(qp_count(&link_.a, "tx_messages"), 2);
	CHECK_EQ(qp_count(&link_.a, "tx_bytes"), 2 * LEN);
	CHECK_EQ(qp_count(&link_.a, "rx_messages"), 0);
	/* The sums of the port do not count a bound QP twice. */
	CHECK_EQ(port_count("tx_messages"), messages + 3);
	CHECK_EQ(port_count("tx_bytes"), bytes + 3 * LEN);
	CHECK_EQ(port_count("rx_messages"), received + 3);
}

/* A counter that is bound to two queue pairs counts the messages of both. */
static void qc2_two_in_one(void)
{
	uint64_t counter;

	begin();
	counter = bind_alone(&link_.a);
	CHECK_EQ(rdma_does("statistic qp bind link %s/1 lqpn %u cntn %llu",
			   device_name(), other.b.qp->qp_num,
			   (unsigned long long)counter),
		 0);
	write_once(&link_);
	write_once(&other);
	CHECK_EQ(qp_count(&link_.a, "tx_messages"), 1);
	CHECK_EQ(qp_count(&link_.a, "rx_messages"), 1);
	CHECK_EQ(qp_count(&link_.a, "rx_bytes"), LEN);
}

/* When a queue pair is unbound or destroyed, its counts stay in the sums of the port. */
static void qc3_ends(void)
{
	uint64_t messages, counter;

	begin();
	messages = port_count("tx_messages");
	counter = bind_alone(&link_.a);
	write_once(&link_);
	CHECK(unbind(&link_.a, counter + 1));
	CHECK_EQ(unbind(&link_.a, counter), 0);
	CHECK(!is_bound(&link_.a));
	CHECK_EQ(port_count("tx_messages"), messages + 1);
	write_once(&link_);
	CHECK_EQ(port_count("tx_messages"), messages + 2);
	CHECK(unbind(&link_.a, counter));

	bind_alone(&link_.a);
	write_once(&link_);
	link_free(&link_);
	CHECK_EQ(port_count("tx_messages"), messages + 3);
}

/* The counters of sysfs, which the device sums up itself, include bound QPs, too. */
static void qc6_for_all(void)
{
	uint64_t before, packets;

	begin();
	before = port_counter("port_xmit_packets");
	write_once(&link_);
	packets = port_counter("port_xmit_packets") - before;
	CHECK(packets);
	bind_alone(&link_.a);
	bind_alone(&link_.b);
	write_once(&link_);
	CHECK_EQ(port_counter("port_xmit_packets"), before + 2 * packets);
	link_free(&link_);
	CHECK_EQ(port_counter("port_xmit_packets"), before + 2 * packets);
}

/* Auto mode by process and by QP type: each QP that is created afterwards is bound. */
static void qc4_by_themselves(void)
{
	struct qp_cfg datagrams = { .type = IBV_QPT_UD };
	struct link early, late;
	struct end ud;

	begin();
	link_make(&early, NULL);
	CHECK_EQ(rdma_does("statistic qp set link %s/1 auto type on",
			   device_name()),
		 0);
	link_make(&late, NULL);
	end_make(&ud, &datagrams);
	end_init(&ud);
	CHECK(!is_bound(&early.a));
	CHECK(is_bound(&late.a));
	CHECK(is_bound(&late.b));
	CHECK(is_bound(&ud));
	write_once(&late);
	CHECK_EQ(qp_count(&late.a, "tx_messages"), 1);
	CHECK_EQ(qp_count(&late.a, "rx_messages"), 1);
	CHECK_EQ(qp_count(&ud, "tx_messages"), 0);
	end_free(&ud);
	link_free(&late);
	CHECK_EQ(rdma_does("statistic qp set link %s/1 auto off",
			   device_name()),
		 0);
}

static atomic_bool over;

static void *bind_and_unbind(void *arg)
{
	atomic_ullong *rounds = arg;

	while (!over) {
		if (unbind(&link_.a, bind_alone(&link_.a)))
			FAIL("what was bound is not");
		++*rounds;
	}
	return NULL;
}

/* Bind and unbind a QP under traffic: no message is lost from the sum, none counted twice. */
static void qc5_meanwhile(void)
{
	atomic_ullong rounds = 0;
	uint64_t messages, n = 0;
	pthread_t thread;

	begin();
	messages = port_count("tx_messages");
	CHECK_EQ(pthread_create(&thread, NULL, bind_and_unbind, &rounds), 0);
	while (rounds < 20) {
		write_once(&link_);
		n++;
	}
	over = true;
	CHECK_EQ(pthread_join(thread, NULL), 0);
	note("%llu messages", (unsigned long long)n);
	CHECK(n > 20);
	CHECK_EQ(port_count("tx_messages"), messages + n);
}

/*
 * A queue pair has one counter at most. Keep this test last: afterwards 6.12's core counts one
 * counter too many, and auto mode binds no QPs any more.
 */
static void qc7_only_one(void)
{
	begin();
	bind_alone(&link_.a);
	CHECK(rdma_does("statistic qp bind link %s/1 lqpn %u", device_name(),
			link_.a.qp->qp_num));
	write_once(&link_);
	CHECK_EQ(qp_count(&link_.a, "tx_messages"), 1);
}

static const struct test tests[] = {
	TEST(qc1_its_own, "QC1 of one queue pair"),
	TEST(qc2_two_in_one, "QC2 of two"),
	TEST(qc3_ends, "QC3 when it ends"),
	TEST(qc4_by_themselves, "QC4 by themselves"),
	TEST(qc5_meanwhile, "QC5 while it is at work"),
	TEST(qc6_for_all, "QC6 where every device has them"),
	TEST(qc7_only_one, "QC7 only one"),
};

HARNESS_MAIN("Counters of queue pairs", tests)
