/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two peers of the library on the device under test, connected to each other, and
 * memory of theirs with a model beside it.
 */
#ifndef PINION_TEST_SIDES_H
#define PINION_TEST_SIDES_H

#include <pinion/librpma.h>

#include "buf.h"
#include "device.h"

/* An address of the device's netdev. */
const char *address(void);

/* A device like siw, which cannot all that others can. */
bool iwarp(void);

/* A peer as a program gets one: of the device that has the address. */
struct rpma_peer *peer_new(void);

enum { NEAR, FAR };

/* [NEAR] asked for the connection, [FAR] was asked. */
struct sides {
	struct rpma_peer *peer[2];
	struct rpma_ep *ep;
	struct rpma_conn *conn[2];
	struct rpma_cq *cq[2];
};

/* NULL: defaults. Peers are made if there are none. */
void sides_connect(struct sides *sides, const struct rpma_conn_cfg *near,
		   const struct rpma_conn_cfg *far);
/* Without an end of the peers. */
void sides_disconnect(struct sides *sides);
void sides_free(struct sides *sides);
/* What there is, connected or not. */
void sides_end(struct sides *sides);

/* Memory of one side, and how the other sees it. */
struct memory {
	struct buf *buf;
	struct rpma_mr_local *local;
	struct rpma_mr_remote *remote;
};

struct memory memory_of(struct rpma_peer *peer, struct buf *buf, int usage);
/* New memory. */
struct memory memory_reg(struct rpma_peer *peer, size_t length, size_t offset,
			 int usage);

/* More than a path MTU, and than a page. */
enum { LENGTH = 50000 };

/* LENGTH bytes of a side, unaligned. */
struct memory near_memory(struct sides *sides, int usage);
struct memory far_memory(struct sides *sides, int usage);
void memory_dereg(struct memory *memory);
struct rpma_mr_remote *remote_of(const struct rpma_mr_local *mr);

/* What @to should be after @len bytes of @from. */
void expect_copy(struct memory *to, size_t to_offset, const struct memory *from,
		 size_t from_offset, size_t len);
/* Both are what they should be. */
void check_both(const struct memory *a, const struct memory *b);

/* The next completion, of whatever status, waited for. */
struct ibv_wc cq_next(struct rpma_cq *cq);
/* One that is a success with this opcode and context. */
void cq_expect(struct rpma_cq *cq, enum ibv_wc_opcode opcode,
	       const void *context);

/* A message of 100 bytes from near to far, of which far's completion is left. */
void send_one(struct sides *sides, const struct memory *from);

enum rpma_conn_event event_of(struct rpma_conn *conn);

#endif /* PINION_TEST_SIDES_H */
