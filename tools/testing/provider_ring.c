// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The provider's ring arithmetic, with a file in memory instead of the kernel: full and empty
 * rings, the wrap of indices at 2^32, and ordering between two threads.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/provider/ring.h"
#include "ktap.h"

enum { ENTRIES = 8, STRIDE = 64 };

/*
 * How much goes from thread to thread: LEAST, then MOST or what can be done in a second. Each time
 * that the ring is full or empty, one of them waits for the other, which may wait for a processor:
 * user-mode Linux runs the threads of a process by turns, and on a busy machine a turn takes long.
 */
enum { LEAST = 100 * ENTRIES, MOST = 1000000 };

/* Shortly before the wrap, so that every test crosses it. */
#define START ((uint32_t)-3)

/* Creates a ring whose two indices are @start. */
static int make(struct pinion_ring *ring, uint32_t start)
{
	struct pinion_ring_info info = {
		.mmap_length =
			sizeof(struct pinion_ring_hdr) + ENTRIES * STRIDE,
		.entries = ENTRIES,
		.stride = STRIDE,
	};
	int fd, err;

	fd = memfd_create("ring", 0);
	if (fd < 0 || ftruncate(fd, info.mmap_length))
		return -1;
	err = pinion_ring_map(ring, fd, &info);
	close(fd);
	if (err)
		return err;
	ring->hdr->user_idx = start;
	ring->hdr->kern_idx = start;
	pinion_ring_resync(ring);
	return 0;
}

static const char *no_ring(void)
{
	struct pinion_ring_info info = {};
	struct pinion_ring ring;

	ENSURE(pinion_ring_map(&ring, -1, &info) == 0);
	ENSURE(!ring.hdr);
	pinion_ring_unmap(&ring);
	return NULL;
}

static const char *fills_to_the_last_slot(void)
{
	struct pinion_ring ring;
	int i;

	ENSURE(make(&ring, START) == 0);
	for (i = 0; i < ENTRIES; i++) {
		ENSURE(!pinion_ring_full(&ring));
		ring.next++;
	}
	ENSURE(pinion_ring_full(&ring));
	ENSURE(ring.hdr->user_idx == START);
	pinion_ring_publish(&ring);
	ENSURE(ring.hdr->user_idx == START + ENTRIES);

	ring.hdr->kern_idx += 2;
	ENSURE(!pinion_ring_full(&ring));
	ring.next += 2;
	ENSURE(pinion_ring_full(&ring));
	pinion_ring_unmap(&ring);
	return NULL;
}

static const char *drains_to_the_last_slot(void)
{
	struct pinion_ring ring;
	int i;

	ENSURE(make(&ring, START) == 0);
	ENSURE(pinion_ring_empty(&ring));
	ring.hdr->kern_idx += ENTRIES;
	for (i = 0; i < ENTRIES; i++) {
		ENSURE(!pinion_ring_empty(&ring));
		ring.next++;
	}
	ENSURE(pinion_ring_empty(&ring));
	pinion_ring_unmap(&ring);
	return NULL;
}

static const char *slots_repeat_and_do_not_overlap(void)
{
	struct pinion_ring ring;
	uint32_t i;

	ENSURE(make(&ring, START) == 0);
	ENSURE(pinion_ring_slot(&ring, 0) == (void *)(ring.hdr + 1));
	for (i = START; i != 2 * ENTRIES; i++) {
		char *slot = pinion_ring_slot(&ring, i);

		ENSURE(slot == (char *)pinion_ring_slot(&ring, i + ENTRIES));
		ENSURE(slot >= ring.slots);
		ENSURE(slot + STRIDE <= ring.slots + ENTRIES * STRIDE);
		ENSURE((slot - ring.slots) % STRIDE == 0);
	}
	pinion_ring_unmap(&ring);
	return NULL;
}

static const char *forgets_on_reset(void)
{
	struct pinion_ring ring;

	ENSURE(make(&ring, START) == 0);
	while (!pinion_ring_full(&ring))
		ring.next++;
	ring.hdr->user_idx = 0;
	ring.hdr->kern_idx = 0;
	pinion_ring_resync(&ring);
	ENSURE(ring.next == 0);
	ENSURE(!pinion_ring_full(&ring));
	pinion_ring_unmap(&ring);
	return NULL;
}

struct stream {
	struct pinion_ring ring;
	uint32_t end; /* atomic: how many are sent in all, when that is known; until then MOST */
};

/* Consumes as the kernel does; returns NULL on a wrong or early value. */
static void *kernel_side(void *arg)
{
	struct stream *stream = arg;
	const struct pinion_ring *ring = &stream->ring;
	struct pinion_ring_hdr *hdr = ring->hdr;
	uint32_t head = START, done = 0;

	while (done < __atomic_load_n(&stream->end, __ATOMIC_RELAXED)) {
		if (__atomic_load_n(&hdr->user_idx, __ATOMIC_ACQUIRE) == head) {
			sched_yield();
			continue;
		}
		if (*(uint32_t *)pinion_ring_slot(ring, head) != done)
			return NULL;
		done++;
		__atomic_store_n(&hdr->kern_idx, ++head, __ATOMIC_RELEASE);
	}
	return arg;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static const char *keeps_order_between_threads(void)
{
	struct stream stream = { .end = MOST };
	struct pinion_ring *ring = &stream.ring;
	double limit = now() + 1;
	pthread_t thread;
	uint32_t sent;
	void *result;

	ENSURE(make(ring, START) == 0);
	ENSURE(pthread_create(&thread, NULL, kernel_side, &stream) == 0);
	for (sent = 0; sent < MOST; sent++) {
		if (pinion_ring_full(ring) && sent >= LEAST && now() > limit)
			break;
		while (pinion_ring_full(ring)) {
			if (pthread_tryjoin_np(thread, &result) == 0)
				return "the other side saw a wrong value";
			sched_yield();
		}
		*(uint32_t *)pinion_ring_slot(ring, ring->next++) = sent;
		pinion_ring_publish(ring);
	}
	__atomic_store_n(&stream.end, sent, __ATOMIC_RELAXED);
	pthread_join(thread, &result);
	ENSURE(result);
	ENSURE(ring->hdr->kern_idx == START + sent);
	pinion_ring_unmap(ring);
	return NULL;
}

int main(void)
{
	static const struct ktap_test tests[] = {
		{ "no_ring", no_ring },
		{ "fills_to_the_last_slot", fills_to_the_last_slot },
		{ "drains_to_the_last_slot", drains_to_the_last_slot },
		{ "slots_repeat_and_do_not_overlap",
		  slots_repeat_and_do_not_overlap },
		{ "forgets_on_reset", forgets_on_reset },
		{ "keeps_order_between_threads", keeps_order_between_threads },
	};

	return ktap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
