// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Changes of the cable, or of its ends, in the middle of traffic (items CA1 to CA8), and an end that
 * never answers (CA12): requests end as with a hardware adapter, and nothing else fails.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "command.h"
#include "event.h"
#include "link.h"
#include "rdma_tool.h"

enum { UNDER_WAY = 12, RETRIES = 7 };
/* The field `timeout' of connections that give up, and of such that survive an interruption. */
enum { SOON = 12, LATE = 17 };

static struct link link_;
static struct region out, in;
static uint64_t ended;
/* The first completion of a request that failed, if one did. */
static struct ibv_wc failure;
static double failed_at;
/* When the command began that makes requests fail, and how often the ACK timer had expired then. */
static double changed_at;
static long long timeouts;
/* How many seconds the ACK timers take at least, from the second that expires to the last. */
static double silence;
static uint32_t length;

static const char *far_name(void)
{
	return getenv("FAR");
}

/* A command of an administrator, in the namespace of the other end; it must succeed. */
static void far_does(const char *command)
{
	must_run("ip netns exec %s %s", far_dev.net, command);
}

static void post_write(void)
{
	post_rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&out, 0, length), in.base,
		  in.rkey, 0);
}

/* Posts a READ from the memory that is written to. */
static void post_read(struct end *end)
{
	post_rdma(end, IBV_WR_RDMA_READ, sge_of(&in, 0, length), out.base,
		  out.rkey, 0);
}

/*
 * Makes a member of groups at the other end, by IPv4 and IPv6: its state in the netdev and in the
 * network stack must be released when these end.
 */
static void far_listens(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD, .device = &far_dev };
	union ibv_gid four = { .raw = { [10] = 0xff, 0xff, 239, 8, 1, 1 } };
	union ibv_gid six = { .raw = { 0xff, 0x05, [14] = 8, 1 } };
	struct end end;

	end_make(&end, &cfg);
	end_init(&end);
	CHECK_EQ(ibv_attach_mcast(end.qp, &four, 0), 0);
	CHECK_EQ(ibv_attach_mcast(end.qp, &six, 0), 0);
}

static bool by_ipv6;

/*
 * An address that has just come back may miss the first packet that asks for it. The next one goes
 * a second later, and modify_qp() waits no longer than that.
 */
static void resolve(const char *ip, const char *address)
{
	must_run(
		"%s bash -c 'for i in {1..100}; do"
		" echo >/dev/udp/%s/9; ip -6 neigh show %s | grep -q lladdr && exit;"
		" sleep 0.1; done; exit 1'",
		ip, address, address);
}

/*
 * Starts traffic that fails after the ACK timer has expired RETRIES + 1 times without answers. @timeout:
 * as of ibv_modify_qp().
 */
static void begin(int timeout)
{
	struct qp_cfg a = { .timeout = timeout,
			    .retry = RETRIES,
			    .wr = 2 * UNDER_WAY };
	struct qp_cfg b = a;
	int i;

	need_rdma_tool();
	silence = end_least_silence(timeout, RETRIES);
	device_open();
	far_open();
	if (by_ipv6) {
		char at_far[64];

		snprintf(at_far, sizeof(at_far), "ip netns exec %s",
			 far_dev.net);
		resolve("", "fd00:99::1");
		resolve(at_far, "fd00:99::2");
		device_use_address(&dev, true);
		device_use_address(&far_dev, true);
	}
	b.device = &far_dev;
	a.mtu = b.mtu = common_mtu();
	length = far_dev.pinion ? 8 << 20 : 4 << 20;
	far_listens();
	out = region_reg(dev.pd, buf_new(length, 77), ALL_ACCESS);
	in = region_reg(far_dev.pd, buf_new(length, 1234), ALL_ACCESS);
	/* On removal the youngest objects go first, so make the queue pairs after the regions. */
	link_make2(&link_, &a, &b);
	ended = 0;
	failure.status = IBV_WC_SUCCESS;
	for (i = 0; i < UNDER_WAY; i++)
		post_write();
}

static void one_ended(struct ibv_wc wc)
{
	if (wc.status != IBV_WC_SUCCESS) {
		failure = wc;
		failed_at = now();
		return;
	}
	ended++;
	post_write();
}

/* Posts requests as earlier ones complete, until @count have completed. */
static void flow(uint64_t count)
{
	uint64_t until = ended + count;

	while (ended < until) {
		expect(failure, IBV_WC_SUCCESS);
		one_ended(await(link_.a.scq));
	}
}

/*
 * Runs a command, and keeps requests under way until it has ended: on a busy machine a process
 * may take longer to start than any number of requests to complete.
 */
__attribute__((format(printf, 1, 2))) static void in_traffic(const char *fmt,
							     ...)
{
	char command[256];
	pthread_t thread;
	struct ibv_wc wc;
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	timeouts = rdma_counter("local_ack_timeout_err");
	changed_at = now();
	thread = command_begin(command);
	while (pthread_tryjoin_np(thread, NULL)) {
		if (failure.status == IBV_WC_SUCCESS &&
		    ibv_poll_cq(link_.a.scq, 1, &wc) == 1)
			one_ended(wc);
		else
			usleep(1000);
	}
}

/*
 * Expects that requests fail because no answer comes, and that the sender has asked as often and waited
 * as long as it was told. More are posted until one fails: on a busy machine all that were under way
 * may have completed before the change.
 */
static void gives_up(void)
{
	double limit = now() + patience(20), took;
	int left = UNDER_WAY - 1;

	while (failure.status == IBV_WC_SUCCESS) {
		CHECK(now() < limit);
		one_ended(await(link_.a.scq));
	}
	expect_why(failure, IBV_WC_RETRY_EXC_ERR, PINION_SYN_NO_RESPONSE);
	while (left--)
		expect(await(link_.a.scq), IBV_WC_WR_FLUSH_ERR);
	end_await_state(&link_.a, IBV_QPS_ERR);
	took = failed_at - changed_at;
	timeouts = rdma_counter("local_ack_timeout_err") - timeouts;
	note("%lld timeouts, failed after %.3f s, not before %.3f s", timeouts,
	     took, silence);
	/*
	 * Neither has an upper bound that a busy machine cannot break. An answer that was under way when the
	 * command ended may be processed after any number of expiries, and then all retries count anew. See
	 * end_least_silence() for the time, and ca12_no_answer() for a peer of whom nothing is under way.
	 */
	CHECK(timeouts >= RETRIES + 1);
	CHECK(took >= silence);
}

static void wait_for_gid(void)
{
	double limit = now() + patience(20);
	union ibv_gid gid;

	while (ibv_query_gid(far_dev.ctx, 1, far_dev.gid_index, &gid) ||
	       memcmp(&gid, &far_dev.gid, sizeof(gid))) {
		CHECK(now() < limit);
		usleep(10000);
	}
}

/* Waits until @device has its address again, which may have another index now. */
static void wait_for_address(struct device *device)
{
	device->gid_index = device_await_gid(device, &device->gid);
}

/* The IPv6 address goes with the link, and if the MTU is too small: restore it for later tests. */
static void far_has_ipv6_again(void)
{
	far_does("ip addr replace fd00:99::1/64 dev v0 nodad");
}

/* Connects both ends again, and checks messages and memory. */
static void works_again(void)
{
	link_renew(&link_);
	memcpy(in.buf->want, out.buf->want, length);
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&out, 0, length),
		    in.base, in.rkey),
	       IBV_WC_SUCCESS);
	buf_check(in.buf);
	buf_check(out.buf);
}

/* The link goes down in traffic: requests fail, and new connections work once it is up. */
static void ca1_stays_down(void)
{
	begin(SOON);
	flow(3);
	in_traffic("ip -n %s link set v0 down", far_dev.net);
	gives_up();
	far_does("ip link set v0 up");
	far_has_ipv6_again();
	wait_for_gid();
	works_again();
}

/* The link goes down in traffic and comes back: all requests succeed. */
static void ca2_comes_back(void)
{
	int i;

	begin(LATE);
	for (i = 0; i < 3; i++) {
		flow(3);
		in_traffic("ip -n %s link set v0 down", far_dev.net);
		usleep(200000);
		far_does("ip link set v0 up");
	}
	far_has_ipv6_again();
	flow(3);
}

/* The address is removed in traffic: requests fail, and it works once it is back. */
static void ca3_address(void)
{
	begin(SOON);
	flow(3);
	in_traffic("ip -n %s addr del 192.0.2.1/24 dev v0", far_dev.net);
	gives_up();
	far_does("ip addr add 192.0.2.1/24 dev v0");
	/* The index of the GID may have changed. */
	device_open();
	far_open();
	works_again();
}

/*
 * The MTU of our end becomes too small for a connection that exists. (That of the other end would not
 * do: veth lets buffers of several packets through, whatever their size.)
 */
static void ca4_mtu(void)
{
	begin(SOON);
	flow(3);
	in_traffic("ip link set v1 mtu 600");
	gives_up();
	must_run("ip link set v1 mtu 1500");
	must_run("ip addr replace fd00:99::2/64 dev v1 nodad");
	works_again();
}

/* The other device is removed under traffic. The caller of this test has to create another. */
static void ca5_device(void)
{
	begin(SOON);
	if (!far_dev.pinion)
		skip("rxe goes when its last program has closed it");
	flow(3);
	in_traffic("ip netns exec %s rdma link del %s", far_dev.net,
		   far_name());
	gives_up();
}

/* Makes a connection by IPv6, whose route must end with the namespace. */
static void keep_route_of_ipv6(void)
{
	struct qp_cfg a = { .mtu = IBV_MTU_1024 }, b = a;
	static struct region from, to;
	static struct link six;

	device_open();
	far_open();
	device_use_address(&dev, true);
	device_use_address(&far_dev, true);
	b.device = &far_dev;
	from = region_reg(dev.pd, buf_new(8, 0), ALL_ACCESS);
	to = region_reg(far_dev.pd, buf_new(8, 0), ALL_ACCESS);
	link_make2(&six, &a, &b);
	expect(rdma(&six.a, IBV_WR_RDMA_WRITE, sge_of(&from, 0, 8), to.base,
		    to.rkey),
	       IBV_WC_SUCCESS);
}

/*
 * The namespace of the other device ends, with all that is in it, while messages go both ways. The
 * caller of this test ends it, once some have arrived.
 */
static void ca6_namespace(void)
{
	struct link back;
	struct ibv_wc wc;
	int i;

	if (!getenv("FAR_ENDS"))
		skip("nobody ends the other namespace");
	keep_route_of_ipv6();
	begin(SOON);
	back.a = link_.b;
	back.b = link_.a;
	for (i = 0; i < UNDER_WAY; i++)
		post_read(&back.a);
	do {
		wc = await(link_.a.scq);
		if (wc.status == IBV_WC_SUCCESS)
			post_write();
	} while (wc.status == IBV_WC_SUCCESS);
	expect_why(wc, IBV_WC_RETRY_EXC_ERR, PINION_SYN_NO_RESPONSE);
	for (i = 1; i < UNDER_WAY; i++)
		expect(await(link_.a.scq), IBV_WC_WR_FLUSH_ERR);
	end_await_state(&link_.a, IBV_QPS_ERR);
	event_await_of(far_dev.ctx, IBV_EVENT_DEVICE_FATAL);
}

/* Which of several variants of a test. */
enum { FAR_END = 1, IPV6 = 2, COMES_BACK = 4 };

/* Waits while nothing can arrive: until requests have failed, or for a while that they survive. */
static void interrupted(int variant)
{
	if (variant & COMES_BACK)
		usleep(200000);
	else
		gives_up();
}

static void begin_variant(int variant)
{
	by_ipv6 = variant & IPV6;
	begin(variant & COMES_BACK ? LATE : SOON);
	flow(3);
}

static void goes_on(int variant)
{
	if (variant & COMES_BACK)
		flow(3);
	else
		works_again();
}

/*
 * One end reaches the other by a router that drops packets; or no longer (@verb: "del"). Its MAC is
 * known, and nobody's: by IPv6 a router whose MAC is not found is passed over for the next best route,
 * the one from before, as soon as the route is looked up once more.
 */
static void route_by_nobody(int variant, const char *verb)
{
	static const char *const to[] = { "192.0.2.1", "192.0.2.2",
					  "fd00:99::1", "fd00:99::2" };
	const char *router = variant & IPV6 ? "fd00:99::99" : "192.0.2.99";
	const char *netdev = variant & FAR_END ? "v0" : "v1";
	char at_far[64] = "";

	if (variant & FAR_END)
		snprintf(at_far, sizeof(at_far), "-n %s ", far_dev.net);
	must_run("ip %sneigh replace %s lladdr 02:00:00:00:00:99 dev %s"
		 " nud permanent",
		 at_far, router, netdev);
	in_traffic("ip %sroute %s %s via %s dev %s", at_far, verb,
		   to[variant & (FAR_END | IPV6)], router, netdev);
}

/* The route of one end changes, and changes back: meanwhile no request arrives, or no answer. */
static void ca7_route(int variant)
{
	begin_variant(variant);
	route_by_nobody(variant, "add");
	interrupted(variant);
	route_by_nobody(variant, "del");
	goes_on(variant);
}

/*
 * The address of this end is removed: nothing reaches it, and nothing is sent from an address that
 * somebody else may have by now.
 */
static void ca8_own_address(int variant)
{
	const char *own = variant & IPV6 ? "fd00:99::2/64" : "192.0.2.2/24";
	int capture;

	begin_variant(variant);
	in_traffic("ip addr del %s dev v1", own);
	capture = capture_open("v1");
	interrupted(variant);
	CHECK(variant & COMES_BACK || capture_is_empty(capture));
	must_run("ip addr add %s dev v1%s", own,
		 variant & IPV6 ? " nodad" : "");
	wait_for_address(&dev);
	goes_on(variant);
}

/*
 * The other end hears requests, and is not in a state to take them: the ACK timer expires and the request
 * is sent again exactly as often as the retries say. No answer can come late, and no timer is early, so
 * that holds on any machine.
 */
static void ca12_no_answer(int retries)
{
	struct qp_cfg a = { .timeout = SOON, .retry = retries ? retries : -1 };
	struct qp_cfg b = a;
	struct peer peer;
	long long resent;

	need_rdma_tool();
	device_open();
	far_open();
	b.device = &far_dev;
	a.mtu = b.mtu = common_mtu();
	length = 8;
	out = region_reg(dev.pd, buf_new(length, 77), ALL_ACCESS);
	in = region_reg(far_dev.pd, buf_new(length, 1234), ALL_ACCESS);
	end_make(&link_.a, &a);
	end_make(&link_.b, &b);
	peer = end_peer(&link_.b);
	end_init(&link_.b);
	end_init(&link_.a);
	end_connect(&link_.a, &peer);
	resent = rdma_counter("resent_packets");
	timeouts = rdma_counter("local_ack_timeout_err");
	changed_at = now();
	post_write();
	expect_why(await(link_.a.scq), IBV_WC_RETRY_EXC_ERR,
		   PINION_SYN_NO_RESPONSE);
	failed_at = now();
	end_await_state(&link_.a, IBV_QPS_ERR);
	CHECK_EQ(rdma_counter("local_ack_timeout_err") - timeouts, retries + 1);
	CHECK_EQ(rdma_counter("resent_packets") - resent, retries);
	/* Once the timeout, once twice as long, then four times. */
	CHECK(failed_at - changed_at >=
	      4.096e-6 * (1 << SOON) * (retries ? 4 * retries - 1 : 1));
	buf_check(in.buf);
	/* With retries for a busy machine. */
	link_.a.cfg.timeout = LATE;
	link_.a.cfg.retry = RETRIES;
	works_again();
}

static const struct test tests[] = {
	TEST(ca1_stays_down, "CA1 the link goes down"),
	TEST(ca2_comes_back, "CA2 the link goes down, and comes back in time"),
	TEST(ca3_address, "CA3 the address is removed"),
	TEST(ca4_mtu, "CA4 the MTU becomes too small"),
	TEST_OF(ca7_route, 0, "CA7 the route there changes"),
	TEST_OF(ca7_route, IPV6, "CA7 the route there changes, IPv6"),
	TEST_OF(ca7_route, FAR_END, "CA7 the route back changes"),
	TEST_OF(ca7_route, FAR_END | IPV6, "CA7 the route back changes, IPv6"),
	TEST_OF(ca7_route, COMES_BACK, "CA7 the route there changes, and back"),
	TEST_OF(ca7_route, COMES_BACK | FAR_END,
		"CA7 the route back changes, and back"),
	TEST_OF(ca8_own_address, 0, "CA8 our address is removed"),
	TEST_OF(ca8_own_address, IPV6, "CA8 our address is removed, IPv6"),
	TEST_OF(ca8_own_address, COMES_BACK,
		"CA8 our address is removed, and comes back in time"),
	TEST_OF(ca12_no_answer, 0, "CA12 no answer, and no retries"),
	TEST_OF(ca12_no_answer, 1, "CA12 no answer, one retry"),
	TEST_OF(ca12_no_answer, RETRIES, "CA12 no answer, all retries"),
	/* Without the other device, the last ones. */
	TEST(ca5_device, "CA5 the device is removed"),
	TEST(ca6_namespace, "CA6 the namespace ends"),
};

HARNESS_MAIN("what happens to a cable in the middle of traffic", tests)
