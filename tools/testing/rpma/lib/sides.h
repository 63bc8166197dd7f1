/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two connected peers on the device under test, and their memory with a model.
 */
#ifndef PINION_TEST_SIDES_H
#define PINION_TEST_SIDES_H

#include <pinion/librpma.h>

#include "buf.h"
#include "device.h"

/* An IP address of the device's network device. */
const char *address(void);

/* Is it iWARP, such as siw, which has fewer features? */
bool iwarp(void);

/* A peer for the device with address(). */
struct rpma_peer *peer_new(void);

enum { NEAR, FAR };

/* [NEAR] requested the connection, [FAR] accepted it. */
struct sides {
	struct rpma_peer *peer[2];
	struct rpma_ep *ep;
	struct rpma_conn *conn[2];
	struct rpma_cq *cq[2];
};

/* Connects two sides. @near, @far: NULL for the default. Peers are created if there are none. */
void sides_connect(struct sides *sides, const struct rpma_conn_cfg *near,
		   const struct rpma_conn_cfg *far);
/* Disconnects, and keeps the peers. */
void sides_disconnect(struct sides *sides);
void sides_free(struct sides *sides);
/* Frees what exists, connected or not. */
void sides_end(struct sides *sides);

/* Memory of one side, and its remote description. */
struct memory {
	struct buf *buf;
	struct rpma_mr_local *local;
	struct rpma_mr_remote *remote;
};

struct memory memory_of(struct rpma_peer *peer, struct buf *buf, int usage);
/* Allocates and registers memory. */
struct memory memory_reg(struct rpma_peer *peer, size_t length, size_t offset,
			 int usage);

/* Longer than any path MTU, and than a page. */
enum { LENGTH = 50000 };

/* LENGTH bytes of one side, unaligned. */
struct memory near_memory(struct sides *sides, int usage);
struct memory far_memory(struct sides *sides, int usage);
void memory_dereg(struct memory *memory);
struct rpma_mr_remote *remote_of(const struct rpma_mr_local *mr);

/* Models a copy of @len bytes from @from to @to. */
void expect_copy(struct memory *to, size_t to_offset, const struct memory *from,
		 size_t from_offset, size_t len);
/* Compares both with their models. */
void check_both(const struct memory *a, const struct memory *b);

/* Waits for the next completion, of any status. */
struct ibv_wc cq_next(struct rpma_cq *cq);
/* Expects a successful completion with this opcode and context. */
void cq_expect(struct rpma_cq *cq, enum ibv_wc_opcode opcode,
	       const void *context);

/* Sends 100 bytes from near to far; far's completion is not consumed. */
void send_one(struct sides *sides, const struct memory *from);

enum rpma_conn_event event_of(struct rpma_conn *conn);

#endif /* PINION_TEST_SIDES_H */
