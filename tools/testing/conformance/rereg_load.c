// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_rereg_mr(3) while the region is in use: each access sees the old region or
 * the new one (item B21), and threads that change one region do not harm it (B20).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "link.h"
#include "pins.h"
#include "raw.h"
#include "writer.h"

enum {
	TRANS = IBV_REREG_MR_CHANGE_TRANSLATION,
	PD = IBV_REREG_MR_CHANGE_PD,
	ACCESS = IBV_REREG_MR_CHANGE_ACCESS,
	ZERO_BASED = ALL_ACCESS | IBV_ACCESS_ZERO_BASED,
};

struct reader {
	struct link link;
	struct region mine;
	struct ibv_mr *mr;
	size_t length;
	_Atomic bool stop;
	_Atomic unsigned long done, refused;
	_Atomic bool saw[256]; /* a message consisted of this byte */
};

/*
 * All bytes of a message are from the same memory. By packets this holds for each part that a
 * READ asks for, of 64 packets.
 */
static bool uniform(const struct reader *u)
{
	size_t part = dev.packets ? 64 * (128U << u->link.a.cfg.mtu) :
				    u->length;

	return bytes_are_uniform(u->mine.buf->data, u->length, part);
}

static void *read_on(void *arg)
{
	struct reader *u = arg;
	struct ibv_wc wc;

	while (!u->stop) {
		wc = rdma(&u->link.a, IBV_WR_RDMA_READ,
			  sge_of(&u->mine, 0, u->length), 0, u->mr->rkey);
		if (wc.status != IBV_WC_SUCCESS) {
			expect(wc, IBV_WC_REM_ACCESS_ERR);
			link_renew(&u->link);
			u->refused++;
			continue;
		}
		u->done++;
		if (!uniform(u))
			FAIL("one read saw both the old and the new memory");
		u->saw[u->mine.buf->data[0]] = true;
	}
	return NULL;
}

static struct buf *filled(size_t length, int byte)
{
	struct buf *buf = buf_new(length, rnd_below(PAGE));

	memset(buf->data, byte, length);
	return buf;
}

static void start_reader(struct reader *u, pthread_t *thread, struct ibv_mr *mr,
			 size_t length)
{
	link_make(&u->link, NULL);
	u->mine = region_new(length, 77, ALL_ACCESS);
	memset(u->mine.buf->data, 0x77, length);
	u->mr = mr;
	u->length = length;
	CHECK_EQ(pthread_create(thread, NULL, read_on, u), 0);
}

static bool saw_both(const struct reader *u)
{
	return u->saw[0xaa] && u->saw[0xbb];
}

/* The region alternates between two buffers at the same iova, zero. */
static void b21_readers(int length)
{
	struct buf *bufs[2] = { filled(length, 0xaa), filled(length, 0xbb) };
	double end = now() + opt.seconds;
	struct reader readers[2] = {};
	unsigned long changes = 0;
	pthread_t threads[2];
	struct ibv_mr *mr;
	size_t i;

	mr = MUST(ibv_reg_mr(dev.pd, bufs[0]->data, length, ZERO_BASED));
	for (i = 0; i < 2; i++)
		start_reader(&readers[i], &threads[i], mr, length);
	while (go_on(end, saw_both(&readers[0]) && saw_both(&readers[1]))) {
		CHECK_EQ(ibv_rereg_mr(mr, TRANS | ACCESS, NULL,
				      bufs[++changes & 1]->data, length,
				      ZERO_BASED),
			 0);
		if (!(changes & 7))
			usleep(rnd_below(500));
	}
	for (i = 0; i < 2; i++) {
		readers[i].stop = true;
		pthread_join(threads[i], NULL);
		note("%lu changes, %lu reads, %lu refused", changes,
		     readers[i].done, readers[i].refused);
		CHECK(saw_both(&readers[i]));
		/* Messages that are copied at once, not by packets, are never refused half-way. */
		if (dev.pinion && !dev.packets && length < 10000)
			CHECK_EQ(readers[i].refused, 0);
	}
}

/* Messages from or to two parts of one region, each a piece of a request's scatter list. */
struct scatterer {
	struct link link;
	struct ibv_mr *mr; /* of one of @bufs, both of two PARTs */
	struct buf *bufs[2];
	struct region whole; /* at the other end of the messages */
	enum ibv_wr_opcode opcode;
	_Atomic bool stop;
	_Atomic unsigned long done, refused;
};

enum { PART = 60000 };

static struct ibv_wc use_parts_once(struct scatterer *s)
{
	struct ibv_sge parts[2] = { { 0, PART, s->mr->lkey },
				    { PART, PART, s->mr->lkey } };
	struct ibv_sge whole = sge_of(&s->whole, 0, 2 * PART);
	bool received = s->opcode == IBV_WR_SEND;
	struct ibv_send_wr wr = {
		.sg_list = received ? &whole : parts,
		.num_sge = received ? 1 : 2,
		.opcode = s->opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { s->whole.base, s->whole.rkey },
	};

	if (received)
		post_recv(&s->link.b, parts, 2, 1);
	post(&s->link.a, &wr);
	return await(s->link.a.scq);
}

static bool consists_of(const uint8_t *data, int byte)
{
	return data[0] == byte && !memcmp(data, data + 1, 2 * PART - 1);
}

/* A message that succeeded was in one of the two buffers, and not half in each. */
static void check_parts(const struct scatterer *s, int byte)
{
	if (s->opcode == IBV_WR_RDMA_WRITE) {
		if (!consists_of(s->whole.buf->data, s->whole.buf->data[0]))
			FAIL("one message is from the old and the new memory");
		return;
	}
	if (!consists_of(s->bufs[0]->data, byte) &&
	    !consists_of(s->bufs[1]->data, byte))
		FAIL("one message is in the old and the new memory");
}

static void *use_parts(void *arg)
{
	struct scatterer *s = arg;
	struct ibv_wc wc;
	int byte = 0;

	while (!s->stop) {
		byte = byte % 255 + 1;
		if (s->opcode != IBV_WR_RDMA_WRITE)
			memset(s->whole.buf->data, byte, 2 * PART);
		wc = use_parts_once(s);
		if (wc.status != IBV_WC_SUCCESS) {
			expect(wc, s->opcode == IBV_WR_SEND ?
					   IBV_WC_REM_OP_ERR :
					   IBV_WC_LOC_PROT_ERR);
			link_renew(&s->link);
			s->refused++;
			continue;
		}
		drain(s->link.b.rcq);
		check_parts(s, byte);
		s->done++;
	}
	return NULL;
}

/* A message with two parts of a region is from or in one memory, whichever part comes first. */
static void b21_parts(int opcode)
{
	struct scatterer s = { .opcode = opcode };
	double end = now() + opt.seconds;
	unsigned long changes = 0;
	pthread_t thread;

	s.bufs[0] = filled(2 * PART, 0xaa);
	s.bufs[1] = filled(2 * PART, 0xbb);
	s.mr = MUST(ibv_reg_mr(dev.pd, s.bufs[0]->data, 2 * PART, ZERO_BASED));
	s.whole = region_new(2 * PART, 77, ALL_ACCESS);
	link_make(&s.link, NULL);
	CHECK_EQ(pthread_create(&thread, NULL, use_parts, &s), 0);
	while (go_on(end, s.done && s.refused)) {
		CHECK_EQ(ibv_rereg_mr(s.mr, TRANS | ACCESS, NULL,
				      s.bufs[++changes & 1]->data, 2 * PART,
				      ZERO_BASED),
			 0);
		usleep(rnd_below(500));
	}
	s.stop = true;
	pthread_join(thread, NULL);
	note("%lu changes, %lu messages, %lu refused", changes, s.done,
	     s.refused);
	CHECK(s.done && s.refused);
}

enum { WRITTEN = 60000 };

/* A writer with a link and a source of its own. */
struct writing {
	struct link link;
	struct region mine;
	struct writer writer;
};

static void start_writing(struct writing *w, struct ibv_mr *mr)
{
	link_make(&w->link, NULL);
	w->mine = region_new(WRITTEN, 77, ALL_ACCESS);
	w->writer = (struct writer){
		.link = &w->link,
		.from = &w->mine,
		.rkey = mr->rkey,
	};
	writer_start(&w->writer);
}

/* Once rereg returns, nothing is written to the old memory. */
static void b21_old_memory(void)
{
	struct buf *bufs[2] = { filled(WRITTEN, 0xaa), filled(WRITTEN, 0xbb) };
	double end = now() + opt.seconds;
	struct writing w[2];
	unsigned long changes = 0;
	struct ibv_mr *mr;
	struct buf *old;
	size_t i;

	mr = MUST(ibv_reg_mr(dev.pd, bufs[0]->data, WRITTEN, ZERO_BASED));
	for (i = 0; i < 2; i++)
		start_writing(&w[i], mr);
	while (go_on(end, w[0].writer.done && w[1].writer.done)) {
		old = bufs[changes & 1];
		CHECK_EQ(ibv_rereg_mr(mr, TRANS | ACCESS, NULL,
				      bufs[++changes & 1]->data, WRITTEN,
				      ZERO_BASED),
			 0);
		for (i = 0; i < 2; i++)
			w[i].writer.rkey = mr->rkey;
		buf_fill(old);
		usleep(rnd_below(200));
		buf_check(old);
	}
	for (i = 0; i < 2; i++)
		writer_end(&w[i].writer, changes);
}

/* Once rereg returns, revoked rights are gone. */
static void b21_revoked(void)
{
	struct buf *buf = filled(WRITTEN, 0xaa);
	double end = now() + opt.seconds;
	struct writing w;
	struct ibv_mr *mr;
	unsigned long rounds = 0;

	mr = MUST(ibv_reg_mr(dev.pd, buf->data, WRITTEN, ZERO_BASED));
	start_writing(&w, mr);
	for (; go_on(end, w.writer.done && w.writer.refused); rounds++) {
		usleep(rnd_below(200));
		CHECK_EQ(ibv_rereg_mr(mr, ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_ZERO_BASED),
			 0);
		buf_fill(buf);
		usleep(rnd_below(100));
		buf_check(buf);
		CHECK_EQ(ibv_rereg_mr(mr, ACCESS, NULL, NULL, 0, ZERO_BASED),
			 0);
		w.writer.rkey = mr->rkey;
	}
	writer_end(&w.writer, rounds);
	CHECK(w.writer.refused);
}

struct changer {
	struct ibv_mr *mr;
	struct buf *bufs[2];
	struct ibv_pd *pds[2];
	_Atomic bool *stop;
	uint64_t seed;
	_Atomic unsigned long changes, errors;
};

/* By raw commands, because libibverbs' copy of the MR is not thread-safe. */
static void *change(void *arg)
{
	struct changer *c = arg;
	uint64_t i = c->seed;

	while (!*c->stop) {
		struct buf *buf = c->bufs[(i += 7) >> 1 & 1];
		size_t length = i % 3 ? buf->length : i * 4099 % 9000 + 1;
		struct ib_uverbs_rereg_mr cmd = {
			.mr_handle = c->mr->handle,
			.flags = i % 7 + 1,
			.start = (uintptr_t)buf->data,
			.hca_va = (uintptr_t)buf->data,
			.length = i % 11 ? length : -9000ULL,
			.access_flags = ALL_ACCESS,
			.pd_handle = c->pds[i >> 3 & 1]->handle,
		};

		if (raw_rereg_mr(dev.ctx->cmd_fd, &cmd))
			c->errors++;
		else
			c->changes++;
	}
	return NULL;
}

/* Traffic with a region that is registered again for one of two buffers at any time. */
struct visitor {
	struct link link;
	struct region mine;
	struct buf **bufs;
	uint32_t rkey;
	_Atomic bool *stop;
	_Atomic unsigned long reads, writes, refused;
};

/*
 * The addresses of the region are those of its memory, so what is not refused is of the buffer that
 * was named: reads return its bytes. Writes do not change them, but would those of the other one.
 */
static void *visit(void *arg)
{
	struct visitor *v = arg;
	struct ibv_wc wc;

	while (!*v->stop) {
		const struct buf *buf = v->bufs[rnd() & 1];
		/* Mostly at the beginning, which most regions have. */
		size_t length = rnd_in(1, rnd() & 3 ? 500 : 9000);
		size_t at = rnd_below(rnd() & 7 ? 500 : buf->length - length);
		bool write = rnd() & 1;

		if (write)
			memcpy(v->mine.buf->data, buf->want + at, length);
		wc = rdma(&v->link.a,
			  write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
			  sge_of(&v->mine, 0, length),
			  (uintptr_t)buf->data + at, v->rkey);
		if (wc.status != IBV_WC_SUCCESS) {
			expect(wc, IBV_WC_REM_ACCESS_ERR);
			link_renew(&v->link);
			v->refused++;
		} else if (write) {
			v->writes++;
		} else {
			v->reads++;
			if (memcmp(v->mine.buf->data, buf->want + at, length))
				FAIL("%zu bytes read at %zu are not those of the buffer",
				     length, at);
		}
	}
	return NULL;
}

static bool visited_enough(const struct visitor *v)
{
	return v->reads >= 20 && v->writes >= 20 && v->refused >= 20;
}

/*
 * Four threads change one region, its memory, domain and rights, while a fifth reads and writes by
 * it: each change and each message succeeds as a whole or is refused, and the bytes stay.
 */
static void b20_two_threads(void)
{
	struct ibv_pd *other = MUST(ibv_alloc_pd(dev.ctx));
	struct buf *a = buf_new(50001, 9), *b = buf_new(300000, 4000);
	double end = now() + opt.seconds;
	struct changer changers[4];
	_Atomic bool stop = false;
	pthread_t threads[4], visiting;
	unsigned long changes = 0, errors = 0;
	struct visitor visitor = {
		.bufs = (struct buf *[]){ a, b },
		.stop = &stop,
	};
	struct region all = region_new(30000, 77, ALL_ACCESS), r;
	struct link link;
	struct ibv_mr *mr;
	long pins;
	size_t i;

	link_make(&link, NULL);
	link_make(&visitor.link, NULL);
	visitor.mine = region_new(9000, 3, ALL_ACCESS);
	pins = vm_pin(0);
	mr = MUST(ibv_reg_mr(dev.pd, a->data, a->length, ALL_ACCESS));
	visitor.rkey = mr->rkey;
	CHECK_EQ(pthread_create(&visiting, NULL, visit, &visitor), 0);
	for (i = 0; i < 4; i++) {
		changers[i] = (struct changer){
			.mr = mr,
			.bufs = { a, b },
			.pds = { dev.pd, other },
			.stop = &stop,
			.seed = i * 5,
		};
		CHECK_EQ(pthread_create(&threads[i], NULL, change,
					&changers[i]),
			 0);
	}
	while (go_on(end, changers[0].changes && visited_enough(&visitor)))
		usleep(10000);
	stop = true;
	pthread_join(visiting, NULL);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		changes += changers[i].changes;
		errors += changers[i].errors;
	}
	note("%lu changes, %lu refused; %lu reads, %lu writes, %lu refused",
	     changes, errors, visitor.reads, visitor.writes, visitor.refused);
	CHECK(changes && errors);
	CHECK(visited_enough(&visitor));
	buf_check(a);
	buf_check(b);
	/* The region still works, and is consistent. */
	r = region_of(a, mr, (uintptr_t)a->data);
	region_rereg(&r, TRANS | PD | ACCESS, dev.pd, b, ALL_ACCESS);
	exchange(&link, &all, &r);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(vm_pin(0), pins);
	CHECK_EQ(ibv_dealloc_pd(other), 0);
}

static const struct test tests[] = {
	TEST(b20_two_threads, "B20 four threads change one region (class 7)"),
	TEST_OF(b21_readers, 9001, "B21 small reads see one memory"),
	TEST_OF(b21_readers, 300001, "B21 reads of many pages see one memory"),
	TEST_OF(b21_readers, 3000001, "B21 reads of megabytes see one memory"),
	TEST_OF(b21_parts, IBV_WR_RDMA_WRITE,
		"B21 two parts of a region that are written are of one memory"),
	TEST_OF(b21_parts, IBV_WR_RDMA_READ,
		"B21 two parts of a region that are read into are of one memory"),
	TEST_OF(b21_parts, IBV_WR_SEND,
		"B21 two parts of a region that receive are of one memory"),
	TEST(b21_old_memory, "B21 the old memory is left alone"),
	TEST(b21_revoked, "B21 revoked rights are gone"),
};

HARNESS_MAIN("ibv_rereg_mr(3) under load", tests)
