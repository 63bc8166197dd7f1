// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registered memory: advice (item E29), and many threads at once (E30).
 */
#include <pthread.h>
#include <stdlib.h>

#include "sides.h"

#define WRONG(call) CHECK_EQ(call, RPMA_E_INVAL)

/* Advice within a region is given to the device, other advice is refused. */
static void e29_advice(void)
{
	enum {
		PREFETCH = IBV_ADVISE_MR_ADVICE_PREFETCH,
		WRITE = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
		FLUSH = IBV_ADVISE_MR_FLAG_FLUSH,
	};
	struct rpma_peer *peer = peer_new();
	struct rpma_mr_local *mr;
	static char memory[5 * 4096];
	int rc;

	WRONG(rpma_mr_advise(NULL, 0, 1, PREFETCH, FLUSH));
	CHECK_EQ(rpma_mr_reg(peer, memory, sizeof(memory), 0xcf, &mr), 0);
	WRONG(rpma_mr_advise(mr, 0, sizeof(memory) + 1, PREFETCH, FLUSH));
	WRONG(rpma_mr_advise(mr, 1, sizeof(memory), PREFETCH, FLUSH));
	WRONG(rpma_mr_advise(mr, SIZE_MAX, 2, PREFETCH, FLUSH));
	WRONG(rpma_mr_advise(mr, 0, 1ULL << 32, PREFETCH, FLUSH));
	if (dev.pinion) {
		CHECK_EQ(rpma_mr_advise(mr, 0, 1, 77, FLUSH), RPMA_E_NOSUPP);
		WRONG(rpma_mr_advise(mr, 0, 1, PREFETCH, 1U << 31));
		/* Prefetching pinned memory is an error. */
		rc = rpma_mr_advise(mr, 0, 1, WRITE, FLUSH);
		CHECK(rc == RPMA_E_INVAL || rc == RPMA_E_PROVIDER);
	}
	CHECK_EQ(rpma_mr_dereg(&mr), 0);
	CHECK_EQ(rpma_peer_delete(&peer), 0);
}

enum { THREADS = 8, ROUNDS = 200 };

static void *register_much(void *arg)
{
	struct rpma_peer *peer = arg;
	struct rpma_mr_remote *remote;
	struct rpma_mr_local *mr;
	char *memory = MUST(calloc(3, 4096));
	char wire[64];
	size_t size;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		CHECK_EQ(rpma_mr_reg(peer, memory + i, 4096 + i, 1 + i % 255,
				     &mr),
			 0);
		CHECK_EQ(rpma_mr_get_descriptor(mr, wire), 0);
		CHECK_EQ(rpma_mr_remote_from_descriptor(wire, 21, &remote), 0);
		CHECK_EQ(rpma_mr_remote_get_size(remote, &size), 0);
		CHECK_EQ(size, 4096 + i);
		CHECK_EQ(rpma_mr_remote_delete(&remote), 0);
		CHECK_EQ(rpma_mr_dereg(&mr), 0);
	}
	free(memory);
	return NULL;
}

/* Eight threads register and deregister regions of one peer. */
static void e30_threads(void)
{
	struct rpma_peer *peer = peer_new();
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, register_much, peer),
			 0);
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	CHECK_EQ(rpma_peer_delete(&peer), 0);
}

static const struct test tests[] = {
	TEST(e29_advice, "E29 advice"),
	TEST(e30_threads, "E30 regions of eight threads"),
};

HARNESS_MAIN("registered memory of libpinion-rpma", tests)
