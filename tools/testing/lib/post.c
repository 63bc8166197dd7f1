// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work requests and completions of link.h.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "link.h"
#include "table.h"

struct ibv_sge sge_of(const struct region *region, uint64_t offset,
		      uint32_t length)
{
	return (struct ibv_sge){
		.addr = region->base + offset,
		.length = length,
		.lkey = region->lkey,
	};
}

int poll_one(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int count = ibv_poll_cq(cq, 1, wc);

	if (count < 0)
		FAIL("ibv_poll_cq: %d", count);
	/*
	 * User-mode Linux does not flush the TLBs of other processors at once. If a work item has
	 * replaced a page that this process has mapped, the process sees the new page only after
	 * its next system call.
	 */
	if (count)
		sched_yield();
	return count;
}

bool comes_within(struct ibv_cq *cq, double seconds, struct ibv_wc *wc)
{
	double limit = 0;
	int spins = 0;

	while (!poll_one(cq, wc)) {
		if (++spins < 100)
			continue;
		if (!limit)
			limit = now() + seconds;
		else if (now() > limit)
			return false;
		spins > 1000 ? (void)usleep(200) : (void)sched_yield();
	}
	return true;
}

struct ibv_wc await(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	if (!comes_within(cq, patience(PATIENCE), &wc))
		FAIL("no completion within %g seconds", patience(PATIENCE));
	return wc;
}

void expect_none(struct ibv_cq *cq, double seconds)
{
	double limit = now() + seconds;
	struct ibv_wc wc;

	do {
		if (poll_one(cq, &wc))
			FAIL("an unexpected completion: %s, vendor_err %u",
			     ibv_wc_status_str(wc.status), wc.vendor_err);
		usleep(200);
	} while (now() < limit);
}

int drain(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int count = 0;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		count++;
	return count;
}

void expect_at(const char *file, int line, struct ibv_wc wc,
	       enum ibv_wc_status status, int syndrome)
{
	if (wc.status != status)
		failed(file, line, "completed with %s (vendor_err %u), not %s",
		       ibv_wc_status_str(wc.status), wc.vendor_err,
		       ibv_wc_status_str(status));
	if (dev.pinion && syndrome >= 0 && wc.vendor_err != (unsigned)syndrome)
		failed(file, line, "%s with vendor_err %u, not %d",
		       ibv_wc_status_str(status), wc.vendor_err, syndrome);
}

int try_post(struct end *end, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(end->qp, wr, &bad);
}

void post(struct end *end, struct ibv_send_wr *wr)
{
	CHECK_EQ(try_post(end, wr), 0);
}

void post_recv(struct end *end, struct ibv_sge *sge, int num_sge,
	       uint64_t wr_id)
{
	struct ibv_recv_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = num_sge,
	};

	CHECK_EQ(ibv_post_recv(end->qp, &wr, &bad), 0);
}

void post_srq(struct ibv_srq *srq, struct ibv_sge *sge, int num_sge,
	      uint64_t wr_id)
{
	struct ibv_recv_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = num_sge,
	};

	CHECK_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
}

void post_rdma(struct end *end, enum ibv_wr_opcode opcode, struct ibv_sge sge,
	       uint64_t remote, uint32_t rkey, uint64_t wr_id)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = remote, .rkey = rkey },
	};

	post(end, &wr);
}

struct ibv_wc rdma(struct end *end, enum ibv_wr_opcode opcode,
		   struct ibv_sge sge, uint64_t remote, uint32_t rkey)
{
	post_rdma(end, opcode, sge, remote, rkey, 0);
	return await(end->scq);
}

void post_atomic_op(struct end *end, enum ibv_wr_opcode opcode,
		    struct ibv_sge sge, uint64_t remote, uint32_t rkey,
		    uint64_t compare_add, uint64_t swap)
{
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { .remote_addr = remote,
			       .rkey = rkey,
			       .compare_add = compare_add,
			       .swap = swap },
	};

	post(end, &wr);
}

struct ibv_wc atomic_op(struct end *end, enum ibv_wr_opcode opcode,
			struct ibv_sge sge, uint64_t remote, uint32_t rkey,
			uint64_t compare_add, uint64_t swap)
{
	post_atomic_op(end, opcode, sge, remote, rkey, compare_add, swap);
	return await(end->scq);
}

struct ibv_wc send_sge(struct end *end, struct ibv_sge sge)
{
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	post(end, &wr);
	return await(end->scq);
}

struct ibv_wc send_ud(struct end *end, struct ibv_sge sge, struct ibv_ah *ah,
		      uint32_t qpn, uint32_t qkey)
{
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = qkey },
	};

	post(end, &wr);
	return await(end->scq);
}

void check_write(struct link *link, struct region *local, uint64_t from,
		 struct region *remote, uint64_t to, uint32_t length)
{
	expect(rdma(&link->a, IBV_WR_RDMA_WRITE, sge_of(local, from, length),
		    remote->base + to, remote->rkey),
	       IBV_WC_SUCCESS);
	memmove(remote->buf->want + to, local->buf->want + from, length);
}

void check_read(struct link *link, struct region *local, uint64_t to,
		struct region *remote, uint64_t from, uint32_t length)
{
	expect(rdma(&link->a, IBV_WR_RDMA_READ, sge_of(local, to, length),
		    remote->base + from, remote->rkey),
	       IBV_WC_SUCCESS);
	memmove(local->buf->want + to, remote->buf->want + from, length);
}

void check_send(struct link *link, struct region *local, uint64_t from,
		struct region *remote, uint64_t to, uint32_t length)
{
	struct ibv_sge sink = sge_of(remote, to, length);
	struct ibv_wc wc;

	post_recv(&link->b, &sink, 1, to);
	expect(send_sge(&link->a, sge_of(local, from, length)), IBV_WC_SUCCESS);
	wc = await(link->b.rcq);
	expect(wc, IBV_WC_SUCCESS);
	CHECK_EQ(wc.byte_len, length);
	CHECK_EQ(wc.wr_id, to);
	memmove(remote->buf->want + to, local->buf->want + from, length);
}

static uint32_t some_length(size_t most)
{
	static const uint32_t edges[] = { 1,  7,    8,	  9,	63,   64,
					  65, 4095, 4096, 4097, 8193, 12289 };
	uint32_t length;

	length = rnd() & 1 ? edges[rnd_below(ARRAY_SIZE(edges))] :
			     rnd_in(1, most);
	return length < most ? length : most;
}

static void exchange_words(struct link *link, struct region *local,
			   struct region *remote)
{
	size_t to = -remote->base & 7, from = rnd_below(local->buf->length - 8);
	uint64_t before, add = rnd();

	/* Atomics need an address that is aligned both in the key and in memory. */
	if (remote->buf->length < to + 8 ||
	    ((uintptr_t)remote->buf->data + to) & 7)
		return;
	expect(atomic_op(&link->a, IBV_WR_ATOMIC_FETCH_AND_ADD,
			 sge_of(local, from, 8), remote->base + to,
			 remote->rkey, add, 0),
	       IBV_WC_SUCCESS);
	memcpy(&before, remote->buf->want + to, 8);
	memcpy(local->buf->want + from, &before, 8);
	before += add;
	memcpy(remote->buf->want + to, &before, 8);
	expect(atomic_op(&link->a, IBV_WR_ATOMIC_CMP_AND_SWP,
			 sge_of(local, from, 8), remote->base + to,
			 remote->rkey, before, add),
	       IBV_WC_SUCCESS);
	memcpy(local->buf->want + from, &before, 8);
	memcpy(remote->buf->want + to, &add, 8);
}

void exchange(struct link *link, struct region *local, struct region *remote)
{
	size_t most = local->buf->length < remote->buf->length ?
			      local->buf->length :
			      remote->buf->length;
	int round;

	buf_fill(local->buf);
	buf_fill(remote->buf);
	for (round = 0; round < 8; round++) {
		uint32_t length = round ? some_length(most) : most;
		size_t at = rnd_in(0, local->buf->length - length);
		size_t far = rnd_in(0, remote->buf->length - length);

		context("%u bytes at %zu and %zu, round %d", length, at, far,
			round);
		check_write(link, local, at, remote, far, length);
		at = rnd_in(0, local->buf->length - length);
		check_read(link, local, at, remote, far, length);
		far = rnd_in(0, remote->buf->length - length);
		check_send(link, local, at, remote, far, length);
		buf_check(local->buf);
		buf_check(remote->buf);
	}
	exchange_words(link, local, remote);
	buf_check(local->buf);
	buf_check(remote->buf);
	context("%s", "");
	table_check(local, local->lkey);
	table_check(remote, remote->rkey);
}

void refused(struct link *link, enum ibv_wr_opcode opcode, struct ibv_sge sge,
	     uint64_t remote, uint32_t rkey, enum ibv_wc_status status,
	     int syndrome)
{
	struct ibv_wc wc;

	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		wc = atomic_op(&link->a, opcode, sge, remote, rkey, 1, 2);
	else
		wc = rdma(&link->a, opcode, sge, remote, rkey);
	expect_why(wc, status, syndrome);
	end_await_state(&link->a, IBV_QPS_ERR);
	link_renew(link);
}

void access_refused(struct link *link, struct region *local, uint64_t addr,
		    uint32_t rkey, enum ibv_wr_opcode opcode)
{
	refused(link, opcode, sge_of(local, 0, 8), (addr + 7) & ~7ULL, rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
}
