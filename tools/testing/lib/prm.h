/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * DEVX commands, built in the format of the programmer's reference manual of mlx5.
 */
#ifndef PINION_TEST_PRM_H
#define PINION_TEST_PRM_H

#include <stddef.h>
#include <stdint.h>

enum {
	PRM_LR = 0x400,
	PRM_LW = 0x800,
	PRM_RR = 0x1000,
	PRM_RW = 0x2000,
	PRM_A = 0x4000,
	PRM_ALL = PRM_LR | PRM_LW | PRM_RR | PRM_RW | PRM_A,
	PRM_MTT = 0x100,
	PRM_KLM = 0x200,
};

enum {
	PRM_QUERY_HCA_CAP = 0x100,
	PRM_CREATE_MKEY = 0x200,
	PRM_QUERY_MKEY = 0x201,
	PRM_DESTROY_MKEY = 0x202,
	PRM_CREATE_CQ = 0x400,
	PRM_QUERY_CQ = 0x402,
	PRM_MODIFY_CQ = 0x403,
	PRM_CREATE_QP = 0x500,
	PRM_RST2INIT_QP = 0x502,
	PRM_INIT2RTR_QP,
	PRM_RTR2RTS_QP,
	PRM_RTS2RTS_QP,
	PRM_SQERR2RTS_QP,
	PRM_2ERR_QP = 0x507,
	PRM_2RST_QP = 0x50a,
	PRM_QUERY_QP,
	PRM_INIT2INIT_QP = 0x50e,
	PRM_ALLOC_PD = 0x800,
	PRM_DEALLOC_PD = 0x801,
	PRM_QUERY_LAG = 0x842,
	PRM_CREATE_RMP = 0x90c,
	PRM_MODIFY_RMP,
	PRM_QUERY_RMP = 0x90f,
	PRM_ALLOC_FLOW_COUNTER = 0x939,
	PRM_QUERY_FLOW_COUNTER = 0x93b,
};

/* Syndromes with which pinion refuses a command; see libpinion-mlx5dv(7). */
enum {
	PRM_NO_OPCODE = 1,
	PRM_WRONG_CALL,
	PRM_MODIFIER,
	PRM_SHORT_IN,
	PRM_SHORT_OUT,
	PRM_NO_CAPS,
	PRM_MKEY_FEATURE,
	PRM_LIST_SHORT = 15,
	PRM_COUNTERS,
	PRM_NO_PD,
	PRM_NO_UMEM,
	PRM_UMEM_RIGHTS,
	PRM_UMEM_PLACE,
	PRM_NO_PIECE,
	PRM_PIECE_RANGE,
	PRM_PIECE_NOT_LENT,
	PRM_PIECE_EMPTY,
	PRM_CQ_FEATURE = 28,
	PRM_QUEUE_UMEM,
	PRM_QUEUE_SIZE,
	PRM_UMEM_VIEWS,
	PRM_NO_EQ = 34,
	PRM_NO_CQ,
	PRM_QP_FEATURE,
	PRM_QP_STATE,
	PRM_QP_ATTRIBUTE,
	PRM_RMP_FEATURE,
	PRM_NO_RMP,
	PRM_NO_UAR,
};

enum { PRM_HEAD = 16, PRM_MKEY = 0x110, PRM_MAX_KLMS = 64 };

struct prm_klm {
	uint32_t length, key;
	uint64_t addr;
};

struct prm_mkey {
	uint32_t mode; /* PRM_MTT by default */
	uint32_t rights; /* PRM_ALL by default */
	uint32_t pdn;
	uint8_t tag, log_page;
	uint64_t base, length;
	uint32_t octwords;
	uint32_t umem_id;
	uint64_t umem_offset;
	const struct prm_klm *klms;
	uint32_t num_klms;
};

enum { PRM_CQ = 0x110, PRM_CQ_OUT = 0x50 };

/* The ring and its doorbell record are in umems. */
struct prm_cq {
	uint32_t umem_id, record_umem_id, eqn, uar;
	uint64_t offset, record;
	uint32_t log_size, stride; /* stride 0: 64 bytes, 1: 128 */
	uint32_t overruns;
};

enum { PRM_QP = 0x110, PRM_QP_OUT = 0x110 };

/* Offset of the context in commands about queue pairs, and in the answer. */
enum { PRM_QPC = 0x18 };

enum prm_service { PRM_RC, PRM_UC, PRM_UD, PRM_XRC };
enum prm_rq { PRM_RQ_OWN, PRM_RQ_SHARED, PRM_RQ_NONE = 3 };

struct prm_qp {
	uint32_t umem_id, record_umem_id, pdn, send_cqn, recv_cqn;
	uint32_t user_index;
	uint64_t offset, record;
	uint32_t log_sq, log_rq, log_stride;
	uint32_t service, rq, rmpn;
	uint32_t no_send_record, uar;
};

/* Attributes of prm_change_qp(). */
struct prm_path {
	uint8_t gid[16], mac[6], sgid_index;
	uint32_t remote_qpn, psn, qkey, optional;
};

enum { PRM_RMP = 0x120, PRM_RMP_OUT = 0x120 };

/* Offset of the work queue in commands about shared receive queues, and in the answer. */
enum { PRM_WQ = 0x50 };

struct prm_rmp {
	uint32_t umem_id, record_umem_id, pdn;
	uint64_t offset, record;
	uint32_t log_size, log_stride, limit; /* stride in bytes */
	uint32_t cyclic;
};

void prm_put32(void *to, uint32_t offset, uint32_t value);
void prm_put64(void *to, uint32_t offset, uint64_t value);
uint32_t prm_get32(const void *from, uint32_t offset);
uint64_t prm_get64(const void *from, uint32_t offset);

/* A command that has only an opcode and, if any, an object number. */
void prm_head(void *in, uint16_t opcode, uint32_t number);
/* Returns the length of the command, which depends on the number of KLMs. */
size_t prm_create_mkey(uint8_t in[PRM_MKEY + PRM_MAX_KLMS * 16],
		       const struct prm_mkey *mkey);
void prm_create_cq(uint8_t in[PRM_CQ], const struct prm_cq *cq);
void prm_create_qp(uint8_t in[PRM_QP], const struct prm_qp *qp);
/* A command that modifies a queue pair, with all access rights for the peer. */
void prm_change_qp(uint8_t in[PRM_QP], uint16_t opcode, uint32_t number,
		   const struct prm_path *path);
void prm_create_rmp(uint8_t in[PRM_RMP], const struct prm_rmp *rmp);
/* Changes only the limit. */
void prm_modify_rmp(uint8_t in[PRM_RMP], uint32_t number, uint32_t limit);
/* Read fields of an answer. */
uint8_t prm_status(const void *out);
uint32_t prm_syndrome(const void *out);
uint32_t prm_number(const void *out);

#endif /* PINION_TEST_PRM_H */
