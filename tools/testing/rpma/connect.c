// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connections: establishment and end, private data, non-blocking calls. completion.c tests where
 * completions arrive.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "sides.h"
#include "verbs.h"

#define WRONG(call) CHECK_EQ(call, RPMA_E_INVAL)
#define ALWAYS RPMA_F_COMPLETION_ALWAYS

static const char port[] = "7998";
static struct sides sides;

static void listen_here(void)
{
	sides.peer[NEAR] = peer_new();
	sides.peer[FAR] = peer_new();
	CHECK_EQ(rpma_ep_listen(sides.peer[FAR], address(), port, &sides.ep),
		 0);
}

static struct rpma_conn_req *ask(const struct rpma_conn_cfg *cfg)
{
	struct rpma_conn_req *req;

	CHECK_EQ(rpma_conn_req_new(sides.peer[NEAR], address(), port, cfg,
				   &req),
		 0);
	return req;
}

/* Connections are made and ended, from either side, again and again. */
static void again_and_again(void)
{
	int i;

	for (i = 0; i < 10; i++) {
		sides_connect(&sides, NULL, NULL);
		sides_disconnect(&sides);
	}
	sides_connect(&sides, NULL, NULL);
	sides_free(&sides);
}

static void expect_data(const struct rpma_conn_private_data *got,
			const char *want)
{
	/* rdma_cm rounds the length up. */
	CHECK(got->ptr && got->len >= strlen(want));
	CHECK(!memcmp(got->ptr, want, strlen(want)));
}

/* Private data arrive on both sides, and stay until the connection ends. */
static void private_data(void)
{
	struct rpma_conn_private_data hello = { "hello, far", 10 };
	struct rpma_conn_private_data answer = { "and to you, near", 16 };
	struct rpma_conn_private_data got = { &got, 5 };
	struct rpma_conn_req *req;

	listen_here();
	req = ask(NULL);
	CHECK_EQ(rpma_conn_req_get_private_data(req, &got), 0);
	CHECK(!got.ptr && !got.len);
	CHECK_EQ(rpma_conn_req_connect(&req, &hello, &sides.conn[NEAR]), 0);
	CHECK(!req);
	CHECK_EQ(rpma_ep_next_conn_req(sides.ep, NULL, &req), 0);
	CHECK_EQ(rpma_conn_req_get_private_data(req, &got), 0);
	expect_data(&got, "hello, far");
	CHECK_EQ(rpma_conn_req_connect(&req, &answer, &sides.conn[FAR]), 0);
	CHECK_EQ(event_of(sides.conn[NEAR]), RPMA_CONN_ESTABLISHED);
	CHECK_EQ(event_of(sides.conn[FAR]), RPMA_CONN_ESTABLISHED);
	CHECK_EQ(rpma_conn_get_private_data(sides.conn[FAR], &got), 0);
	expect_data(&got, "hello, far");
	CHECK_EQ(rpma_conn_get_private_data(sides.conn[NEAR], &got), 0);
	expect_data(&got, "and to you, near");
	WRONG(rpma_conn_get_private_data(NULL, &got));
	WRONG(rpma_conn_get_private_data(sides.conn[NEAR], NULL));
	WRONG(rpma_conn_req_get_private_data(NULL, &got));
	sides_free(&sides);
}

/* A refused request, and one to nobody, give the event. */
static void refused(void)
{
	struct rpma_conn_req *req;

	listen_here();
	req = ask(NULL);
	CHECK_EQ(rpma_conn_req_connect(&req, NULL, &sides.conn[NEAR]), 0);
	CHECK_EQ(rpma_ep_next_conn_req(sides.ep, NULL, &req), 0);
	CHECK_EQ(rpma_conn_req_delete(&req), 0);
	CHECK(!req);
	CHECK_EQ(event_of(sides.conn[NEAR]), RPMA_CONN_REJECTED);
	CHECK_EQ(rpma_conn_delete(&sides.conn[NEAR]), 0);
	/* No endpoint listens. */
	CHECK_EQ(rpma_ep_shutdown(&sides.ep), 0);
	req = ask(NULL);
	if (rpma_conn_req_connect(&req, NULL, &sides.conn[NEAR]))
		CHECK(iwarp()); /* iWARP notices at once */
	else
		CHECK(event_of(sides.conn[NEAR]) != RPMA_CONN_ESTABLISHED);
	/* A request is deleted without being used. */
	req = ask(NULL);
	CHECK_EQ(rpma_conn_req_delete(&req), 0);
	CHECK_EQ(rpma_conn_req_delete(&req), 0);
	sides_end(&sides);
}

/* An endpoint is shut down with a request in it: the requester gets an event. */
static void unanswered(void)
{
	struct pollfd waiting = { .events = POLLIN };
	struct rpma_conn_req *req;

	listen_here();
	req = ask(NULL);
	CHECK_EQ(rpma_conn_req_connect(&req, NULL, &sides.conn[NEAR]), 0);
	/* The endpoint is shut down with a request pending, and the requester gets an event. */
	CHECK_EQ(rpma_ep_get_fd(sides.ep, &waiting.fd), 0);
	CHECK_EQ(poll(&waiting, 1, patience(20) * 1000), 1);
	CHECK_EQ(rpma_ep_shutdown(&sides.ep), 0);
	CHECK(event_of(sides.conn[NEAR]) != RPMA_CONN_ESTABLISHED);
	sides_end(&sides);
}

/* A request that was taken from its endpoint outlives it, and can be accepted or refused. */
static void outlives_endpoint(void)
{
	struct rpma_conn_req *req;
	int i;

	listen_here();
	req = ask(NULL);
	CHECK_EQ(rpma_conn_req_connect(&req, NULL, &sides.conn[NEAR]), 0);
	CHECK_EQ(rpma_ep_next_conn_req(sides.ep, NULL, &req), 0);
	CHECK_EQ(rpma_ep_shutdown(&sides.ep), 0);
	CHECK_EQ(rpma_conn_req_connect(&req, NULL, &sides.conn[FAR]), 0);
	for (i = NEAR; i <= FAR; i++)
		CHECK_EQ(event_of(sides.conn[i]), RPMA_CONN_ESTABLISHED);
	sides_free(&sides);
	listen_here();
	req = ask(NULL);
	CHECK_EQ(rpma_conn_req_connect(&req, NULL, &sides.conn[NEAR]), 0);
	CHECK_EQ(rpma_ep_next_conn_req(sides.ep, NULL, &req), 0);
	CHECK_EQ(rpma_ep_shutdown(&sides.ep), 0);
	CHECK_EQ(rpma_conn_req_delete(&req), 0);
	CHECK_EQ(event_of(sides.conn[NEAR]), RPMA_CONN_REJECTED);
	sides_end(&sides);
}

/* A request that cannot leave its endpoint's channel is refused; one to be sent is not made. */
static void stays_at_endpoint(void)
{
	struct rpma_conn_req *req, *none = (void *)&sides;

	listen_here();
	migrate_fails = EIO;
	CHECK_EQ(rpma_conn_req_new(sides.peer[NEAR], address(), port, NULL,
				   &none),
		 RPMA_E_PROVIDER);
	req = ask(NULL);
	CHECK_EQ(rpma_conn_req_connect(&req, NULL, &sides.conn[NEAR]), 0);
	migrate_fails = EIO;
	CHECK_EQ(rpma_ep_next_conn_req(sides.ep, NULL, &none), RPMA_E_PROVIDER);
	CHECK(none == (void *)&sides);
	CHECK_EQ(event_of(sides.conn[NEAR]), RPMA_CONN_REJECTED);
	sides_end(&sides);
}

/* Wrong arguments are RPMA_E_INVAL. */
static void wrong_arguments(void)
{
	struct rpma_conn_private_data nothing = { "x", 0 };
	struct rpma_conn_req *req, *none = NULL;
	struct rpma_conn *conn = (void *)&sides;
	enum rpma_conn_event event;
	int fd;

	listen_here();
	WRONG(rpma_ep_listen(NULL, address(), port, &sides.ep));
	WRONG(rpma_ep_listen(sides.peer[FAR], NULL, port, &sides.ep));
	WRONG(rpma_ep_listen(sides.peer[FAR], address(), NULL, &sides.ep));
	WRONG(rpma_ep_listen(sides.peer[FAR], address(), port, NULL));
	WRONG(rpma_ep_next_conn_req(NULL, NULL, &req));
	WRONG(rpma_ep_next_conn_req(sides.ep, NULL, NULL));
	WRONG(rpma_ep_get_fd(NULL, &fd));
	WRONG(rpma_ep_get_fd(sides.ep, NULL));
	WRONG(rpma_ep_shutdown(NULL));
	WRONG(rpma_conn_req_new(NULL, address(), port, NULL, &req));
	WRONG(rpma_conn_req_new(sides.peer[NEAR], NULL, port, NULL, &req));
	WRONG(rpma_conn_req_new(sides.peer[NEAR], address(), NULL, NULL, &req));
	WRONG(rpma_conn_req_new(sides.peer[NEAR], address(), port, NULL, NULL));
	WRONG(rpma_conn_req_connect(NULL, NULL, &conn));
	WRONG(rpma_conn_req_connect(&none, NULL, &conn));
	WRONG(rpma_conn_req_delete(NULL));
	WRONG(rpma_conn_next_event(NULL, &event));
	WRONG(rpma_conn_disconnect(NULL));
	WRONG(rpma_conn_delete(NULL));
	/* rpma_conn_req_connect() consumes the request, also if it fails. */
	req = ask(NULL);
	WRONG(rpma_conn_req_connect(&req, &nothing, &conn));
	CHECK(!req && conn == (void *)&sides);
	req = ask(NULL);
	WRONG(rpma_conn_req_connect(&req, NULL, NULL));
	CHECK(!req);
	CHECK_EQ(rpma_conn_req_new(sides.peer[NEAR], "no.such.host.invalid",
				   port, NULL, &req),
		 RPMA_E_PROVIDER);
	sides_end(&sides);
}

/*
 * A receive can be posted before the connection is established, for messages that arrive at
 * once.
 */
static void receive_before_connection(void)
{
	struct rpma_conn_req *req;
	struct memory from, to;
	struct rpma_cq *cq;
	uint32_t qp_num;
	struct ibv_wc wc;
	int i;

	listen_here();
	from = memory_reg(sides.peer[NEAR], 100, 0, RPMA_MR_USAGE_SEND);
	to = memory_reg(sides.peer[FAR], 100, 0, RPMA_MR_USAGE_RECV);
	req = ask(NULL);
	CHECK_EQ(rpma_conn_req_connect(&req, NULL, &sides.conn[NEAR]), 0);
	CHECK_EQ(rpma_ep_next_conn_req(sides.ep, NULL, &req), 0);
	CHECK_EQ(rpma_conn_req_recv(req, to.local, 0, 100, &to), 0);
	WRONG(rpma_conn_req_recv(NULL, to.local, 0, 100, &to));
	WRONG(rpma_conn_req_recv(req, to.local, 1, 100, &to));
	CHECK_EQ(rpma_conn_req_connect(&req, NULL, &sides.conn[FAR]), 0);
	for (i = NEAR; i <= FAR; i++) {
		CHECK_EQ(event_of(sides.conn[i]), RPMA_CONN_ESTABLISHED);
		CHECK_EQ(rpma_conn_get_cq(sides.conn[i], &sides.cq[i]), 0);
	}
	send_one(&sides, &from);
	CHECK_EQ(rpma_conn_get_cq(sides.conn[FAR], &cq), 0);
	CHECK_EQ(rpma_conn_get_qp_num(sides.conn[FAR], &qp_num), 0);
	wc = cq_next(cq);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.qp_num, qp_num);
	memory_dereg(&from);
	memory_dereg(&to);
	sides_free(&sides);
}

/* A call that fails leaves the output parameter alone. */
static void event_left_alone(void)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	struct rpma_conn_req *req;

	listen_here();
	req = ask(NULL);
	CHECK_EQ(rpma_conn_req_connect(&req, NULL, &sides.conn[NEAR]), 0);
	CHECK_EQ(rpma_ep_next_conn_req(sides.ep, NULL, &req), 0);
	CHECK_EQ(rpma_conn_req_connect(&req, NULL, &sides.conn[FAR]), 0);
	ack_fails = EIO;
	CHECK_EQ(rpma_conn_next_event(sides.conn[NEAR], &event),
		 RPMA_E_PROVIDER);
	CHECK_EQ(event, RPMA_CONN_UNDEFINED);
	/* The failed call on one side does not affect the event of the other. */
	CHECK_EQ(event_of(sides.conn[FAR]), RPMA_CONN_ESTABLISHED);
	sides_free(&sides);
}

/* Is the address that of a shared mapping of one page? */
static bool is_page(const void *at)
{
	unsigned long from, to, page = sysconf(_SC_PAGESIZE);
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[400], rights[8];
	bool found = false;

	CHECK(maps);
	while (!found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3 &&
			from == (unsigned long)at && to - from == page &&
			rights[3] == 's';
	fclose(maps);
	return found;
}

/*
 * The memory that a flush by READ reads into is in a page of its own: a child may lack pages that
 * are registered.
 */
static void sink_alone(void)
{
	int i;

	sides.peer[NEAR] = peer_new();
	sides.peer[FAR] = peer_new();
	registrations_reset();
	sides_connect(&sides, NULL, NULL);
	if (!registrations.calls)
		skip("this device flushes by itself");
	CHECK_EQ(registrations.calls, 2);
	for (i = 0; i < 2; i++)
		CHECK(is_page(registrations.at[i]));
	sides_disconnect(&sides);
	for (i = 0; i < 2; i++)
		CHECK(!is_page(registrations.at[i]));
	sides_end(&sides);
}

static void set_nonblocking(int fd)
{
	CHECK_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static void await(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	CHECK_EQ(poll(&poll_fd, 1, patience(60) * 1000), 1);
}

/* Without blocking, calls return RPMA_E_NO_EVENT or RPMA_E_NO_COMPLETION. */
static void nonblocking(void)
{
	struct rpma_conn_req *req = NULL;
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	struct memory from, to;
	struct ibv_wc wc[4];
	int ep, near, cq, got = 0;

	listen_here();
	CHECK_EQ(rpma_ep_get_fd(sides.ep, &ep), 0);
	set_nonblocking(ep);
	CHECK_EQ(rpma_ep_next_conn_req(sides.ep, NULL, &req), RPMA_E_NO_EVENT);
	CHECK(!req);
	req = ask(NULL);
	CHECK_EQ(rpma_conn_req_connect(&req, NULL, &sides.conn[NEAR]), 0);
	CHECK_EQ(rpma_conn_get_event_fd(sides.conn[NEAR], &near), 0);
	set_nonblocking(near);
	CHECK_EQ(rpma_conn_next_event(sides.conn[NEAR], &event),
		 RPMA_E_NO_EVENT);
	CHECK_EQ(event, RPMA_CONN_UNDEFINED);
	await(ep);
	CHECK_EQ(rpma_ep_next_conn_req(sides.ep, NULL, &req), 0);
	CHECK_EQ(rpma_conn_req_connect(&req, NULL, &sides.conn[FAR]), 0);
	await(near);
	CHECK_EQ(event_of(sides.conn[NEAR]), RPMA_CONN_ESTABLISHED);
	CHECK_EQ(event_of(sides.conn[FAR]), RPMA_CONN_ESTABLISHED);
	CHECK_EQ(rpma_conn_get_cq(sides.conn[NEAR], &sides.cq[NEAR]), 0);
	CHECK_EQ(rpma_cq_get_fd(sides.cq[NEAR], &cq), 0);
	set_nonblocking(cq);
	CHECK_EQ(rpma_cq_wait(sides.cq[NEAR]), RPMA_E_NO_COMPLETION);
	from = memory_reg(sides.peer[NEAR], 100, 0, RPMA_MR_USAGE_WRITE_SRC);
	to = memory_reg(sides.peer[FAR], 100, 0, RPMA_MR_USAGE_WRITE_DST);
	CHECK_EQ(rpma_write(sides.conn[NEAR], to.remote, 0, from.local, 0, 100,
			    ALWAYS, &to),
		 0);
	await(cq);
	CHECK_EQ(rpma_cq_wait(sides.cq[NEAR]), 0);
	CHECK_EQ(rpma_cq_get_wc(sides.cq[NEAR], 4, wc, &got), 0);
	CHECK_EQ(got, 1);
	CHECK_EQ(wc[0].status, IBV_WC_SUCCESS);
	/* A new completion after a wait raises a new event. */
	CHECK_EQ(rpma_write(sides.conn[NEAR], to.remote, 0, from.local, 0, 100,
			    ALWAYS, &to),
		 0);
	await(cq);
	CHECK_EQ(rpma_cq_wait(sides.cq[NEAR]), 0);
	CHECK_EQ(rpma_cq_get_wc(sides.cq[NEAR], 4, wc, &got), 0);
	WRONG(rpma_cq_get_wc(NULL, 1, wc, &got));
	WRONG(rpma_cq_get_wc(sides.cq[NEAR], 0, wc, &got));
	WRONG(rpma_cq_get_wc(sides.cq[NEAR], 1, NULL, &got));
	WRONG(rpma_cq_get_wc(sides.cq[NEAR], 2, wc, NULL));
	WRONG(rpma_cq_wait(NULL));
	WRONG(rpma_cq_get_fd(NULL, &cq));
	memory_dereg(&from);
	memory_dereg(&to);
	/* Disconnecting waits for events, so make calls block again. */
	CHECK_EQ(fcntl(near, F_SETFL, 0), 0);
	sides_free(&sides);
}

static const struct test tests[] = {
	TEST(again_and_again, "connect and disconnect"),
	TEST(private_data, "private data both ways"),
	TEST(refused, "a request refused, and nobody there"),
	TEST(unanswered, "an endpoint that goes with a request in it"),
	TEST(outlives_endpoint, "a request that outlives its endpoint"),
	TEST(stays_at_endpoint, "a request that gets no channel of its own"),
	TEST(wrong_arguments, "wrong arguments"),
	TEST(receive_before_connection, "receive before there is a connection"),
	TEST(event_left_alone, "an event that could not be acknowledged"),
	TEST(nonblocking, "calls that do not block"),
	TEST(sink_alone, "what a flush reads into is a page of its own"),
};

HARNESS_MAIN("connections of libpinion-rpma", tests)
