/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A queue pair made by commands on a umem, with its completion queue, as a program has one that
 * drives the device itself: it writes requests, rings by a doorbell record, reads completions.
 */
#ifndef PINION_TEST_DV_RAW_QUEUE_H
#define PINION_TEST_DV_RAW_QUEUE_H

#include "keys.h"

enum {
	RQ_LOG = 4,
	RQ_STRIDE_LOG = 2, /* of segments */
	SQ_LOG = 5, /* of blocks */
	CQ_LOG = 6,
	BLOCK = 64,
	SEGMENT = 16,
	RQ_AT = 0,
	SQ_AT = RQ_AT + (SEGMENT << (RQ_LOG + RQ_STRIDE_LOG)),
	CQ_AT = SQ_AT + (BLOCK << SQ_LOG),
	/* Entries of 128 bytes have room, too. */
	QP_RECORD_AT = CQ_AT + (2 * BLOCK << CQ_LOG),
	CQ_RECORD_AT = QP_RECORD_AT + 64,
	RAW_LEN = CQ_RECORD_AT + 64,
};

enum {
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
	uint16_t sq, rq; /* posted: blocks, and receives */
	uint32_t cq_seen;
};

/* A completion, taken apart. */
struct raw_cqe {
	uint8_t opcode, sent, syndrome;
	uint16_t counter;
	uint32_t qpn, length, imm, user_index;
};

/* Without its objects: @asked can be changed. */
void raw_places(struct raw_queue *q, bool wide);
obj_t raw_try_qp(struct raw_queue *q, uint8_t out[PRM_HEAD]);
void raw_make(struct raw_queue *q, bool wide);
void raw_free(struct raw_queue *q);
int raw_change(struct raw_queue *q, uint16_t opcode,
	       const struct prm_path *path, uint8_t out[PRM_HEAD]);
struct prm_path raw_path(uint32_t remote_qpn, uint32_t psn);
void raw_connect(struct raw_queue *q, uint32_t remote_qpn);
uint32_t raw_state(struct raw_queue *q);

/* A request of @segments, not counting the first one, which is made here. */
void raw_post(struct raw_queue *q, uint8_t opcode, uint8_t flags, uint32_t imm,
	      const uint8_t *segments, uint32_t count);
void raw_ring(struct raw_queue *q);
void raw_post_recv(struct raw_queue *q, const uint8_t *segments,
		   uint32_t count);
/* A data segment, and an address's. */
void raw_data(uint8_t segment[SEGMENT], const struct region *region,
	      uint64_t offset, uint32_t length);
void raw_address(uint8_t segment[SEGMENT], const struct region *region,
		 uint64_t offset);

/* Poll, and do not say so in the record. */
bool raw_peek(struct raw_queue *q, struct raw_cqe *cqe);
bool raw_poll(struct raw_queue *q, struct raw_cqe *cqe);
struct raw_cqe raw_await(struct raw_queue *q);

#endif /* PINION_TEST_DV_RAW_QUEUE_H */
