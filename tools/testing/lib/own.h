/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queues in memory of this process: a parent domain whose allocators count.
 */
#ifndef PINION_TEST_OWN_H
#define PINION_TEST_OWN_H

#include <infiniband/verbs.h>
#include <pinion/queues.h>

/* PINION_RES_TYPE_* without its upper half; 0 is none */
enum { OWN_KINDS = 5 };

enum own_answer {
	OWN_MEMORY,
	OWN_DEFAULT, /* let the provider allocate */
	OWN_NOTHING, /* fail */
	OWN_READ_ONLY, /* memory that cannot be written */
};

struct own {
	int live[OWN_KINDS], ever[OWN_KINDS]; /* atomic */
	void *last[OWN_KINDS]; /* latest allocation of each kind */
	enum own_answer answer;
	int left; /* how many allocations succeed before @answer holds */
};

/* Attributes for ibv_alloc_parent_domain(); the caller has to set pd. */
struct ibv_parent_domain_init_attr own_attr(struct own *own);
/* A parent domain around @pd. */
struct ibv_pd *own_domain(struct own *own, struct ibv_pd *pd);
/* The test fails unless everything was freed. */
void own_check(const struct own *own);

#endif /* PINION_TEST_OWN_H */
