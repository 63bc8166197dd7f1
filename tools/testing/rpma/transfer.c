// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Data over a connection: the transfers that each use of memory allows (items E3 to E10, E22).
 * limits.c tests what is refused.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "sides.h"
#include "verbs.h"

#define ALWAYS RPMA_F_COMPLETION_ALWAYS
#define SOURCE RPMA_MR_USAGE_WRITE_SRC
#define TARGET RPMA_MR_USAGE_WRITE_DST
#define FLUSH_VISIBILITY RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY
#define FLUSH_PERSISTENT RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT

static struct sides sides;
static void *const context_a = &sides;

static void read_some(struct memory *to, const struct memory *from, size_t len)
{
	size_t a = rnd_below(LENGTH - len + 1), b = rnd_below(LENGTH - len + 1);

	CHECK_EQ(rpma_read(sides.conn[NEAR], to->local, a, from->remote, b, len,
			   ALWAYS, context_a),
		 0);
	cq_expect(sides.cq[NEAR], IBV_WC_RDMA_READ, context_a);
	expect_copy(to, a, from, b, len);
	check_both(to, from);
}

/* Reads of any length, also of no bytes. */
static void e3_e4_read(void)
{
	struct memory to, from;
	int i;

	sides_connect(&sides, NULL, NULL);
	to = near_memory(&sides, RPMA_MR_USAGE_READ_DST);
	from = far_memory(&sides, RPMA_MR_USAGE_READ_SRC);
	for (i = 0; i < 20; i++)
		read_some(&to, &from, rnd_in(1, LENGTH));
	read_some(&to, &from, LENGTH);
	/* siw does not support reads of 0 bytes. */
	if (!iwarp()) {
		read_some(&to, &from, 0);
		CHECK_EQ(rpma_read(sides.conn[NEAR], NULL, 0, NULL, 0, 0,
				   ALWAYS, &to),
			 0);
		cq_expect(sides.cq[NEAR], IBV_WC_RDMA_READ, &to);
	}
	memory_dereg(&to);
	memory_dereg(&from);
	sides_free(&sides);
}

static void write_some(struct memory *to, const struct memory *from, size_t len)
{
	size_t a = rnd_below(LENGTH - len + 1), b = rnd_below(LENGTH - len + 1);

	/* The first write has a completion only if it fails. */
	CHECK_EQ(rpma_write(sides.conn[NEAR], to->remote, a, from->local, b,
			    len, RPMA_F_COMPLETION_ON_ERROR, NULL),
		 0);
	CHECK_EQ(rpma_write(sides.conn[NEAR], to->remote, a, from->local, b,
			    len, ALWAYS, context_a),
		 0);
	cq_expect(sides.cq[NEAR], IBV_WC_RDMA_WRITE, context_a);
	expect_copy(to, a, from, b, len);
	check_both(to, from);
}

/* Writes of any length. */
static void e5_e6_write(void)
{
	struct memory to, from;
	int i;

	sides_connect(&sides, NULL, NULL);
	from = near_memory(&sides, SOURCE);
	to = far_memory(&sides, TARGET);
	for (i = 0; i < 20; i++)
		write_some(&to, &from, rnd_in(1, LENGTH));
	write_some(&to, &from, LENGTH);
	memory_dereg(&to);
	memory_dereg(&from);
	sides_free(&sides);
}

/* A write with immediate data, which the other side receives. */
static void write_with_imm(void)
{
	struct memory to, from;
	struct ibv_wc wc;

	if (iwarp())
		skip("iWARP has no immediate data");
	sides_connect(&sides, NULL, NULL);
	from = near_memory(&sides, SOURCE);
	to = far_memory(&sides, TARGET);
	CHECK_EQ(rpma_recv(sides.conn[FAR], NULL, 0, 0, &to), 0);
	CHECK_EQ(rpma_write_with_imm(sides.conn[NEAR], to.remote, 11,
				     from.local, 77, 30001, ALWAYS, 0xfeedbeef,
				     context_a),
		 0);
	cq_expect(sides.cq[NEAR], IBV_WC_RDMA_WRITE, context_a);
	wc = cq_next(sides.cq[FAR]);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_EQ(wc.wr_id, (uintptr_t)&to);
	CHECK(wc.wc_flags & IBV_WC_WITH_IMM);
	CHECK_EQ(ntohl(wc.imm_data), 0xfeedbeef);
	CHECK_EQ(wc.byte_len, 30001);
	expect_copy(&to, 11, &from, 77, 30001);
	check_both(&to, &from);
	memory_dereg(&to);
	memory_dereg(&from);
	sides_free(&sides);
}

static void send_some(struct memory *to, const struct memory *from, size_t len,
		      bool imm)
{
	struct ibv_wc wc;

	CHECK_EQ(rpma_recv(sides.conn[FAR], to->local, 5, LENGTH - 5, to), 0);
	CHECK_EQ(imm ? rpma_send_with_imm(sides.conn[NEAR], from->local, 9, len,
					  ALWAYS, 0x12345678, context_a) :
		       rpma_send(sides.conn[NEAR], from->local, 9, len, ALWAYS,
				 context_a),
		 0);
	cq_expect(sides.cq[NEAR], IBV_WC_SEND, context_a);
	wc = cq_next(sides.cq[FAR]);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.opcode, IBV_WC_RECV);
	CHECK_EQ(wc.wr_id, (uintptr_t)to);
	CHECK_EQ(wc.byte_len, len);
	CHECK_EQ(!!(wc.wc_flags & IBV_WC_WITH_IMM), imm);
	if (imm)
		CHECK_EQ(ntohl(wc.imm_data), 0x12345678);
	expect_copy(to, 5, from, 9, len);
	check_both(to, from);
}

/* Sends and receives of any length, with and without immediate data. */
static void e7_e8_send_and_receive(void)
{
	struct memory to, from;
	int i;

	sides_connect(&sides, NULL, NULL);
	from = near_memory(&sides, RPMA_MR_USAGE_SEND);
	to = far_memory(&sides, RPMA_MR_USAGE_RECV);
	for (i = 0; i < 20; i++)
		send_some(&to, &from, rnd_in(1, LENGTH - 9), !iwarp() && i & 1);
	/* siw does not support receives of 0 bytes. */
	if (!iwarp()) {
		CHECK_EQ(rpma_recv(sides.conn[FAR], NULL, 0, 0, NULL), 0);
		CHECK_EQ(rpma_send(sides.conn[NEAR], NULL, 0, 0, ALWAYS, NULL),
			 0);
		cq_expect(sides.cq[NEAR], IBV_WC_SEND, NULL);
		cq_expect(sides.cq[FAR], IBV_WC_RECV, NULL);
	}
	memory_dereg(&to);
	memory_dereg(&from);
	sides_free(&sides);
}

/* Atomic writes of eight bytes; wrong places are refused. */
static void atomic_write(void)
{
	struct memory to;
	char word[8];
	int i;

	sides_connect(&sides, NULL, NULL);
	to = memory_reg(sides.peer[FAR], LENGTH, 4088, TARGET);
	for (i = 0; i < 20; i++) {
		size_t at = rnd_below(LENGTH / 8) * 8;

		rnd_fill(word, sizeof(word));
		CHECK_EQ(rpma_atomic_write(sides.conn[NEAR], to.remote, at,
					   word, ALWAYS, context_a),
			 0);
		CHECK_EQ(cq_next(sides.cq[NEAR]).status, IBV_WC_SUCCESS);
		memcpy(to.buf->want + at, word, sizeof(word));
		buf_check(to.buf);
	}
	CHECK_EQ(rpma_atomic_write(sides.conn[NEAR], to.remote, 4, word, ALWAYS,
				   NULL),
		 RPMA_E_INVAL);
	CHECK_EQ(rpma_atomic_write(sides.conn[NEAR], to.remote, LENGTH, word,
				   ALWAYS, NULL),
		 RPMA_E_INVAL);
	CHECK_EQ(rpma_atomic_write(sides.conn[NEAR], to.remote, 0, NULL, ALWAYS,
				   NULL),
		 RPMA_E_INVAL);
	memory_dereg(&to);
	sides_free(&sides);
}

static int flush(struct memory *to, size_t offset, size_t len,
		 enum rpma_flush_type type)
{
	return rpma_flush(sides.conn[NEAR], to->remote, offset, len, type,
			  ALWAYS, context_a);
}

static void flush_done(struct memory *to, size_t offset, size_t len,
		       enum rpma_flush_type type)
{
	struct ibv_wc wc;

	CHECK_EQ(flush(to, offset, len, type), 0);
	wc = cq_next(sides.cq[NEAR]);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, (uintptr_t)context_a);
}

/* A flush to visibility: the data written before are there. */
static void e9_flush_visibility(void)
{
	struct memory to, from;

	sides_connect(&sides, NULL, NULL);
	from = near_memory(&sides, SOURCE);
	to = far_memory(&sides, TARGET | FLUSH_VISIBILITY);
	CHECK_EQ(rpma_write(sides.conn[NEAR], to.remote, 7, from.local, 0, 9999,
			    RPMA_F_COMPLETION_ON_ERROR, NULL),
		 0);
	flush_done(&to, 7, 9999, RPMA_FLUSH_TYPE_VISIBILITY);
	expect_copy(&to, 7, &from, 0, 9999);
	check_both(&to, &from);
	/* A flush of the last byte: a read of 8 bytes would not fit there. */
	flush_done(&to, LENGTH - 1, 1, RPMA_FLUSH_TYPE_VISIBILITY);
	CHECK_EQ(flush(&to, LENGTH, 1, RPMA_FLUSH_TYPE_VISIBILITY),
		 RPMA_E_INVAL);
	CHECK_EQ(flush(&to, 0, LENGTH + 1, RPMA_FLUSH_TYPE_VISIBILITY),
		 RPMA_E_INVAL);
	CHECK_EQ(flush(&to, 0, 1, 2), RPMA_E_INVAL);
	CHECK_EQ(flush(&to, 0, 1, RPMA_FLUSH_TYPE_PERSISTENT), RPMA_E_NOSUPP);
	check_both(&to, &from);
	memory_dereg(&to);
	memory_dereg(&from);
	sides_free(&sides);
}

static void allow_direct_write(void)
{
	struct rpma_peer_cfg *cfg;

	CHECK_EQ(rpma_peer_cfg_new(&cfg), 0);
	CHECK_EQ(rpma_peer_cfg_set_direct_write_to_pmem(cfg, true), 0);
	CHECK_EQ(rpma_conn_apply_remote_peer_cfg(sides.conn[NEAR], cfg), 0);
	CHECK_EQ(rpma_peer_cfg_delete(&cfg), 0);
}

/* Does the device have both kinds of FLUSH, as the library requires? Otherwise a read is used. */
static bool native_flush(void)
{
#ifdef HAVE_WR_FLUSH
	return (dev.attr.device_cap_flags_ex >> 38 & 3) == 3;
#else
	return false;
#endif
}

/* A flush to persistence, once the peer permits direct writes. */
static void e10_flush_persistent(void)
{
	struct memory to, from;
	int type;

	sides_connect(&sides, NULL, NULL);
	from = near_memory(&sides, SOURCE);
	to = far_memory(&sides, TARGET | FLUSH_PERSISTENT);
	/* Refused until the peer's configuration allows direct writes. */
	CHECK_EQ(flush(&to, 0, 1, RPMA_FLUSH_TYPE_PERSISTENT), RPMA_E_NOSUPP);
	allow_direct_write();
	CHECK_EQ(flush(&to, 0, 1, RPMA_FLUSH_TYPE_VISIBILITY), RPMA_E_NOSUPP);
	CHECK_EQ(rpma_mr_remote_get_flush_type(to.remote, &type), 0);
	CHECK_EQ(type, FLUSH_PERSISTENT);
	CHECK_EQ(rpma_write(sides.conn[NEAR], to.remote, 7, from.local, 0, 9999,
			    ALWAYS, context_a),
		 0);
	cq_expect(sides.cq[NEAR], IBV_WC_RDMA_WRITE, context_a);
	expect_copy(&to, 7, &from, 0, 9999);
	check_both(&to, &from);
	if (native_flush()) {
		/* A native FLUSH fails, because this memory is not persistent. */
		CHECK_EQ(flush(&to, 7, 9999, RPMA_FLUSH_TYPE_PERSISTENT), 0);
		CHECK(cq_next(sides.cq[NEAR]).status != IBV_WC_SUCCESS);
	} else {
		flush_done(&to, 7, 9999, RPMA_FLUSH_TYPE_PERSISTENT);
	}
	check_both(&to, &from);
	memory_dereg(&to);
	memory_dereg(&from);
}

/* A device without FLUSH uses a read: memory registered only for flushes can be read (E31). */
static void flush_of_unequal_peers(void)
{
	struct memory to, sink;

	sides_connect(&sides, NULL, NULL);
	to = far_memory(&sides, FLUSH_VISIBILITY);
	sink = near_memory(&sides, RPMA_MR_USAGE_READ_DST);
	CHECK_EQ(rpma_read(sides.conn[NEAR], sink.local, 0, to.remote, 0, 8,
			   ALWAYS, context_a),
		 0);
	cq_expect(sides.cq[NEAR], IBV_WC_RDMA_READ, context_a);
	flush_done(&to, 0, 8, RPMA_FLUSH_TYPE_VISIBILITY);
	memory_dereg(&to);
	memory_dereg(&sink);
	sides_free(&sides);
}

/* Registration falls back to on-demand paging, and data are transferred. */
static void e22_on_demand_data(void)
{
	struct memory to, from;
	int i, odp;

	CHECK_EQ(rpma_utils_ibv_context_is_odp_capable(dev.ctx, &odp), 0);
	if (!odp)
		skip("no on-demand paging");
	if (!dev.pinion)
		skip("rxe moves on-demand pages to the wrong offset");
	sides_connect(&sides, NULL, NULL);
	registrations_reset();
	registrations.fail[0] = EOPNOTSUPP;
	from = near_memory(&sides, SOURCE);
	registrations_reset();
	registrations.fail[0] = EOPNOTSUPP;
	to = far_memory(&sides, TARGET);
	CHECK_EQ(registrations.calls, 2);
	for (i = 0; i < 20; i++)
		write_some(&to, &from, rnd_in(1, LENGTH));
	memory_dereg(&to);
	memory_dereg(&from);
	sides_free(&sides);
}

static const struct test tests[] = {
	TEST(e3_e4_read, "E3,E4 read"),
	TEST(e5_e6_write, "E5,E6 write"),
	TEST(write_with_imm, "write with immediate data"),
	TEST(e7_e8_send_and_receive, "E7,E8 send and receive"),
	TEST(atomic_write, "atomic write"),
	TEST(e9_flush_visibility, "E9 flush to visibility"),
	TEST(e10_flush_persistent, "E10 flush to persistence"),
	TEST(flush_of_unequal_peers, "E9 memory to be flushed can be read"),
	TEST(e22_on_demand_data, "E22 data of memory on demand"),
};

HARNESS_MAIN("transfers over a connection of libpinion-rpma", tests)
