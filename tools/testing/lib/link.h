/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Connected queue pairs, to each other in this process or to a queue pair of another
 * process; and work requests on them, posted and waited for.
 */
#ifndef PINION_TEST_LINK_H
#define PINION_TEST_LINK_H

#include "buf.h"
#include "device.h"

/* Fields that are 0 have defaults; comments name some. */
struct qp_cfg {
	enum ibv_qp_type type; /* RC */
	const struct device *device; /* dev */
	uint64_t ops; /* IBV_QP_EX_*; all of the type, on pinion only */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *scq, *rcq;
	struct ibv_srq *srq;
	struct ibv_xrcd *xrcd;
	uint32_t wr, recv_wr, sge, inline_data, cqe;
	bool sig_all, no_ex;
	bool raw; /* modify it by ioctl, not by the provider */
	int access; /* rights of the QP: all; -1: none */
	enum ibv_mtu mtu;
	uint8_t traffic_class; /* DSCP and ECN of what it sends */
	int timeout, retry, rnr_retry, rnr_timer; /* -1: set to 0 */
	int rd_atomic, dest_rd_atomic; /* likewise */
};

struct end {
	struct qp_cfg cfg;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct ibv_cq *scq, *rcq;
	struct ibv_ah *ah; /* UD: to the device itself */
	uint32_t psn;
};

/* What the other side needs to connect. */
struct peer {
	union ibv_gid gid;
	uint32_t qpn, psn, srqn, rkey;
	uint64_t addr, length;
};

struct link {
	struct end a, b;
};

enum { QKEY = 0x1ee7 };

void end_make(struct end *end, const struct qp_cfg *cfg);
/* Skips the test where its device has no builder of work requests (end->ex). */
void need_builder(const struct end *end);
void end_free(struct end *end);
struct peer end_peer(const struct end *end);
/* end_init(): from RESET to INIT. end_connect(): to RTR and RTS. */
void end_init(struct end *end);
int end_try_init(struct end *end);
void end_connect(struct end *end, const struct peer *peer);
int end_to_rtr(struct end *end, const struct peer *peer);
int end_to_rts(struct end *end);
int end_set_state(struct end *end, enum ibv_qp_state state);
enum ibv_qp_state end_state(const struct end *end);
/* Wait until it is in @state. */
void end_await_state(const struct end *end, enum ibv_qp_state state);
/*
 * A pinion requester hears nothing any more: its ACK timer expires @retries + 1 times, and is doubled
 * each time, at most twice (wire.rst, States and timers). How many seconds are at least between the
 * second time and the last, after which it gives up? @timeout: as of ibv_modify_qp().
 *
 * The timer runs since the last answer, so the first time may come at once after the cause; or before
 * it, and before the caller has looked at his clock, if the peer has not run for a while. And there is
 * no upper limit to what a test may see: on a busy machine answers come for a while yet, each timer may
 * expire late, and the thread that looks at it is scheduled later. How often it expires is exact only
 * if no answer was ever under way (wire/cable, CA12).
 */
double end_least_silence(int timeout, int retries);

/* Two ends of this process, connected; NULL for defaults. */
void link_make(struct link *link, const struct qp_cfg *cfg);
void link_make2(struct link *link, const struct qp_cfg *a,
		const struct qp_cfg *b);
/* Likewise, with the second end on device_across(). */
void link_across(struct link *link, const struct qp_cfg *cfg);
/* @link the other way. It is not to be renewed. */
struct link link_back(const struct link *link);
void link_connect(struct link *link);
/* After an error: flush and discard everything, and connect again. */
void link_renew(struct link *link);
void link_free(struct link *link);

/* ---------------------------------------------------------- work requests */

struct ibv_sge sge_of(const struct region *region, uint64_t offset,
		      uint32_t length);

/* 100 bytes of an on-demand region; the second half is unmapped, so access to it fails. */
struct ibv_sge sge_half_gone(void);

/* How long a completion may take. */
enum { PATIENCE = 60 };

int poll_one(struct ibv_cq *cq, struct ibv_wc *wc);
bool comes_within(struct ibv_cq *cq, double seconds, struct ibv_wc *wc);
struct ibv_wc await(struct ibv_cq *cq);
/* The test fails if a completion comes. */
void expect_none(struct ibv_cq *cq, double seconds);
/* @end goes to the error state and its one receive request completes, flushed. */
void expect_flushed(struct end *end, uint64_t wr_id);
/* Discard all completions that are there. Returns how many. */
int drain(struct ibv_cq *cq);

#define expect(wc, status) expect_at(__FILE__, __LINE__, wc, status, -1)
/* @syndrome: of enum pinion_syndrome; only a pinion device is asked. */
#define expect_why(wc, status, syndrome) \
	expect_at(__FILE__, __LINE__, wc, status, syndrome)
void expect_at(const char *file, int line, struct ibv_wc wc,
	       enum ibv_wc_status status, int syndrome);

int try_post(struct end *end, struct ibv_send_wr *wr);
void post(struct end *end, struct ibv_send_wr *wr);
void post_recv(struct end *end, struct ibv_sge *sge, int num_sge,
	       uint64_t wr_id);
void post_srq(struct ibv_srq *srq, struct ibv_sge *sge, int num_sge,
	      uint64_t wr_id);

/* A signaled request to remote memory. */
void post_rdma(struct end *end, enum ibv_wr_opcode opcode, struct ibv_sge sge,
	       uint64_t remote, uint32_t rkey, uint64_t wr_id);
void post_atomic_op(struct end *end, enum ibv_wr_opcode opcode,
		    struct ibv_sge sge, uint64_t remote, uint32_t rkey,
		    uint64_t compare_add, uint64_t swap);
/* The same, and its completion. */
struct ibv_wc rdma(struct end *end, enum ibv_wr_opcode opcode,
		   struct ibv_sge sge, uint64_t remote, uint32_t rkey);
struct ibv_wc atomic_op(struct end *end, enum ibv_wr_opcode opcode,
			struct ibv_sge sge, uint64_t remote, uint32_t rkey,
			uint64_t compare_add, uint64_t swap);
struct ibv_wc send_sge(struct end *end, struct ibv_sge sge);
/* A datagram. */
struct ibv_wc send_ud(struct end *end, struct ibv_sge sge, struct ibv_ah *ah,
		      uint32_t qpn, uint32_t qkey);

/* ------------------------------------------------------ checks of regions */

/*
 * All operations that two regions allow, at random offsets and lengths, with the data
 * compared: @local by its lkey at link->a, @remote by its rkey at link->b. Afterwards each
 * entry of both translation tables is compared with the page tables of this process.
 */
void exchange(struct link *link, struct region *local, struct region *remote);
/* Single operations of exchange(). */
void check_write(struct link *link, struct region *local, uint64_t from,
		 struct region *remote, uint64_t to, uint32_t length);
void check_read(struct link *link, struct region *local, uint64_t to,
		struct region *remote, uint64_t from, uint32_t length);
void check_send(struct link *link, struct region *local, uint64_t from,
		struct region *remote, uint64_t to, uint32_t length);
/* A remote operation that must be refused with these statuses; then the link is renewed. */
void refused(struct link *link, enum ibv_wr_opcode opcode, struct ibv_sge sge,
	     uint64_t remote, uint32_t rkey, enum ibv_wc_status status,
	     int syndrome);
/*
 * An operation on the first aligned word at or behind @addr must be refused, because the key does
 * not allow it.
 */
void access_refused(struct link *link, struct region *local, uint64_t addr,
		    uint32_t rkey, enum ibv_wr_opcode opcode);

#endif /* PINION_TEST_LINK_H */
