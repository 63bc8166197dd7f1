/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A queue pair made by commands on a umem, with its completion queue, used as by a program that
 * drives the device itself: it writes requests, rings by a doorbell record, and reads
 * completions.
 */
#ifndef PINION_TEST_DV_RAW_QUEUE_H
#define PINION_TEST_DV_RAW_QUEUE_H

#include "keys.h"

enum {
	RQ_LOG = 4,
	RQ_STRIDE_LOG = 2, /* log of segments of a receive request */
	SQ_LOG = 5, /* log of blocks */
	CQ_LOG = 6,
	BLOCK = 64,
	SEGMENT = 16,
	RQ_AT = 0,
	SQ_AT = RQ_AT + (SEGMENT << (RQ_LOG + RQ_STRIDE_LOG)),
	CQ_AT = SQ_AT + (BLOCK << SQ_LOG),
	/* Behind a CQ of entries of 128 bytes. */
	QP_RECORD_AT = CQ_AT + (2 * BLOCK << CQ_LOG),
	CQ_RECORD_AT = QP_RECORD_AT + 64,
	RAW_LEN = CQ_RECORD_AT + 64,
};

/*
 * For a pool: each request has room for three pieces behind the segment that names the next
 * request. A cyclic pool has that segment, too, and ignores it.
 */
enum {
	POOL_LOG = 5,
	POOL_STRIDE_LOG = 6, /* log of bytes */
	POOL_PIECES = 3,
	POOL_RECORD_AT = 1 << (POOL_LOG + POOL_STRIDE_LOG),
	POOL_LEN = POOL_RECORD_AT + 64,
};

/* Opcodes of completions; states of queue pairs. */
enum { REQUEST, RECV_WRITE_IMM, RECV, RECV_IMM, BAD_REQUEST = 13, BAD_RECV };
enum {
	STATE_RESET,
	STATE_INIT,
	STATE_RTR,
	STATE_RTS,
	STATE_SQE,
	STATE_ERR = 6
};

enum {
	RAW_NOP = 0x00,
	RAW_SEND_INV = 0x01,
	RAW_WRITE = 0x08,
	RAW_WRITE_IMM,
	RAW_SEND,
	RAW_SEND_IMM,
	RAW_READ = 0x10,
	RAW_CMP_SWP,
	RAW_FETCH_ADD,
	RAW_SIGNALED = 8,
};

struct raw_queue {
	struct buf *buf;
	umem_t umem;
	struct prm_qp asked;
	obj_t cq, qp;
	uint32_t cqn, qpn, wide;
	uint16_t sq, rq; /* number posted: blocks, and receives */
	uint32_t cq_seen;
};

/* A shared receive queue, on a umem of its own. */
struct raw_pool {
	struct buf *buf;
	umem_t umem;
	struct prm_rmp asked;
	obj_t obj;
	uint32_t number;
	uint16_t posted;
};

/* A decoded completion. */
struct raw_cqe {
	uint8_t opcode, sent, syndrome, grh;
	uint16_t counter;
	uint32_t qpn, length, imm, user_index, source;
};

/* Makes memory, umem and CQ, and sets @asked, which may be changed before raw_try_qp(). */
void raw_places(struct raw_queue *q, bool wide);
/* The same; the completion queue ignores the consumer index. */
void raw_places_overrun(struct raw_queue *q);
obj_t raw_try_qp(struct raw_queue *q, uint8_t out[PRM_HEAD]);
void raw_make(struct raw_queue *q, bool wide);
void raw_free(struct raw_queue *q);
int raw_change(struct raw_queue *q, uint16_t opcode,
	       const struct prm_path *path, uint8_t out[PRM_HEAD]);
struct prm_path raw_path(uint32_t remote_qpn, uint32_t psn);
void raw_connect(struct raw_queue *q, uint32_t remote_qpn);
/* Makes two queue pairs that are connected to each other. */
void raw_make_pair(struct raw_queue *a, struct raw_queue *b, bool wide);
uint32_t raw_state(struct raw_queue *q);

/* Posts a request with @segments behind the control segment, which is made here. */
void raw_post(struct raw_queue *q, uint8_t opcode, uint8_t flags, uint32_t imm,
	      const uint8_t *segments, uint32_t count);
void raw_ring(struct raw_queue *q);
void raw_post_recv(struct raw_queue *q, const uint8_t *segments,
		   uint32_t count);
/* Fills a data segment, or one with a remote address. */
void raw_data(uint8_t segment[SEGMENT], const struct region *region,
	      uint64_t offset, uint32_t length);
void raw_address(uint8_t segment[SEGMENT], const struct region *region,
		 uint64_t offset);

/* Fills the three segments of a datagram's address: the device itself. */
enum { RAW_AV = 3 * SEGMENT };
void raw_av(uint8_t segments[RAW_AV], uint32_t qpn, uint32_t qkey);

/* Sets @asked for a queue pair with the shared queue @pool. Call it before raw_try_qp(). */
void raw_share(struct raw_queue *q, const struct raw_pool *pool);
/* Makes memory and umem, and sets @asked, which may be changed before raw_try_pool(). */
void raw_pool_places(struct raw_pool *pool, bool cyclic);
obj_t raw_try_pool(struct raw_pool *pool, uint8_t out[PRM_HEAD]);
void raw_pool_make(struct raw_pool *pool, bool cyclic);
void raw_pool_free(struct raw_pool *pool);
/* Fills @slot and links it to @next (cyclic: anywhere); counts one more as posted. */
void raw_pool_fill(struct raw_pool *pool, uint16_t slot, uint16_t next,
		   const uint8_t *segments, uint32_t count);
void raw_pool_ring(struct raw_pool *pool);

/* Like raw_poll(), but does not update the consumer index in the record. */
bool raw_peek(struct raw_queue *q, struct raw_cqe *cqe);
bool raw_poll(struct raw_queue *q, struct raw_cqe *cqe);
struct raw_cqe raw_await(struct raw_queue *q);

/* The number of soft timer runs on all processors. Each poll of doorbell records is one. */
unsigned long long raw_looks(void);

#endif /* PINION_TEST_DV_RAW_QUEUE_H */
