// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Transfers that must fail: memory registered for another use (items E3 to E8), deregistered
 * memory (E35), and wrong arguments.
 */
#include <endian.h>
#include <string.h>

#include "sides.h"

#define ALWAYS RPMA_F_COMPLETION_ALWAYS
#define SOURCE RPMA_MR_USAGE_WRITE_SRC
#define TARGET RPMA_MR_USAGE_WRITE_DST

static struct sides sides;

/* In each case the memory lacks one usage: the transfer fails and breaks the connection. */
static void rights_are_kept(void)
{
	static const struct {
		const char *what;
		bool read, by_far;
		int near, far;
	} cases[] = {
		{ "read of WRITE_DST", true, true, RPMA_MR_USAGE_READ_DST,
		  TARGET },
		{ "read of SEND", true, true, RPMA_MR_USAGE_READ_DST,
		  RPMA_MR_USAGE_SEND },
		{ "read into SEND", true, false, RPMA_MR_USAGE_SEND,
		  RPMA_MR_USAGE_READ_SRC },
		{ "write to READ_SRC", false, true, SOURCE,
		  RPMA_MR_USAGE_READ_SRC },
		{ "write to RECV", false, true, SOURCE, RPMA_MR_USAGE_RECV },
	};
	size_t i;

	if (iwarp())
		skip("an iWARP WRITE is over when it is sent");
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct memory near, far;
		struct ibv_wc wc;

		context("%s", cases[i].what);
		sides_connect(&sides, NULL, NULL);
		near = near_memory(&sides, cases[i].near);
		far = far_memory(&sides, cases[i].far);
		CHECK_EQ(cases[i].read ?
				 rpma_read(sides.conn[NEAR], near.local, 0,
					   far.remote, 0, 5000,
					   RPMA_F_COMPLETION_ON_ERROR, NULL) :
				 rpma_write(sides.conn[NEAR], far.remote, 0,
					    near.local, 0, 5000,
					    RPMA_F_COMPLETION_ON_ERROR, NULL),
			 0);
		wc = cq_next(sides.cq[NEAR]);
		CHECK(wc.status != IBV_WC_SUCCESS);
		if (dev.pinion)
			CHECK_EQ(wc.status, cases[i].by_far ?
						    IBV_WC_REM_ACCESS_ERR :
						    IBV_WC_LOC_PROT_ERR);
		check_both(&near, &far);
		memory_dereg(&near);
		memory_dereg(&far);
		sides_disconnect(&sides);
	}
}

/* After deregistration a write is refused, and no byte changes. */
static void e35_after_dereg(void)
{
	struct memory to, from;

	if (iwarp())
		skip("an iWARP WRITE is over when it is sent");
	sides_connect(&sides, NULL, NULL);
	from = near_memory(&sides, SOURCE);
	to = far_memory(&sides, TARGET);
	CHECK_EQ(rpma_mr_dereg(&to.local), 0);
	CHECK_EQ(rpma_write(sides.conn[NEAR], to.remote, 0, from.local, 0, 64,
			    ALWAYS, NULL),
		 0);
	CHECK_EQ(cq_next(sides.cq[NEAR]).status, IBV_WC_REM_ACCESS_ERR);
	check_both(&to, &from);
}

/* Ranges outside of the memory are RPMA_E_INVAL before anything is sent. */
static void ranges(void)
{
	struct rpma_conn *conn;
	struct memory near, far;
	size_t i;
	/* The lengths of the last two would be valid if they were cut to 32 bits. */
	static const struct {
		size_t near, far, len;
	} cases[] = {
		{ 1, 0, LENGTH },     { 0, 1, LENGTH },
		{ 0, LENGTH + 1, 0 }, { LENGTH + 1, 0, 0 },
		{ SIZE_MAX, 0, 2 },   { 0, SIZE_MAX, 2 },
		{ 0, 0, 1ULL << 32 }, { 0, 0, (1ULL << 32) + 8 },
	};

	sides_connect(&sides, NULL, NULL);
	conn = sides.conn[NEAR];
	near = near_memory(&sides, SOURCE | RPMA_MR_USAGE_READ_DST |
					   RPMA_MR_USAGE_RECV |
					   RPMA_MR_USAGE_SEND);
	far = far_memory(&sides, TARGET | RPMA_MR_USAGE_READ_SRC);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t a = cases[i].near, b = cases[i].far, len = cases[i].len;

		context("case %zu", i);
		CHECK_EQ(rpma_read(conn, near.local, a, far.remote, b, len,
				   ALWAYS, NULL),
			 RPMA_E_INVAL);
		CHECK_EQ(rpma_write(conn, far.remote, b, near.local, a, len,
				    ALWAYS, NULL),
			 RPMA_E_INVAL);
		CHECK_EQ(rpma_write_with_imm(conn, far.remote, b, near.local, a,
					     len, ALWAYS, 1, NULL),
			 RPMA_E_INVAL);
		if (b)
			continue;
		CHECK_EQ(rpma_send(conn, near.local, a, len, ALWAYS, NULL),
			 RPMA_E_INVAL);
		CHECK_EQ(rpma_recv(conn, near.local, a, len, NULL),
			 RPMA_E_INVAL);
	}
	CHECK_EQ(rpma_cq_get_wc(sides.cq[NEAR], 1, &(struct ibv_wc){}, NULL),
		 RPMA_E_NO_COMPLETION);
	check_both(&near, &far);
	memory_dereg(&near);
	memory_dereg(&far);
	sides_free(&sides);
}

/*
 * A flush that a request cannot hold the length of is RPMA_E_INVAL, not one of what is left of
 * it in 32 bits. The memory is as long only by its description.
 */
static void long_flush(void)
{
	static const size_t lengths[] = { 1ULL << 32, (1ULL << 32) + 8,
					  5ULL << 30 };
	struct rpma_mr_remote *remote;
	uint64_t size = htole64(5ULL << 30);
	char descriptor[64];
	struct memory far;
	size_t i, length;

	sides_connect(&sides, NULL, NULL);
	far = far_memory(&sides, TARGET | RPMA_MR_USAGE_READ_SRC |
					 RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	CHECK_EQ(rpma_mr_get_descriptor_size(far.local, &length), 0);
	CHECK_EQ(rpma_mr_get_descriptor(far.local, descriptor), 0);
	/* Behind the address. */
	memcpy(descriptor + 8, &size, sizeof(size));
	CHECK_EQ(rpma_mr_remote_from_descriptor(descriptor, length, &remote),
		 0);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		context("length %zu", lengths[i]);
		CHECK_EQ(rpma_flush(sides.conn[NEAR], remote, 0, lengths[i],
				    RPMA_FLUSH_TYPE_VISIBILITY, ALWAYS, NULL),
			 RPMA_E_INVAL);
	}
	CHECK_EQ(rpma_cq_get_wc(sides.cq[NEAR], 1, &(struct ibv_wc){}, NULL),
		 RPMA_E_NO_COMPLETION);
	CHECK_EQ(rpma_mr_remote_delete(&remote), 0);
	memory_dereg(&far);
	sides_free(&sides);
}

/* Wrong arguments are RPMA_E_INVAL. */
static void arguments(void)
{
	struct rpma_conn *conn;
	struct memory near, far;

	sides_connect(&sides, NULL, NULL);
	conn = sides.conn[NEAR];
	near = near_memory(&sides, 0xff);
	far = far_memory(&sides, 0xff);
#define WRONG(call) CHECK_EQ(call, RPMA_E_INVAL)
	WRONG(rpma_read(NULL, near.local, 0, far.remote, 0, 1, ALWAYS, NULL));
	WRONG(rpma_read(conn, near.local, 0, far.remote, 0, 1, 0, NULL));
	WRONG(rpma_read(conn, NULL, 0, far.remote, 0, 1, ALWAYS, NULL));
	WRONG(rpma_read(conn, near.local, 0, NULL, 0, 1, ALWAYS, NULL));
	WRONG(rpma_read(conn, NULL, 0, NULL, 0, 1, ALWAYS, NULL));
	WRONG(rpma_read(conn, NULL, 1, NULL, 0, 0, ALWAYS, NULL));
	WRONG(rpma_read(conn, NULL, 0, NULL, 1, 0, ALWAYS, NULL));
	WRONG(rpma_write(NULL, far.remote, 0, near.local, 0, 1, ALWAYS, NULL));
	WRONG(rpma_write(conn, far.remote, 0, near.local, 0, 1, 0, NULL));
	WRONG(rpma_write(conn, NULL, 0, near.local, 0, 1, ALWAYS, NULL));
	WRONG(rpma_write(conn, far.remote, 0, NULL, 0, 1, ALWAYS, NULL));
	WRONG(rpma_send(NULL, near.local, 0, 1, ALWAYS, NULL));
	WRONG(rpma_send(conn, near.local, 0, 1, 0, NULL));
	WRONG(rpma_send(conn, NULL, 0, 1, ALWAYS, NULL));
	WRONG(rpma_send(conn, NULL, 1, 0, ALWAYS, NULL));
	WRONG(rpma_recv(NULL, near.local, 0, 1, NULL));
	WRONG(rpma_recv(conn, NULL, 0, 1, NULL));
	WRONG(rpma_recv(conn, NULL, 1, 0, NULL));
	WRONG(rpma_flush(NULL, far.remote, 0, 1, RPMA_FLUSH_TYPE_VISIBILITY,
			 ALWAYS, NULL));
	WRONG(rpma_flush(conn, NULL, 0, 1, RPMA_FLUSH_TYPE_VISIBILITY, ALWAYS,
			 NULL));
	WRONG(rpma_flush(conn, far.remote, 0, 1, RPMA_FLUSH_TYPE_VISIBILITY, 0,
			 NULL));
	WRONG(rpma_atomic_write(NULL, far.remote, 0, "1234567", ALWAYS, NULL));
	WRONG(rpma_atomic_write(conn, NULL, 0, "1234567", ALWAYS, NULL));
	WRONG(rpma_atomic_write(conn, far.remote, 0, "1234567", 0, NULL));
	check_both(&near, &far);
	memory_dereg(&near);
	memory_dereg(&far);
	sides_free(&sides);
}

/*
 * librpma assumes that flush is supported if the queue pair has the function pointer, so there must
 * be none unless it was asked for.
 */
static void only_what_was_asked_for(void)
{
#ifdef HAVE_WR_FLUSH
	struct ibv_cq *cq = MUST(ibv_create_cq(dev.ctx, 1, NULL, NULL, 0));
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = { 1, 1, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = dev.pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct ibv_qp_ex *qp;

	if (iwarp())
		skip("siw has no ibv_create_qp_ex()");
	qp = ibv_qp_to_qp_ex(MUST(ibv_create_qp_ex(dev.ctx, &attr)));
	CHECK(qp->wr_rdma_write);
	CHECK(!qp->wr_flush);
	CHECK(!qp->wr_atomic_write);
	CHECK_EQ(ibv_destroy_qp(&qp->qp_base), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
#else
	skip("a libibverbs that knows no flush");
#endif
}

static const struct test tests[] = {
	TEST(rights_are_kept, "E3-E8 a use that was not asked for fails"),
	TEST(e35_after_dereg, "E35 after deregistration"),
	TEST(only_what_was_asked_for, "operations that were not asked for"),
	TEST(ranges, "ranges outside of the memory"),
	TEST(long_flush, "E9 a flush of 4 GiB and more"),
	TEST(arguments, "wrong arguments"),
};

HARNESS_MAIN("limits of transfers of libpinion-rpma", tests)
