/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * DEVX commands that are supported: big-endian bit fields at fixed places, an opcode in the first
 * 16 bits, and a status in the first 8 bits of the answer. Parses and writes the buffers; the verbs
 * layer executes commands.
 */
#ifndef PINION_LOGIC_DEVX_CMD_H
#define PINION_LOGIC_DEVX_CMD_H

#include <linux/types.h>

enum pinion_devx_opcode {
	PINION_DEVX_QUERY_HCA_CAP	= 0x100,
	PINION_DEVX_CREATE_MKEY		= 0x200,
	PINION_DEVX_QUERY_MKEY		= 0x201,
	PINION_DEVX_CREATE_CQ		= 0x400,
	PINION_DEVX_QUERY_CQ		= 0x402,
	PINION_DEVX_MODIFY_CQ		= 0x403,
	PINION_DEVX_CREATE_QP		= 0x500,
	PINION_DEVX_RST2INIT_QP		= 0x502,
	PINION_DEVX_INIT2RTR_QP		= 0x503,
	PINION_DEVX_RTR2RTS_QP		= 0x504,
	PINION_DEVX_RTS2RTS_QP		= 0x505,
	PINION_DEVX_SQERR2RTS_QP	= 0x506,
	PINION_DEVX_2ERR_QP		= 0x507,
	PINION_DEVX_2RST_QP		= 0x50a,
	PINION_DEVX_QUERY_QP		= 0x50b,
	PINION_DEVX_INIT2INIT_QP	= 0x50e,
	PINION_DEVX_ALLOC_PD		= 0x800,
	PINION_DEVX_QUERY_LAG		= 0x842,
	PINION_DEVX_CREATE_RMP		= 0x90c,
	PINION_DEVX_MODIFY_RMP		= 0x90d,
	PINION_DEVX_QUERY_RMP		= 0x90f,
	PINION_DEVX_ALLOC_FLOW_COUNTER	= 0x939,
	PINION_DEVX_QUERY_FLOW_COUNTER	= 0x93b,
};

/* The first byte of an answer. */
enum pinion_devx_status {
	PINION_DEVX_OK			= 0,
	PINION_DEVX_BAD_OP		= 0x2,
	PINION_DEVX_BAD_PARAM		= 0x3,
	PINION_DEVX_BAD_RESOURCE	= 0x5,	/* a umem, PD or key that is not there */
	PINION_DEVX_LIMIT		= 0x8,
	PINION_DEVX_BAD_STATE		= 0x10,
	PINION_DEVX_BAD_IN_LENGTH	= 0x50,
	PINION_DEVX_BAD_OUT_LENGTH	= 0x51,
};

/*
 * The syndrome of an answer: why a command was refused. pinion_devx_status() gives the status that
 * belongs to it. libpinion-mlx5dv(7) documents the numbers, so do not change them.
 */
enum pinion_devx_refusal {
	PINION_DEVX_DONE		= 0,
	PINION_DEVX_NO_SUCH_OPCODE	= 1,
	PINION_DEVX_WRONG_CALL		= 2,	/* not by this method, or for this object */
	PINION_DEVX_MODIFIER		= 3,
	PINION_DEVX_SHORT_IN		= 4,
	PINION_DEVX_SHORT_OUT		= 5,
	PINION_DEVX_NO_SUCH_CAPS	= 6,
	PINION_DEVX_MKEY_FEATURE	= 7,
	PINION_DEVX_MKEY_QPN		= 8,	/* bound to one queue pair */
	PINION_DEVX_MKEY_NO_READ	= 9,
	PINION_DEVX_MKEY_LENGTH		= 10,	/* 0, or beyond the last address */
	PINION_DEVX_MKEY_MODE		= 11,
	PINION_DEVX_LIST_FORM		= 12,	/* no pieces, or a page size is given */
	PINION_DEVX_LIST_CUT		= 13,	/* longer than the command */
	PINION_DEVX_LIST_LONG		= 14,
	PINION_DEVX_LIST_SHORT		= 15,	/* fewer bytes than the key */
	PINION_DEVX_COUNTERS		= 16,	/* in bulk, or with the answer elsewhere */
	PINION_DEVX_NO_SUCH_PD		= 17,
	PINION_DEVX_NO_SUCH_UMEM	= 18,
	PINION_DEVX_UMEM_RIGHTS		= 19,	/* the umem is pinned for reading only */
	PINION_DEVX_UMEM_PLACE		= 20,
	PINION_DEVX_NO_SUCH_PIECE	= 21,
	PINION_DEVX_PIECE_RANGE		= 22,	/* or the key's rights, or its domain */
	PINION_DEVX_PIECE_NOT_LENT	= 23,	/* the key's memory may change */
	PINION_DEVX_PIECE_EMPTY		= 24,
	PINION_DEVX_PIECE_LENT_OUT	= 25,	/* too many windows and pieces of one key */
	PINION_DEVX_DEVICE_KEYS		= 26,	/* the device's limit of keys */
	PINION_DEVX_USER_KEYS		= 27,	/* the user's limit of keys */
	PINION_DEVX_CQ_FEATURE		= 28,
	PINION_DEVX_QUEUE_UMEM		= 29,	/* no umem, or it is not writable */
	PINION_DEVX_QUEUE_SIZE		= 30,
	PINION_DEVX_UMEM_VIEWS		= 31,	/* all bytes of the umem are used by queues */
	PINION_DEVX_DEVICE_QUEUES	= 32,
	PINION_DEVX_USER_QUEUES		= 33,
	PINION_DEVX_NO_SUCH_EQ		= 34,
	PINION_DEVX_NO_SUCH_CQ		= 35,
	PINION_DEVX_QP_FEATURE		= 36,
	PINION_DEVX_QP_STATE		= 37,	/* not allowed in the current state */
	PINION_DEVX_QP_ATTRIBUTE	= 38,
	PINION_DEVX_RMP_FEATURE		= 39,
	PINION_DEVX_NO_SUCH_RMP		= 40,
	PINION_DEVX_NO_SUCH_UAR		= 41,	/* or another queue pair uses it */
	PINION_DEVX_NUM_REFUSALS,
};

/* The shortest command and answer, in bytes. */
#define PINION_DEVX_HEAD	16

enum pinion_devx_mode {
	PINION_DEVX_MODE_MTT	= 1,	/* a range of a umem */
	PINION_DEVX_MODE_KLM	= 2,	/* a list of pieces of other keys */
};

struct pinion_devx_mkey {
	u8 mode;		/* enum pinion_devx_mode */
	u8 tag;			/* the low byte of the key, chosen by the user */
	u8 page_shift;		/* 0: not given */
	u32 rights;		/* IB_UVERBS_ACCESS_* */
	u32 pdn;
	u64 base;
	u64 length;
	u64 entries;		/* number of translation entries; 0: not given */
	u32 umem_id;
	u64 umem_offset;
	u32 num_klms;
	bool by_request;	/* its memory is set by requests (UMR) */
	bool peers_invalidate;	/* with @by_request: a peer may invalidate it */
};

struct pinion_devx_klm {
	u32 length;
	u32 key;
	u64 addr;
};

/* The place of a ring or a doorbell record. */
struct pinion_devx_place {
	u32 umem_id;
	u64 offset;
};

/* A completion queue. */
struct pinion_devx_cq {
	struct pinion_devx_place ring;
	struct pinion_devx_place record;
	u8 log_size;
	bool wide;		/* entries of 128 bytes, not 64 */
	bool overruns;		/* the program polls in time, and need not say how far */
	u32 eqn;
	u32 uar;		/* as given; not used for completion queues */
	u16 period;
	u16 max_count;
};

struct pinion_devx_cq_change {
	bool sets_period;
	bool sets_count;
	u16 period;
	u16 max_count;
};

struct pinion_devx_path {
	u8 dgid[16];
	u8 dmac[6];
	u8 sgid_index;
	u8 hop_limit;
	u8 traffic_class;
	u8 sl;
	u8 port;
	u8 timeout;
	u16 pkey_index;
	u32 flow_label;
};

/* A receive queue that queue pairs share. */
struct pinion_devx_rmp {
	struct pinion_devx_place ring;
	struct pinion_devx_place record;
	u32 pdn;
	u32 uar;
	u16 limit;		/* an event when fewer are left; 0: none */
	u8 log_size;
	u8 log_stride;		/* in bytes */
	bool linked;		/* each request has the index of the next */
};

struct pinion_devx_rmp_change {
	bool sets_limit;
	u16 limit;
};

enum pinion_devx_service {
	PINION_DEVX_RC	= 0,
	PINION_DEVX_UC	= 1,
	PINION_DEVX_UD	= 2,
};

/* A queue pair's context. Each command about a queue pair has a whole one. */
struct pinion_devx_qp {
	u32 optional;			/* enum pinion_devx_qp_optional */
	/* For its creation: */
	struct pinion_devx_place ring;	/* receives, then sends */
	struct pinion_devx_place record;
	u32 pdn;
	u32 send_cqn;
	u32 recv_cqn;
	u32 rmpn;
	u32 user_index;
	u32 uar;		/* as given */
	u8 service;			/* enum pinion_devx_service */
	u8 log_sq_size;			/* in blocks */
	u8 log_rq_size;
	u8 log_rq_stride;		/* in segments */
	bool receives;			/* has a receive queue of its own */
	bool shares;			/* receives by the queue @rmpn */
	bool no_send_record;		/* sends are rung in the doorbell page @uar */
	/* For its changes: */
	struct pinion_devx_path path;
	u32 remote_qpn;
	u32 qkey;
	u32 sq_psn;
	u32 rq_psn;
	u8 mtu;
	u8 retry_count;
	u8 rnr_retry;
	u8 rnr_timer;
	u8 log_reads_out;		/* log2 of reads and atomics under way, to the peer */
	u8 log_reads_in;		/* and from the peer */
	bool remote_read;
	bool remote_write;
	bool remote_atomic;
};

/* Attributes that are changed only if their bit is set, unless the transition requires them. */
enum pinion_devx_qp_optional {
	PINION_DEVX_QP_READ		= 1 << 1,
	PINION_DEVX_QP_ATOMIC		= 1 << 2,
	PINION_DEVX_QP_WRITE		= 1 << 3,
	PINION_DEVX_QP_PKEY		= 1 << 4,
	PINION_DEVX_QP_QKEY		= 1 << 5,
	PINION_DEVX_QP_RNR_TIMER	= 1 << 6,
	PINION_DEVX_QP_PATH		= 1 << 7,
	PINION_DEVX_QP_READS_OUT	= 1 << 8,
	PINION_DEVX_QP_READS_IN		= 1 << 9,
	PINION_DEVX_QP_RETRIES		= 1 << 12,
	PINION_DEVX_QP_RNR_RETRIES	= 1 << 13,
	PINION_DEVX_QP_TIMEOUT		= 1 << 14,
	PINION_DEVX_QP_PORT		= 1 << 16,
};

struct pinion_devx_cmd {
	u16 opcode;
	u32 number;		/* QUERY_*, MODIFY_*: the object's number */
	u16 capability;		/* QUERY_HCA_CAP: kind of capabilities */
	struct pinion_devx_mkey mkey;
	struct pinion_devx_cq cq;
	struct pinion_devx_cq_change cq_change;
	struct pinion_devx_qp qp;
	struct pinion_devx_rmp rmp;
	struct pinion_devx_rmp_change rmp_change;
	const u8 *klms;		/* list of mkey.num_klms pieces, inside the command */
};

/* log2 of the largest number of pieces in a command. */
#define PINION_DEVX_LOG_MAX_KLMS	11

/*
 * Parse the command @in of @in_length bytes, a private copy; the answer has room for @out_length
 * bytes. Both lengths are at least PINION_DEVX_HEAD. Return: an enum pinion_devx_refusal.
 */
int pinion_devx_parse(const u8 *in, size_t in_length, size_t out_length,
		      struct pinion_devx_cmd *cmd);

/* Piece @index of the list @klms. */
struct pinion_devx_klm pinion_devx_klm(const u8 *klms, u32 index);

/* The enum pinion_devx_status that belongs to a refusal, or to PINION_DEVX_DONE. */
u8 pinion_devx_status(int refusal);

/* Write answers. @out is zeroed; pinion_devx_parse() has checked its length. */
void pinion_devx_put_refusal(u8 *out, int refusal);
void pinion_devx_put_number(u8 *out, u32 number);
void pinion_devx_put_mkey(u8 *out, const struct pinion_devx_mkey *mkey);

#endif
