// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events of queues made by command, delivered by channels or eventfds, and asynchronous queries
 * (items VE1 to VE11).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "raw_queue.h"

enum { LEN = 4096, EQE = 64, SOLICITED = 2 };

enum {
	COMPLETION = 0x00,
	COMM_EST = 0x02,
	CQ_ERROR = 0x04,
	QP_FATAL = 0x05,
	QP_REQUEST = 0x10,
	QP_ACCESS = 0x11,
	LAST_WQE = 0x13,
	SRQ_LIMIT = 0x14,
};

typedef struct mlx5dv_devx_event_channel *channel_t;

static struct raw_queue a, b;
static struct region from, to;
static channel_t channel;

static void begin(uint32_t flags)
{
	dv_begin();
	from = region_new(LEN, 3, ALL_ACCESS);
	to = region_new(LEN, 5, ALL_ACCESS);
	raw_make_pair(&a, &b, false);
	channel = MUST(mlx5dv_devx_create_event_channel(dev.ctx, flags));
	CHECK_EQ(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
}

static void end(void)
{
	mlx5dv_devx_destroy_event_channel(channel);
	raw_free(&a);
	raw_free(&b);
}

static int subscribe(obj_t obj, uint16_t type, uint64_t cookie)
{
	return mlx5dv_devx_subscribe_devx_event(channel, obj, sizeof(type),
						&type, cookie);
}

struct event {
	uint64_t cookie;
	uint8_t eqe[EQE];
};

static bool there_is(int fd, int ms)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, ms) == 1;
}

static struct event await_event(uint64_t cookie, uint8_t type)
{
	struct event event = {};

	if (!there_is(channel->fd, PATIENCE * 1000))
		FAIL("no event %#x comes", type);
	CHECK_EQ(mlx5dv_devx_get_event(channel, (void *)&event, sizeof(event)),
		 sizeof(event));
	CHECK_EQ(event.cookie, cookie);
	CHECK_EQ(event.eqe[1], type);
	return event;
}

static void no_event(void)
{
	struct event event;

	errno = 0;
	CHECK_EQ(mlx5dv_devx_get_event(channel, (void *)&event, sizeof(event)),
		 -1);
	CHECK_EQ(errno, EAGAIN);
}

static void write_one(uint8_t flags)
{
	uint8_t segments[2 * SEGMENT];

	raw_address(segments, &to, 0);
	raw_data(segments + SEGMENT, &from, 0, 100);
	raw_post(&a, RAW_WRITE, flags, 0, segments, 2);
	raw_ring(&a);
}

/* @told: the number of events so far, which makes the word different each time. */
static void arm(struct raw_queue *q, uint32_t told, bool solicited)
{
	uint32_t *record = (uint32_t *)(q->buf->data + CQ_RECORD_AT);
	uint32_t word = (told & 3) << 28 | (solicited ? 1 << 24 : 0) |
			(q->cq_seen & 0xffffff);

	__atomic_store_n(&record[1], htobe32(word), __ATOMIC_SEQ_CST);
}

/* One event each time the queue is armed, before or after the completion. */
static void ve1_completions(void)
{
	struct raw_cqe cqe;
	struct event event;
	uint32_t i;

	begin(0);
	CHECK_EQ(subscribe(a.cq, COMPLETION, 0x1122334455667788), 0);
	for (i = 0; i < 50; i++) {
		arm(&a, i, false);
		if (rnd() & 1)
			usleep(rnd_in(0, 3000));
		write_one(RAW_SIGNALED);
		event = await_event(0x1122334455667788, COMPLETION);
		CHECK_EQ(prm_get32(event.eqe, 56), a.cqn);
		CHECK(raw_poll(&a, &cqe));
		write_one(RAW_SIGNALED);
		raw_await(&a);
		no_event();
	}
	/* Arming with a completion already in the queue gives an event, too. */
	for (; i < 60; i++) {
		write_one(RAW_SIGNALED);
		while (!raw_peek(&a, &cqe))
			;
		a.cq_seen--;
		no_event();
		arm(&a, i, false);
		await_event(0x1122334455667788, COMPLETION);
		raw_await(&a);
	}
	end();
}

/* Armed after a long rest of the device, with a completion in the queue that came before it. */
static void ve11_armed_late(void)
{
	enum { LONG_REST_US = 600000 };
	struct raw_cqe cqe;
	uint32_t i;

	begin(0);
	CHECK_EQ(subscribe(a.cq, COMPLETION, 0x1122), 0);
	for (i = 0; i < 3; i++) {
		write_one(RAW_SIGNALED);
		while (!raw_peek(&a, &cqe))
			;
		a.cq_seen--;
		if (!i)
			await_event(0x1122, COMPLETION);
		usleep(LONG_REST_US);
		no_event();
		arm(&a, i + 1, false);
		await_event(0x1122, COMPLETION);
		raw_await(&a);
	}
	end();
}

/* A queue armed for solicited completions tells of those and of errors alone. */
static void ve2_solicited(void)
{
	uint8_t segment[SEGMENT];
	uint32_t i;

	begin(0);
	CHECK_EQ(subscribe(b.cq, COMPLETION, 7), 0);
	for (i = 0; i < 20; i++) {
		arm(&b, i, true);
		raw_data(segment, &to, 0, LEN);
		raw_post_recv(&b, segment, 1);
		raw_post_recv(&b, segment, 1);
		raw_data(segment, &from, 0, 100);
		raw_post(&a, RAW_SEND, RAW_SIGNALED, 0, segment, 1);
		raw_ring(&a);
		raw_await(&a);
		raw_await(&b);
		no_event();
		raw_post(&a, RAW_SEND, RAW_SIGNALED | SOLICITED, 0, segment, 1);
		raw_ring(&a);
		raw_await(&a);
		await_event(7, COMPLETION);
		raw_await(&b);
	}
	/* An error completion counts as solicited. */
	arm(&b, i, true);
	raw_post_recv(&b, segment, 1);
	raw_change(&b, PRM_2ERR_QP, &(struct prm_path){},
		   (uint8_t[PRM_HEAD]){});
	await_event(7, COMPLETION);
	end();
}

/*
 * A completion queue that overflows, and its queue pair: one event each, in a channel and by an
 * eventfd.
 */
static void ve3_errors(void)
{
	int fd = eventfd(0, EFD_NONBLOCK);
	struct event event;
	struct raw_cqe cqe;
	uint64_t count = 0;
	uint32_t i;

	begin(0);
	CHECK_EQ(subscribe(a.cq, CQ_ERROR, 1), 0);
	CHECK_EQ(subscribe(a.qp, QP_FATAL, 2), 0);
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event_fd(channel, fd, a.cq,
						     CQ_ERROR),
		 0);
	for (i = 0; i <= 1 << CQ_LOG; i++) {
		write_one(RAW_SIGNALED);
		/* Leaves the consumer index as it is, so that the queue fills. */
		while (i < 1 << CQ_LOG && !raw_peek(&a, &cqe))
			;
	}
	event = await_event(1, CQ_ERROR);
	CHECK_EQ(prm_get32(event.eqe, 32), a.cqn);
	CHECK_EQ(event.eqe[43], 1);
	event = await_event(2, QP_FATAL);
	CHECK_EQ(prm_get32(event.eqe, 56), a.qpn);
	CHECK_EQ(read(fd, &count, sizeof(count)), sizeof(count));
	CHECK_EQ(count, 1);
	no_event();
	CHECK_EQ(close(fd), 0);
	end();
}

/* A forbidden request gives an event of the responder. */
static void ve4_requests(void)
{
	uint8_t segments[2 * SEGMENT];
	struct region wrong;
	uint16_t types[] = { COMM_EST, QP_ACCESS, QP_REQUEST };
	struct event event;

	begin(0);
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event(channel, b.qp, sizeof(types),
						  types, 9),
		 0);
	wrong = to;
	wrong.rkey ^= 0x5500;
	raw_address(segments, &wrong, 0);
	raw_data(segments + SEGMENT, &from, 0, 100);
	raw_post(&a, RAW_WRITE, RAW_SIGNALED, 0, segments, 2);
	raw_ring(&a);
	CHECK_EQ(raw_await(&a).opcode, BAD_REQUEST);
	event = await_event(9, QP_ACCESS);
	CHECK_EQ(prm_get32(event.eqe, 56), b.qpn);
	no_event();
	end();
}

/* A shared queue tells of its limit, a queue pair of its last request, once each. */
static void ve5_limit(void)
{
	uint8_t segment[SEGMENT], out[PRM_HEAD] = {}, in[PRM_RMP];
	struct raw_pool pool;
	struct event event;
	uint32_t i;

	begin(0);
	raw_pool_make(&pool, true);
	raw_free(&b);
	raw_places(&b, false);
	raw_share(&b, &pool);
	b.qp = MUST(raw_try_qp(&b, out));
	b.qpn = prm_number(out);
	raw_change(&a, PRM_2RST_QP, &(struct prm_path){}, out);
	raw_connect(&a, b.qpn);
	raw_connect(&b, a.qpn);
	CHECK_EQ(subscribe(pool.obj, SRQ_LIMIT, 3), 0);
	CHECK_EQ(subscribe(b.qp, LAST_WQE, 4), 0);
	prm_modify_rmp(in, pool.number, 2);
	CHECK_EQ(mlx5dv_devx_obj_modify(pool.obj, in, sizeof(in), out,
					sizeof(out)),
		 0);
	raw_data(segment, &to, 0, LEN);
	for (i = 0; i < 4; i++)
		raw_pool_fill(&pool, i, 0, segment, 1);
	raw_pool_ring(&pool);
	raw_data(segment, &from, 0, 10);
	for (i = 0; i < 3; i++) {
		no_event();
		raw_post(&a, RAW_SEND, RAW_SIGNALED, 0, segment, 1);
		raw_ring(&a);
		raw_await(&a);
		raw_await(&b);
	}
	event = await_event(3, SRQ_LIMIT);
	CHECK_EQ(prm_get32(event.eqe, 56), pool.number);
	CHECK_EQ(raw_change(&b, PRM_2ERR_QP, &(struct prm_path){}, out), 0);
	event = await_event(4, LAST_WQE);
	CHECK_EQ(prm_get32(event.eqe, 56), b.qpn);
	no_event();
	mlx5dv_devx_destroy_event_channel(channel);
	raw_free(&a);
	raw_free(&b);
	raw_pool_free(&pool);
}

/* A channel without event data gives only cookies; a read of less fails and consumes nothing. */
static void ve6_cookies(void)
{
	uint64_t cookie = 0;
	uint8_t few[7];

	begin(MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA);
	CHECK_EQ(subscribe(a.cq, COMPLETION, 0xc00c1e), 0);
	arm(&a, 0, false);
	write_one(RAW_SIGNALED);
	raw_await(&a);
	CHECK(there_is(channel->fd, PATIENCE * 1000));
	CHECK_EQ(mlx5dv_devx_get_event(channel, (void *)few, sizeof(few)), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(mlx5dv_devx_get_event(channel, (void *)&cookie,
				       sizeof(cookie)),
		 sizeof(cookie));
	CHECK_EQ(cookie, 0xc00c1e);
	no_event();
	end();
}

/* Wrong types, objects, lists and files are refused. */
static void ve7_refused(void)
{
	uint16_t many[17] = {}, two[2] = { CQ_ERROR, LAST_WQE };
	channel_t another;
	uint32_t i;
	int fd;

	begin(0);
	/* Unknown types, types of other objects, no object; wrong lists of types. */
	CHECK_EQ(subscribe(a.cq, 0x99, 0), EINVAL);
	CHECK_EQ(subscribe(a.cq, 0x400, 0), EINVAL);
	CHECK_EQ(subscribe(a.cq, LAST_WQE, 0), EINVAL);
	CHECK_EQ(subscribe(a.qp, CQ_ERROR, 0), EINVAL);
	CHECK_EQ(subscribe(NULL, CQ_ERROR, 0), EINVAL);
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event(channel, a.cq, sizeof(two),
						  two, 0),
		 EINVAL);
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event(channel, a.cq, sizeof(many),
						  many, 0),
		 EINVAL);
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event(channel, a.cq, 3, two, 0),
		 EINVAL);
	/* A file that is not an eventfd. */
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event_fd(channel, -1, a.cq,
						     CQ_ERROR),
		 EBADF);
	fd = open("/dev/null", O_RDWR);
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event_fd(channel, fd, a.cq,
						     CQ_ERROR),
		 EINVAL);
	CHECK_EQ(close(fd), 0);
	CHECK(!mlx5dv_devx_create_event_channel(dev.ctx, 2));
	CHECK_EQ(errno, EINVAL);
	/* An object has at most 64 subscriptions in all. */
	another = MUST(mlx5dv_devx_create_event_channel(dev.ctx, 0));
	for (i = 0; subscribe(a.cq, CQ_ERROR, i) == 0; i++)
		CHECK(i < 1000);
	CHECK_EQ(i, 64);
	CHECK_EQ(subscribe(a.cq, CQ_ERROR, i), ENOSPC);
	CHECK_EQ(subscribe(b.cq, CQ_ERROR, i), 0);
	mlx5dv_devx_destroy_event_channel(another);
	end();
}

static bool stop;

static void *write_on(void *unused)
{
	struct raw_cqe cqe;
	uint32_t i;

	(void)unused;
	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		arm(&a, i, false);
		write_one(RAW_SIGNALED);
		while (!raw_poll(&a, &cqe) &&
		       !__atomic_load_n(&stop, __ATOMIC_RELAXED))
			;
	}
	return NULL;
}

/* Channels and queues are destroyed in any order under traffic. */
static void ve8_ends(void)
{
	time_t until = time(NULL) + opt.seconds;
	channel_t channels[4];
	struct event event;
	pthread_t thread;
	uint32_t i, seen = 0;

	do {
		begin(0);
		stop = false;
		CHECK_EQ(pthread_create(&thread, NULL, write_on, NULL), 0);
		for (i = 0; i < 4; i++) {
			channels[i] = MUST(
				mlx5dv_devx_create_event_channel(dev.ctx, 0));
			CHECK_EQ(mlx5dv_devx_subscribe_devx_event(
					 channels[i], a.cq, 2,
					 &(uint16_t){ COMPLETION }, i),
				 0);
		}
		usleep(rnd_in(1, 20000));
		if (there_is(channels[2]->fd, 1000) &&
		    mlx5dv_devx_get_event(channels[2], (void *)&event,
					  sizeof(event)) > 0)
			seen++;
		mlx5dv_devx_destroy_event_channel(channels[0]);
		mlx5dv_devx_destroy_event_channel(channels[1]);
		if (rnd() & 1) {
			CHECK_EQ(mlx5dv_devx_obj_destroy(a.qp), 0);
			__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
			CHECK_EQ(pthread_join(thread, NULL), 0);
		} else {
			__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
			CHECK_EQ(pthread_join(thread, NULL), 0);
			CHECK_EQ(mlx5dv_devx_obj_destroy(a.qp), 0);
		}
		/* A channel has no events of an object that is destroyed. */
		CHECK_EQ(mlx5dv_devx_obj_destroy(a.cq), 0);
		CHECK(!there_is(channels[2]->fd, 0));
		mlx5dv_devx_destroy_event_channel(channels[2]);
		mlx5dv_devx_destroy_event_channel(channels[3]);
		CHECK_EQ(mlx5dv_devx_umem_dereg(a.umem), 0);
		mlx5dv_devx_destroy_event_channel(channel);
		raw_free(&b);
		CHECK_EQ(ibv_dereg_mr(from.mr), 0);
		CHECK_EQ(ibv_dereg_mr(to.mr), 0);
	} while (time(NULL) < until);
	CHECK(seen);
}

/* An event that was not read is dropped when its object is destroyed. */
static void ve10_unread(void)
{
	begin(0);
	CHECK_EQ(subscribe(a.cq, COMPLETION, 5), 0);
	arm(&a, 0, false);
	write_one(RAW_SIGNALED);
	raw_await(&a);
	CHECK(there_is(channel->fd, PATIENCE * 1000));
	CHECK_EQ(mlx5dv_devx_obj_destroy(a.qp), 0);
	CHECK(there_is(channel->fd, 0));
	CHECK_EQ(mlx5dv_devx_obj_destroy(a.cq), 0);
	CHECK(!there_is(channel->fd, 0));
	no_event();
	CHECK_EQ(mlx5dv_devx_umem_dereg(a.umem), 0);
	mlx5dv_devx_destroy_event_channel(channel);
	raw_free(&b);
}

struct answer {
	uint64_t wr_id;
	uint8_t out[PRM_QP_OUT];
};

/* Queries are answered in a file, in order, also those that are refused. */
static void ve9_queries(void)
{
	uint8_t in[PRM_HEAD];
	struct mlx5dv_devx_cmd_comp *comp;
	struct answer answer;
	uint32_t i;

	begin(0);
	comp = MUST(mlx5dv_devx_create_cmd_comp(dev.ctx));
	CHECK_EQ(fcntl(comp->fd, F_SETFL, O_NONBLOCK), 0);
	prm_head(in, PRM_QUERY_QP, a.qpn);
	for (i = 0; i < 10; i++)
		CHECK_EQ(mlx5dv_devx_obj_query_async(a.qp, in, sizeof(in),
						     PRM_QP_OUT, 1000 + i,
						     comp),
			 0);
	CHECK_EQ(mlx5dv_devx_get_async_cmd_comp(comp, (void *)&answer,
						sizeof(answer) - 1),
		 ENOSPC);
	for (i = 0; i < 10; i++) {
		memset(&answer, 0xee, sizeof(answer));
		CHECK(there_is(comp->fd, 0));
		CHECK_EQ(mlx5dv_devx_get_async_cmd_comp(comp, (void *)&answer,
							sizeof(answer)),
			 0);
		CHECK_EQ(answer.wr_id, 1000 + i);
		CHECK_EQ(prm_status(answer.out), 0);
		CHECK_EQ(prm_get32(answer.out, PRM_QPC) >> 28, STATE_RTS);
		CHECK_EQ(prm_get32(answer.out, PRM_QPC + 0x14), b.qpn);
	}
	CHECK_EQ(mlx5dv_devx_get_async_cmd_comp(comp, (void *)&answer,
						sizeof(answer)),
		 EAGAIN);
	/*
	 * A refused command is answered; the number of another object and a too short answer are
	 * errors of the call.
	 */
	CHECK_EQ(mlx5dv_devx_obj_query_async(a.qp, in, sizeof(in), PRM_HEAD, 5,
					     comp),
		 0);
	CHECK_EQ(mlx5dv_devx_get_async_cmd_comp(comp, (void *)&answer,
						sizeof(answer)),
		 0);
	CHECK_EQ(prm_syndrome(answer.out), PRM_SHORT_OUT);
	CHECK_EQ(mlx5dv_devx_obj_query_async(b.qp, in, sizeof(in), PRM_QP_OUT,
					     5, comp),
		 EINVAL);
	CHECK_EQ(mlx5dv_devx_obj_query_async(a.qp, in, sizeof(in), 8, 5, comp),
		 EINVAL);
	/* Answers that are not read are limited to 32. */
	for (i = 0; mlx5dv_devx_obj_query_async(a.qp, in, sizeof(in), 32768, i,
						comp) == 0;
	     i++)
		CHECK(i < 1000);
	CHECK_EQ(i, 32);
	CHECK_EQ(mlx5dv_devx_obj_query_async(a.qp, in, sizeof(in), 32768, i,
					     comp),
		 EAGAIN);
	mlx5dv_devx_destroy_cmd_comp(comp);
	end();
}

static const struct test tests[] = {
	TEST(ve1_completions, "VE1 completions that somebody waits for"),
	TEST(ve2_solicited, "VE2 solicited ones alone"),
	TEST(ve3_errors,
	     "VE3 queues that fail, told to a channel and an eventfd"),
	TEST(ve4_requests, "VE4 a peer's request that is refused"),
	TEST(ve5_limit,
	     "VE5 the limit of a shared queue, and its last request"),
	TEST(ve6_cookies, "VE6 a channel without data"),
	TEST(ve7_refused, "VE7 what is refused"),
	LONG_TEST(ve8_ends, "VE8 channels and queues that end", 300),
	TEST(ve10_unread, "VE10 an event that was not read"),
	TEST(ve9_queries, "VE9 queries that are answered in a file"),
	TEST(ve11_armed_late, "VE11 armed after a long rest"),
};

HARNESS_MAIN("DEVX events on pinion", tests)
