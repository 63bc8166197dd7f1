/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Traffic of several threads on the same queues: sends, inline and not, writes and
 * atomics from one end of a link to the other. Every message carries different data,
 * and each has to arrive exactly once. The test may do anything else to the queues
 * meanwhile.
 */
#ifndef PINION_TEST_TRAFFIC_H
#define PINION_TEST_TRAFFIC_H

#include <pthread.h>

#include "link.h"
#include "own.h"

enum {
	TRAFFIC_SLOTS = 64, /* of each region; a sender owns an equal part */
	TRAFFIC_SLOT = 512,
	/* Room for a completion of each send and each receive, and for some of the test. */
	TRAFFIC_CQE = 2 * TRAFFIC_SLOTS + 32,
};

struct traffic {
	/* set by the test, before traffic_make() */
	int senders;
	struct ibv_comp_channel *channel; /* of cq; senders do not poll then */
	struct own *own; /* gives memory for all queues; or NULL */

	struct ibv_pd *pd;
	struct ibv_cq_ex *cq; /* of all four queues */
	struct ibv_srq *srq;
	struct link link;
	struct region out, in, target; /* one more slot: counter of atomics */

	/* atomic */
	bool busy[TRAFFIC_SLOTS];
	bool over; /* no thread posts sends any more */
	bool done; /* everything has arrived */
	int running;
	uint64_t posted, sent, arrived, to_arrive, added;
	uint64_t seeds_out, seeds_in;
	uint64_t changes; /* counted by the test */

	/*
	 * The test may have more queue pairs on cq: the wr_id of their requests is
	 * stranger_id(). Requests of earlier epochs must not complete any more.
	 */
	pthread_rwlock_t epoch_lock; /* pollers: read; new epoch: write */
	uint64_t epoch;
};

/* One thread. */
struct worker {
	struct traffic *t;
	pthread_t thread;
	int number;
	uint64_t rnd; /* its own random numbers */
};

#define GET(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define SET(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELEASE)
#define COUNT(x, v) __atomic_add_fetch(&(x), v, __ATOMIC_ACQ_REL)

/* @td: create all queues in a parent domain with this thread domain, without locks; or NULL. */
void traffic_make(struct traffic *t, struct ibv_td *td);
void traffic_free(struct traffic *t);

/* Run @body(worker) in a thread. */
void worker_start(struct worker *w, struct traffic *t, int number,
		  void *(*body)(void *arg));
uint64_t worker_rnd(struct worker *w, uint64_t end);

/* Body of a sender, of which there are t->senders, numbered from 0. */
void *traffic_send(void *arg);
/* Poll some completions and check them. Returns how many. */
int traffic_poll(struct worker *w);
/* The wr_id for requests of queue pairs of the test, in the current epoch. */
uint64_t stranger_id(const struct traffic *t);
/* Have there been requests, messages that have to arrive, and atomics? */
bool traffic_seen(const struct traffic *t);
/* Stop posting, wait until everything has arrived, and end the threads. */
void traffic_settle(struct traffic *t);
/* Check that everything has arrived once, and that there was some of each kind. */
void traffic_check(const struct traffic *t);

#endif /* PINION_TEST_TRAFFIC_H */
