/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The shared rings of the queues of this process, found without the provider: so a test
 * can write what the provider never would.
 */
#ifndef PINION_TEST_RINGS_H
#define PINION_TEST_RINGS_H

#include <rdma/pinion-abi.h>

#include "link.h"

struct ring {
	volatile struct pinion_ring_hdr *hdr;
	uint8_t *slots;
	uint32_t entries, stride;
	size_t length; /* of the mapping */
	uint64_t offset; /* for mmap() of the command fd */
	uint32_t next; /* send and receive rings: our index */
};

/* A queue pair and its completion queue, with their rings. */
struct raw_end {
	struct end end;
	struct ring sq, rq, cq;
};

/* All rings of uverbs files this process maps. */
int rings_list(struct ring *rings, int max);

void raw_end_make(struct raw_end *raw, const struct qp_cfg *cfg);
/* Does not read the rings, so works with any contents. */
void raw_end_free(struct raw_end *raw);
/* Call after the QP was reset. */
void raw_end_reset(struct raw_end *raw);

struct pinion_sq_wqe *ring_wqe(struct ring *ring);
struct pinion_rq_wqe *ring_recv(struct ring *ring);
struct pinion_sge *wqe_sges(struct pinion_sq_wqe *wqe);
/* Publish what was written into the slot(s) at ->next. */
void ring_publish(struct ring *ring, uint32_t count);
int ring_doorbell(struct raw_end *raw);

#endif /* PINION_TEST_RINGS_H */
