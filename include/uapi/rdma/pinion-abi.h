/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * The ABI between the kernel module and the userspace provider: rings, work requests,
 * completions, command payloads and the private uverbs ids. The only file that both
 * sides share.
 *
 * A queue is memory that both sides map: a header of two cache lines, then a power of
 * two of equal slots. Indices are free-running 32-bit numbers; the slot of index i is
 * (i & (entries - 1)). Each word of the header has one writer, except that the kernel
 * clears @arm, and that a reset sets both indices to 0:
 *
 *	queue	   user_idx is		kern_idx is
 *	SQ	   next slot to fill	next slot the kernel executes
 *	RQ, SRQ	   next slot to fill	next slot the kernel consumes
 *	CQ	   next slot to poll	next slot the kernel fills
 *
 * The kernel does not trust what user space writes: it reads a word once, into private
 * memory, and checks the copy. It never reads back what it wrote.
 */
#ifndef _UAPI_RDMA_PINION_ABI_H
#define _UAPI_RDMA_PINION_ABI_H

#include <linux/types.h>

#define PINION_ABI_VERSION	1

/* ib_device_ops.driver_id: private, so that no in-tree provider claims the device. */
#define PINION_DRIVER_ID	0x2b50696e

#define PINION_CACHE_LINE	64
#define PINION_MAX_SGE		64
#define PINION_MAX_INLINE	1024

/* ------------------------------------------------------------------ rings */

/* @arm of a CQ's header: which completions raise an event. The kernel clears it then. */
enum pinion_cq_arm {
	PINION_ARM_NONE		= 0,
	PINION_ARM_SOLICITED	= 1,
	PINION_ARM_ANY		= 2,
};

enum pinion_ring_flags {
	/*
	 * RQ: after publishing user_idx and a full barrier, ring the QP's doorbell
	 * if this is set: the queue must be flushed.
	 */
	PINION_RING_NEED_DOORBELL	= 1 << 0,
	/* CQ: it has overflowed, and completions were lost. */
	PINION_RING_OVERFLOW		= 1 << 1,
	/*
	 * SQ: if this is set after publishing user_idx and a full barrier, no doorbell is
	 * needed, as the kernel polls the ring.
	 */
	PINION_RING_RUNNING		= 1 << 2,
};

struct pinion_ring_hdr {
	/* written by user space */
	__u32 user_idx;
	__u32 arm;
	__u32 streak;		/* SQ: requests posted since the send CQ was last polled */
	__u32 reserved0[13];
	/* written by the kernel */
	__u32 kern_idx;
	__u32 flags;
	__u32 reserved1[14];
};

/*
 * The place of a ring: an mmap offset on the command fd, and its geometry. A ring in a
 * umem cannot be mapped: mmap_offset and mmap_length are 0.
 */
struct pinion_ring_info {
	__aligned_u64 mmap_offset;
	__aligned_u64 mmap_length;
	__u32 entries;
	__u32 stride;
};

/*
 * Where to make a ring: in a DEVX umem of the same context, with its header @offset
 * bytes behind the umem's first byte, at the begin of a cache line. All 0: in memory of
 * the kernel.
 */
struct pinion_ring_place {
	__aligned_u64 offset;
	__u32 umem_id;
	__u32 reserved;
};

/* ----------------------------------------------------------- work requests */

/* Equal to enum ib_uverbs_wr_opcode / ibv_wr_opcode where those exist. */
enum pinion_opcode {
	PINION_OP_RDMA_WRITE		= 0,
	PINION_OP_RDMA_WRITE_WITH_IMM	= 1,
	PINION_OP_SEND			= 2,
	PINION_OP_SEND_WITH_IMM		= 3,
	PINION_OP_RDMA_READ		= 4,
	PINION_OP_ATOMIC_CMP_AND_SWP	= 5,
	PINION_OP_ATOMIC_FETCH_AND_ADD	= 6,
	PINION_OP_LOCAL_INV		= 7,
	PINION_OP_BIND_MW		= 8,
	PINION_OP_SEND_WITH_INV		= 9,
	PINION_OP_FLUSH			= 14,
	PINION_OP_ATOMIC_WRITE		= 15,
	/* kernel consumers only; refused on a user's queue */
	PINION_OP_REG_MR		= 32,
	/* what requests of mlx5's format become; refused in a ring of this one */
	PINION_OP_LAYOUT		= 33,
	PINION_OP_COPY			= 34,
	PINION_OP_NOP			= 35,
	PINION_OP_MAX			= 36,
};

enum pinion_wqe_flags {
	PINION_WQE_FENCE	= 1 << 0,
	PINION_WQE_SIGNALED	= 1 << 1,
	PINION_WQE_SOLICITED	= 1 << 2,
	PINION_WQE_INLINE	= 1 << 3,
	/* of requests of mlx5's format only: the bytes of the first sge follow the list */
	PINION_WQE_LEAD		= 1 << 4,
};

struct pinion_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

struct pinion_wqe_rdma {
	__aligned_u64 remote_addr;
	__u32 rkey;
	__u32 reserved[5];
};

struct pinion_wqe_atomic {
	__aligned_u64 remote_addr;
	__aligned_u64 compare_add;
	__aligned_u64 swap;
	__u32 rkey;
	__u32 reserved;
};

/* @type and @level as in the FETH: IB_FLUSH_{GLOBAL,PERSISTENT}, IB_FLUSH_{RANGE,MR} */
struct pinion_wqe_flush {
	__aligned_u64 remote_addr;
	__u32 rkey;
	__u32 length;
	__u8 type;
	__u8 level;
	__u8 reserved[14];
};

struct pinion_wqe_ud {
	__u32 ah;		/* number from struct pinion_create_ah_resp */
	__u32 remote_qpn;
	__u32 remote_qkey;
	__u32 reserved[5];
};

struct pinion_wqe_bind {
	__aligned_u64 addr;
	__aligned_u64 length;	/* 0 unbinds */
	__u32 mr_lkey;
	__u32 mw_rkey;		/* as the window has it now */
	__u32 new_rkey;
	__u32 access;
};

/* kernel consumers only */
struct pinion_wqe_reg {
	__u32 key;		/* the region is found by its index, and gets its tag */
	__u32 access;
	__u32 reserved[6];
};

/* PINION_OP_COPY: with PINION_WQE_INLINE two struct pinion_sge follow, from and to, as long. */

enum pinion_layout_flags {
	PINION_LAYOUT_RANGES	= 1 << 0,	/* else they are as before */
	PINION_LAYOUT_ACCESS	= 1 << 1,	/* else it is */
};

/* Of mlx5's format only. With PINION_WQE_INLINE, @num struct pinion_wqe_range follow. */
struct pinion_wqe_layout {
	__aligned_u64 length;
	__u32 key;		/* as it is now */
	__u32 new_key;		/* of which it gets the tag */
	__u32 access;
	__u32 times;
	__u16 num;
	__u16 flags;		/* enum pinion_layout_flags */
	__u32 reserved;
};

struct pinion_wqe_range {
	__aligned_u64 addr;
	__u32 key;
	__u32 length;
	__u32 stride;		/* how far it is on each time */
	__u32 reserved;
};

struct pinion_sq_wqe {
	__aligned_u64 wr_id;
	__u8 opcode;		/* enum pinion_opcode */
	__u8 flags;		/* enum pinion_wqe_flags */
	__u16 num_sge;
	__u32 inline_length;	/* with PINION_WQE_INLINE, num_sge is 0 then; or _LEAD */
	__u32 ex;		/* immediate as on the wire, or the rkey to invalidate */
	__u32 xrc_srqn;		/* XRC initiators */
	union {
		struct pinion_wqe_rdma rdma;
		struct pinion_wqe_atomic atomic;
		struct pinion_wqe_flush flush;
		struct pinion_wqe_ud ud;
		struct pinion_wqe_bind bind;
		struct pinion_wqe_reg reg;
		struct pinion_wqe_layout layout;
	};
	__aligned_u64 reserved;
	/* then num_sge × struct pinion_sge, or inline_length bytes; with _LEAD both */
};

struct pinion_rq_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;
	/* then num_sge × struct pinion_sge */
};

/* ------------------------------------------------------------- completions */

enum pinion_cqe_flags {
	PINION_CQE_GRH		= 1 << 0,
	PINION_CQE_WITH_IMM	= 1 << 1,
	PINION_CQE_WITH_INV	= 1 << 2,
	PINION_CQE_NET_IPV6	= 1 << 3,	/* else IPv4, where GRH is set */
	PINION_CQE_SOLICITED	= 1 << 4,
	PINION_CQE_WITH_VLAN	= 1 << 5,
};

/* Why, beside the status the verbs define: the wc's vendor_err. 0 on success. */
enum pinion_syndrome {
	PINION_SYN_NONE			= 0,
	PINION_SYN_BAD_WQE		= 1,	/* malformed work request */
	PINION_SYN_OPCODE		= 2,	/* not allowed on this queue */
	PINION_SYN_LENGTH		= 3,	/* message or buffer length */
	PINION_SYN_KEY_UNKNOWN		= 4,	/* none, a stale one, or of another domain */
	PINION_SYN_KEY_RIGHTS		= 6,
	PINION_SYN_KEY_RANGE		= 7,
	PINION_SYN_KEY_STATE		= 8,	/* invalidated, exchanged, bound elsewhere or not */
	PINION_SYN_ALIGN		= 9,
	PINION_SYN_FAULT		= 10,	/* a page could not be made present */
	PINION_SYN_AH			= 11,
	PINION_SYN_QP_RIGHTS		= 12,	/* qp_access_flags forbid it */
	PINION_SYN_NO_RESPONSE		= 13,
	PINION_SYN_RNR			= 14,
	PINION_SYN_FLUSHED		= 15,
	PINION_SYN_REMOTE		= 16,	/* the peer said so */
	PINION_SYN_BIND			= 17,
	PINION_SYN_SRQ			= 18,
	PINION_SYN_DEPTH		= 19,	/* max_rd_atomic is 0 */
};

struct pinion_cqe {
	__aligned_u64 wr_id;
	__u32 qpn;
	__u32 src_qp;
	__u32 byte_len;
	__u32 ex;		/* immediate as on the wire, or the invalidated rkey */
	__u8 status;		/* enum ib_wc_status / ibv_wc_status */
	__u8 opcode;		/* enum ib_uverbs_wc_opcode / ibv_wc_opcode; IB_WC_RECV is 128 */
	__u8 flags;		/* enum pinion_cqe_flags */
	__u8 sl;
	__u16 pkey_index;
	__u16 vendor_err;	/* enum pinion_syndrome */
	__aligned_u64 timestamp;	/* CLOCK_MONOTONIC_RAW ns, with PINION_CQ_TIMESTAMP */
	__aligned_u64 wallclock;	/* CLOCK_REALTIME ns, with PINION_CQ_WALLCLOCK */
	__u16 vlan_id;		/* with PINION_CQE_WITH_VLAN */
	__u16 reserved0[3];
	__aligned_u64 reserved;
};

/* ----------------------------------------------------- how large a ring is */

/* The slots of a ring with at least @wanted slots. */
static inline __u64 pinion_ring_entries(__u32 wanted)
{
	__u64 entries = 1;

	while (entries < wanted)
		entries *= 2;
	return entries;
}

/* Even with max_sge 0 a slot has room for one sge. */
static inline __u32 pinion_sq_stride(__u32 max_sge, __u32 max_inline)
{
	__u32 tail = (max_sge ? max_sge : 1) * sizeof(struct pinion_sge);

	if (tail < max_inline)
		tail = max_inline;
	return (sizeof(struct pinion_sq_wqe) + tail + PINION_CACHE_LINE - 1) &
	       ~(PINION_CACHE_LINE - 1U);
}

static inline __u32 pinion_rq_stride(__u32 max_sge)
{
	__u32 tail = (max_sge ? max_sge : 1) * sizeof(struct pinion_sge);

	return (sizeof(struct pinion_rq_wqe) + tail + 31) & ~31U;
}

static inline __u64 pinion_ring_bytes(__u64 entries, __u32 stride)
{
	return sizeof(struct pinion_ring_hdr) + entries * stride;
}

/* -------------------------------------------------------- command payloads */

/* In enum ib_uverbs terms: UHW input and output of the verb of that name. */

struct pinion_alloc_ucontext_req {
	__u32 abi_version;	/* PINION_ABI_VERSION the provider was built for */
	__u32 reserved;
};

/* Also the answer of query_ucontext, so that an imported context is complete. */
struct pinion_alloc_ucontext_resp {
	__u32 abi_version;
	__u32 max_inline;
	__u32 max_sge;
	__u32 null_lkey;	/* of ibv_alloc_null_mr(): any address, no memory */
	__aligned_u64 caps;	/* none yet */
};

enum pinion_cq_flags {
	PINION_CQ_TIMESTAMP	= 1 << 0,
	PINION_CQ_WALLCLOCK	= 1 << 1,
};

struct pinion_create_cq_req {
	__u32 flags;		/* enum pinion_cq_flags */
	__u32 reserved;
	struct pinion_ring_place place;
};

/* Also the answer of resize_cq: the ring that is offered. */
struct pinion_create_cq_resp {
	struct pinion_ring_info ring;
	__aligned_u64 reserved;
};

/*
 * A queue is resized by two calls of its verb with the same size, so that a process that
 * cannot map the new ring still has the old one. An offered ring exists until the next of
 * either call or until the queue is destroyed, mapped or not. So there is at most one per
 * queue; its memory is charged to the process.
 */
enum pinion_resize_step {
	PINION_RESIZE_OFFER	= 1,	/* make a ring, and answer where it can be mapped */
	PINION_RESIZE_TAKE	= 2,	/* switch to it */
};

struct pinion_resize_cq_req {
	__u32 step;		/* enum pinion_resize_step */
	__u32 reserved;
};

struct pinion_create_qp_req {
	struct pinion_ring_place sq;
	struct pinion_ring_place rq;
};

struct pinion_create_qp_resp {
	struct pinion_ring_info sq;	/* entries 0: this QP has none (XRC target) */
	struct pinion_ring_info rq;	/* entries 0: no receive queue of its own */
	__u32 max_inline;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 reserved;
};

struct pinion_create_srq_req {
	struct pinion_ring_place place;
};

struct pinion_create_srq_resp {
	struct pinion_ring_info ring;
	__u32 srqn;
	__u32 max_sge;
};

/* For resizing. modify_srq has no response buffer, so the request has its address. */
struct pinion_modify_srq_req {
	__aligned_u64 resp_addr;	/* PINION_RESIZE_OFFER: struct pinion_create_srq_resp */
	__u32 step;			/* enum pinion_resize_step */
	__u32 reserved;
};

struct pinion_create_ah_resp {
	__u32 ah;
	__u32 reserved;
};

struct pinion_alloc_pd_resp {
	__u32 pdn;
	__u32 reserved;
};

/* alloc_dm: where the memory can be mapped */
struct pinion_alloc_dm_resp {
	__aligned_u64 mmap_offset;
	__aligned_u64 mmap_length;
};

/* DM_QUERY: what an importer of device memory needs to know */
struct pinion_query_dm_resp {
	__aligned_u64 mmap_offset;
	__aligned_u64 mmap_length;
	__aligned_u64 length;		/* as it was allocated, not rounded up */
};

/* ------------------------------------------- private uverbs objects, methods */

#define PINION_NS		(1U << 12)	/* UVERBS_ID_DRIVER_NS */

/*
 * Numbers of methods are distant from PINION_NS, since mlx5 adds methods to the same objects from
 * there on, and programs for mlx5 call those here, too.
 *
 * Methods added to UVERBS_OBJECT_QP:
 */
enum pinion_qp_methods {
	/* Execute what is posted; flush what an errored QP must flush. */
	PINION_METHOD_QP_DOORBELL = PINION_NS + 7,
};

enum pinion_qp_doorbell_attrs {
	PINION_ATTR_QP_DOORBELL_HANDLE = PINION_NS,
};

/* Attributes added to UVERBS_OBJECT_DEVICE's QUERY_CONTEXT */
enum pinion_query_context_attrs {
	PINION_ATTR_QUERY_CONTEXT_RESP = PINION_NS, /* struct pinion_alloc_ucontext_resp */
};

/* Attributes added to UVERBS_OBJECT_DM's ALLOC (core ids below NS) */
enum pinion_dm_alloc_attrs {
	PINION_ATTR_DM_ALLOC_RESP = PINION_NS,	/* struct pinion_alloc_dm_resp */
};

/* Methods added to UVERBS_OBJECT_DM */
enum pinion_dm_methods {
	PINION_METHOD_DM_EXPORT = PINION_NS + 6,
	PINION_METHOD_DM_QUERY,
};

enum pinion_dm_query_attrs {
	PINION_ATTR_DM_QUERY_HANDLE = PINION_NS,
	PINION_ATTR_DM_QUERY_RESP,		/* struct pinion_query_dm_resp */
};

/* Answers with the descriptor (__s32) of a dma-buf, which outlives the device memory. */
enum pinion_dm_export_attrs {
	PINION_ATTR_DM_EXPORT_HANDLE = PINION_NS,
	PINION_ATTR_DM_EXPORT_FD,
};

/* Methods added to mlx5's object of doorbell pages (UARs): export as a dma-buf, too */
enum pinion_uar_methods {
	PINION_METHOD_UAR_EXPORT = PINION_NS + 7,
};

enum pinion_uar_export_attrs {
	PINION_ATTR_UAR_EXPORT_HANDLE = PINION_NS,
	PINION_ATTR_UAR_EXPORT_FD,
};

/* Methods added to UVERBS_OBJECT_PD: the number by which DEVX commands name it */
enum pinion_pd_methods {
	PINION_METHOD_PD_QUERY = PINION_NS + 7,
};

enum pinion_pd_query_attrs {
	PINION_ATTR_PD_QUERY_HANDLE = PINION_NS,
	PINION_ATTR_PD_QUERY_RESP,		/* struct pinion_alloc_pd_resp */
};

/* ---------------------------------------------------------------- diagnostics */

enum pinion_mr_kind {
	PINION_MR_PINNED	= 0,	/* memory of a process */
	PINION_MR_ON_DEMAND	= 1,
	PINION_MR_DMABUF	= 2,
	PINION_MR_DEVICE	= 3,	/* device memory */
	PINION_MR_FAST		= 4,	/* for fast registration, of kernel consumers */
	PINION_MR_ALL		= 5,	/* all memory, for kernel consumers */
};

enum pinion_mr_flags {
	PINION_MR_VALID		= 1 << 0,	/* its key is valid */
	PINION_MR_GATE_CLOSED	= 1 << 1,	/* it was being changed */
	PINION_MR_MAPPED	= 1 << 2,	/* dma-buf: mapped by its exporter now */
	PINION_MR_HELD		= 1 << 3,	/* dma-buf: pinned by its exporter */
};

#define PINION_MR_FACTS_MAGIC	0x706d7266

/*
 * The attribute of RDMA_NLDEV_CMD_RES_MR_GET_RAW, for which CAP_NET_ADMIN is needed. @magic tells
 * it from other drivers' raw attributes. New fields are added at the end; a reader takes missing
 * bytes for 0. The statistics have the counts of on-demand paging.
 */
struct pinion_mr_facts {
	__u32 magic;			/* PINION_MR_FACTS_MAGIC */
	__u32 key;
	__u32 kind;			/* enum pinion_mr_kind */
	__u32 flags;			/* enum pinion_mr_flags */
	__u32 access;			/* as registered, enum ib_uverbs_access_flags */
	__u32 windows;			/* bound to it, and pieces in other keys */
	__u32 generation;		/* incremented when its memory is exchanged */
	__u32 block_shift;		/* log2 of the bytes per table entry */
	__aligned_u64 address;		/* first byte: user address, or offset in the dma-buf */
	__aligned_u64 iova;		/* address of the same byte in work requests */
	__aligned_u64 length;
	__aligned_u64 entries;		/* of the table; on demand: present ones */
	__aligned_u64 table_bytes;
	__aligned_u64 pinned_pages;
	char exporter[32];		/* dma-buf */
};

enum pinion_queue_kind {
	PINION_QUEUE_QP,
	PINION_QUEUE_CQ,
	PINION_QUEUE_SRQ,
};

enum pinion_queue_flags {
	/* CQ: it has overflowed; QP: its responder has failed */
	PINION_QUEUE_BROKEN		= 1 << 0,
	/* CQ: the next (solicited) completion raises an event; SRQ: has a limit */
	PINION_QUEUE_ARMED		= 1 << 1,
	/* QP: the oldest request waits for a timer or a page */
	PINION_QUEUE_WAITING		= 1 << 2,
	PINION_QUEUE_AWAITS_OWN_PAGE	= 1 << 3,
	PINION_QUEUE_AWAITS_PEER_PAGE	= 1 << 4,
};

/* One ring; see struct pinion_ring_hdr. User space writes @user_idx, which may be wrong. */
struct pinion_ring_facts {
	__u32 entries;			/* 0: there is none */
	__u32 stride;
	__u32 user_idx;
	__u32 kern_idx;
};

#define PINION_QUEUE_FACTS_MAGIC	0x70717266

/* Likewise for RDMA_NLDEV_CMD_RES_QP_GET_RAW, _CQ_GET_RAW and _SRQ_GET_RAW. */
struct pinion_queue_facts {
	__u32 magic;			/* PINION_QUEUE_FACTS_MAGIC */
	__u32 kind;			/* enum pinion_queue_kind */
	__u32 number;			/* the QP's number; else restrack's id */
	__u32 flags;			/* enum pinion_queue_flags */
	struct pinion_ring_facts ring[2];	/* QP: sends, receives; else only the first */
	__u32 begun;			/* QP: requests begun and not retired */
	__u32 late;			/* QP: received datagrams that wait for a page */
};

/* ------------------------------------------------------------------ checks */

#if defined(__cplusplus)
#define PINION_ASSERT_SIZE(type, size) \
	static_assert(sizeof(type) == (size), #type " is ABI")
#else
#define PINION_ASSERT_SIZE(type, size) \
	_Static_assert(sizeof(type) == (size), #type " is ABI")
#endif

PINION_ASSERT_SIZE(struct pinion_ring_hdr, 2 * PINION_CACHE_LINE);
PINION_ASSERT_SIZE(struct pinion_ring_info, 24);
PINION_ASSERT_SIZE(struct pinion_ring_place, 16);
PINION_ASSERT_SIZE(struct pinion_sge, 16);
PINION_ASSERT_SIZE(struct pinion_wqe_rdma, 32);
PINION_ASSERT_SIZE(struct pinion_wqe_atomic, 32);
PINION_ASSERT_SIZE(struct pinion_wqe_flush, 32);
PINION_ASSERT_SIZE(struct pinion_wqe_ud, 32);
PINION_ASSERT_SIZE(struct pinion_wqe_bind, 32);
PINION_ASSERT_SIZE(struct pinion_wqe_reg, 32);
PINION_ASSERT_SIZE(struct pinion_sq_wqe, 64);
PINION_ASSERT_SIZE(struct pinion_rq_wqe, 16);
PINION_ASSERT_SIZE(struct pinion_cqe, 64);
PINION_ASSERT_SIZE(struct pinion_alloc_ucontext_req, 8);
PINION_ASSERT_SIZE(struct pinion_alloc_ucontext_resp, 24);
PINION_ASSERT_SIZE(struct pinion_create_cq_req, 24);
PINION_ASSERT_SIZE(struct pinion_create_cq_resp, 32);
PINION_ASSERT_SIZE(struct pinion_resize_cq_req, 8);
PINION_ASSERT_SIZE(struct pinion_create_qp_req, 32);
PINION_ASSERT_SIZE(struct pinion_create_qp_resp, 64);
PINION_ASSERT_SIZE(struct pinion_create_srq_req, 16);
PINION_ASSERT_SIZE(struct pinion_create_srq_resp, 32);
PINION_ASSERT_SIZE(struct pinion_modify_srq_req, 16);
PINION_ASSERT_SIZE(struct pinion_create_ah_resp, 8);
PINION_ASSERT_SIZE(struct pinion_alloc_pd_resp, 8);
PINION_ASSERT_SIZE(struct pinion_alloc_dm_resp, 16);
PINION_ASSERT_SIZE(struct pinion_query_dm_resp, 24);
PINION_ASSERT_SIZE(struct pinion_mr_facts, 112);
PINION_ASSERT_SIZE(struct pinion_ring_facts, 16);
PINION_ASSERT_SIZE(struct pinion_queue_facts, 56);

#endif /* _UAPI_RDMA_PINION_ABI_H */
