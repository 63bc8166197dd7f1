// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Makes calls of methods, and carries out sequences.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "dmabuf.h"
#include "prm.h"
#include "raw.h"
#include "words.h"

enum {
	ANSWER = 1024, /* bytes for an answer, and behind it */
	GUARD = 64,
	FIRST_FILE = 64,
};

static int dmabuf_fd = -1;

/* Map a new ring, whose slots have nothing in them. */
static uint8_t *map_ring(const struct pinion_ring_info *ring)
{
	size_t i;
	uint8_t *at;

	if (!ring->entries || !ring->mmap_length)
		return NULL;
	at = mmap(NULL, ring->mmap_length, PROT_READ | PROT_WRITE, MAP_SHARED,
		  calls_self.fd, ring->mmap_offset);
	if (at == MAP_FAILED)
		return NULL;
	for (i = sizeof(struct pinion_ring_hdr); i < ring->mmap_length; i++) {
		if (at[i])
			FAIL("byte %zu of a new ring is %#x", i, at[i]);
	}
	return at;
}

static void unmap_ring(uint8_t *at, const struct pinion_ring_info *ring)
{
	if (at)
		munmap(at, ring->mmap_length);
}

static void queue_made(uint32_t which, uint32_t qpn,
		       const struct pinion_create_qp_resp *at)
{
	struct queue *q = &calls_self.queue[calls_self.queues];

	if (calls_self.queues == CALLS_QUEUES)
		return;
	*q = (struct queue){ .handle = which, .qpn = qpn, .at = *at };
	q->sq = map_ring(&q->at.sq);
	q->rq = map_ring(&q->at.rq);
	calls_self.queues++;
}

/* Attributes of the call that is being made, and what to do with the answers. */
static struct {
	struct raw raw;
	struct ib_uverbs_attr *made;
	uint16_t makes;
	uint32_t of; /* the handle that the call is about */
	uint16_t opcode; /* of DEVX */
	struct answer answer[METHOD_ATTRIBUTES];
	uint64_t value[METHOD_ATTRIBUTES]; /* what each is */
	unsigned int answers;
	uint8_t in[METHOD_ATTRIBUTES][1024];
	uint8_t out[METHOD_ATTRIBUTES][ANSWER + GUARD];
} call;

uint8_t calls_poison;
/* Of the call that is made. */
static const char *name;

unsigned int calls_answers(const struct answer **answers)
{
	*answers = call.answer;
	return call.answers;
}

uint8_t *calls_answer_begin(uint16_t id, size_t length, uint64_t what)
{
	uint8_t *out = call.out[call.answers];

	memset(out, calls_poison, sizeof(call.out[0]));
	call.answer[call.answers] = (struct answer){ id, length, out };
	call.value[call.answers++] = what;
	return out;
}

void calls_answers_check(void)
{
	unsigned int i;
	size_t at;

	for (i = 0; i < call.answers; i++) {
		for (at = call.answer[i].length; at < sizeof(call.out[i]);
		     at++) {
			if (call.out[i][at] != calls_poison)
				FAIL("%s: byte %zu of an answer of %zu, attribute %#x, was written",
				     name, at, call.answer[i].length,
				     call.answer[i].id);
		}
	}
}

static void add_answer(const struct attribute *a)
{
	struct choice c = word_choose();
	size_t length = a->length;
	uint8_t *to;

	if (c.how == 7)
		return;
	if (c.how == 1)
		length = c.of % ANSWER;
	else if (c.how == 2)
		length += c.of % 64;
	to = calls_answer_begin(a->id, length, a->usual);
	switch (c.how) {
	case 3:
		to = (void *)8;
		break;
	case 4:
		to = calls_read_only;
		break;
	case 5:
		to = calls_arena + CALLS_ARENA - c.of % 64;
		break;
	}
	if (c.how >= 3)
		call.answer[call.answers - 1].at = NULL;
	raw_out(&call.raw, a->id, to, length);
}

/* Of numbers, also of those that are longer than a word. */
static void add_number(const struct attribute *a, uint8_t *in)
{
	struct ib_uverbs_qp_cap cap = { .max_send_sge = 1, .max_recv_sge = 1 };
	uint64_t n;

	if (!word_number(a->usual, &n))
		return;
	memset(in, 0, 64);
	memcpy(in, &n, sizeof(n));
	if (a->length == sizeof(cap)) {
		cap.max_send_wr = n;
		cap.max_recv_wr = word_some(8);
		cap.max_send_sge = word_some(1);
		cap.max_recv_sge = word_some(1);
		cap.max_inline_data = word_some(0);
		memcpy(in, &cap, sizeof(cap));
	}
	raw_in(&call.raw, a->id, in, a->length);
}

static void add_file(const struct attribute *a)
{
	struct choice c = word_choose();
	int32_t file = c.how == 1 ? (int)c.of % 32 - 1 :
		       c.how == 2 ? (int)calls_self.value[VALUE_FILE] :
		       c.how == 3 ? calls_self.fd :
				    dmabuf_fd;

	/* Optional ones only if asked for. */
	if (a->length)
		raw_in(&call.raw, a->id, &file, a->length);
	else if (c.how)
		raw_handle(&call.raw, a->id, file);
}

/* In a umem, if the word says so. */
static void add_place(const struct attribute *a, uint8_t *in)
{
	struct choice c = word_choose();
	struct pinion_ring_place place = {
		.offset = c.of * 64 % CALLS_ARENA,
		.umem_id = calls_self.value[VALUE_UMEM],
	};
	size_t at = a->length == sizeof(struct pinion_create_cq_req) ? 8 : 0;

	if (c.how == 7)
		return;
	memset(in, 0, 64);
	if (c.how) {
		memcpy(in + at, &place, sizeof(place));
		in[0] |= at ? c.how >> 1 : 0;
	}
	if (c.how > 3 && a->length > 24) {
		place.offset = word_some(0);
		memcpy(in + 16, &place, sizeof(place));
	}
	raw_in(&call.raw, a->id, in, c.how == 6 ? c.of % 64 : a->length);
}

static void add_attribute(const struct method *m, const struct attribute *a)
{
	uint8_t *in = call.in[a - m->attribute];
	uint64_t n = 0;

	switch (a->kind) {
	case ATTR_NEW:
		call.makes = a->length;
		call.made = raw_handle(&call.raw, a->id, 0);
		break;
	case ATTR_HANDLE:
		if (!word_handle(a->length, &n))
			break;
		if (a == m->attribute)
			call.of = n;
		raw_handle(&call.raw, a->id, n);
		break;
	case ATTR_ADDRESS:
		if (word_address(&n))
			raw_in(&call.raw, a->id, &n, a->length);
		break;
	case ATTR_COMMAND:
		n = calls_devx_command(in, &call.opcode);
		raw_in(&call.raw, a->id, in, n);
		break;
	case ATTR_PLACE:
		add_place(a, in);
		break;
	case ATTR_ANSWER:
		add_answer(a);
		break;
	case ATTR_FILE:
		add_file(a);
		break;
	default:
		add_number(a, in);
	}
}

static void remember(const struct method *m)
{
	struct pinion_create_qp_resp rings = {};
	unsigned int i;
	uint32_t n;

	if (call.made)
		made_add(call.makes, call.made->data);
	if (m->ends)
		made_drop(m->attribute[0].length, call.of);
	for (i = 0; i < call.answers; i++) {
		const uint8_t *at = call.answer[i].at;

		if (!at)
			continue;
		memcpy(&n, at, sizeof(n));
		if (call.value[i] == VALUE_DEVX) {
			if (calls_devx_makes(call.opcode) != DEVX_OBJECTS)
				calls_self.value[VALUE_DEVX +
						 calls_devx_makes(call.opcode)] =
					prm_number(at);
		} else if (call.value[i]) {
			calls_self.value[call.value[i]] = n;
		}
		if (call.answer[i].id == UVERBS_ATTR_UHW_OUT &&
		    call.makes == UVERBS_OBJECT_QP)
			memcpy(&rings, at, sizeof(rings));
	}
	if (call.made && call.makes == UVERBS_OBJECT_QP)
		queue_made(call.made->data, calls_self.value[VALUE_QPN],
			   &rings);
}

static bool call_method(const struct method *m)
{
	const struct attribute *a;
	bool good;

	call.made = NULL;
	call.makes = 0;
	call.opcode = 0;
	call.of = 0;
	raw_begin(&call.raw, m->object, m->method);
	for (a = m->attribute; a < m->attribute + METHOD_ATTRIBUTES && a->kind;
	     a++)
		add_attribute(m, a);
	good = !raw_call(calls_self.fd, &call.raw);
	calls_answers_check();
	if (good)
		remember(m);
	return good;
}

unsigned int calls_kinds(void)
{
	return methods_count + calls_others_count;
}

const char *calls_name(unsigned int which)
{
	return which < methods_count ? methods[which].name :
				       calls_others[which - methods_count].name;
}

void calls_begin(void)
{
	int i;

	/* The page behind the arena is missing. */
	calls_arena = mmap(NULL, CALLS_ARENA + PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(calls_arena != MAP_FAILED);
	CHECK_EQ(munmap(calls_arena + CALLS_ARENA, PAGE), 0);
	calls_read_only =
		mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(calls_read_only != MAP_FAILED);
	for (i = 0; i < DMABUF_KINDS && dmabuf_fd < 0; i++) {
		if (dmabuf_there(&dmabuf_kinds[i]))
			dmabuf_fd = dmabuf_new(&dmabuf_kinds[i], 4 * PAGE).fd;
	}
	/* What calls open is behind all else, and closed with the context. */
	do {
		i = dup(STDERR_FILENO);
		CHECK(i >= 0);
	} while (i < FIRST_FILE - 1);
}

static void open_context(void)
{
	struct pinion_alloc_ucontext_req req = { .abi_version =
							 PINION_ABI_VERSION };
	char path[128];
	struct raw raw;

	memset(&calls_self, 0, sizeof(calls_self));
	snprintf(path, sizeof(path), "/dev/infiniband/%s",
		 dev.ctx->device->dev_name);
	calls_self.fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK_EQ(calls_self.fd, FIRST_FILE);
	raw_begin(&raw, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	raw_in(&raw, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
	CHECK_EQ(raw_call(calls_self.fd, &raw), 0);
}

/* Also closes the dma-bufs that calls have answered with. */
static void close_context(void)
{
	struct queue *q;
	int fd;

	for (q = calls_self.queue; q < calls_self.queue + calls_self.queues;
	     q++) {
		unmap_ring(q->sq, &q->at.sq);
		unmap_ring(q->rq, &q->at.rq);
	}
	for (fd = FIRST_FILE; fd <= FIRST_FILE + SEQUENCE_CALLS; fd++)
		close(fd);
}

unsigned int sequence_run(const struct sequence *sequence, unsigned long *good)
{
	unsigned int i, sum = 0;
	const struct call *one;
	bool succeeded;

	open_context();
	for (i = 0; i < sequence->calls; i++) {
		one = &sequence->call[i];
		name = calls_name(one->which);
		word_begin(one);
		call.answers = 0;
		succeeded =
			one->which < methods_count ?
				call_method(&methods[one->which]) :
				calls_others[one->which - methods_count].call();
		sum += succeeded;
		if (good && succeeded)
			good[one->which]++;
	}
	close_context();
	return sum;
}
