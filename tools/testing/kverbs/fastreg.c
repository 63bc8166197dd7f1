// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fast registration as nvme, nfs and rds use it: lists of pages are registered, accessed,
 * invalidated by either side, and registered again (class 16).
 */
#include <linux/random.h>

#include "kverbs.h"

enum {
	FIRST = 0x123, END = 0xabc,	/* byte offsets in the first and the last page */
	FLAT = 3 * 4096,
	ALL = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
};

struct fixture {
	struct pair *pair;
	struct ib_mr *mr;
	struct memory *memory;
	struct flat *flat, *back;
};

/* Only allocates; nothing is registered yet. */
int fastreg_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->pair = pair_new(test);
	f->memory = memory_new(test, FIRST, END);
	f->flat = flat_new(test, FLAT);
	f->back = flat_new(test, FLAT);
	f->mr = ib_alloc_mr(f->pair->pd, IB_MR_TYPE_MEM_REG, MEMORY_PAGES);
	KUNIT_ASSERT_FALSE(test, IS_ERR(f->mr));
	test->priv = f;
	return 0;
}

void fastreg_exit(struct kunit *test)
{
	struct fixture *f = test->priv;

	if (!f)
		return;
	if (f->mr)
		ib_dereg_mr(f->mr);
	flat_free(f->flat);
	flat_free(f->back);
	memory_free(f->memory);
	pair_free(f->pair);
}

/* Registers @memory under a new key, on end b. */
static enum ib_wc_status put_in_force(struct kunit *test, struct ib_mr *mr,
				      struct memory *memory, int access)
{
	struct fixture *f = test->priv;

	KUNIT_ASSERT_EQ(test, MEMORY_PAGES,
			ib_map_mr_sg(mr, memory->sg, MEMORY_PAGES, NULL, PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, mr->length, memory->length);
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	return end_reg(test, &f->pair->b, mr, mr->rkey, access);
}

/* Writes some bytes from a into the list, and checks that only these changed. */
static enum ib_wc_status write_some(struct kunit *test, u64 iova, u32 rkey)
{
	struct fixture *f = test->priv;
	size_t length = 1 + get_random_u32_below(FLAT);
	size_t at = get_random_u32_below(f->memory->length - length + 1);
	enum ib_wc_status status;

	get_random_bytes(f->flat->data, FLAT);
	status = end_rdma(test, &f->pair->a, IB_WR_RDMA_WRITE,
			  flat_sge(f->pair, f->flat, length), iova + at, rkey);
	if (status == IB_WC_SUCCESS)
		memory_expect(f->memory, at, f->flat->data, length);
	memory_check(test, f->memory);
	return status;
}

static void read_all(struct kunit *test, u64 iova, u32 rkey)
{
	struct fixture *f = test->priv;
	size_t at;

	for (at = 0; at + FLAT <= f->memory->length; at += 1000) {
		KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS,
				end_rdma(test, &f->pair->a, IB_WR_RDMA_READ,
					 flat_sge(f->pair, f->back, FLAT), iova + at, rkey));
		KUNIT_EXPECT_MEMEQ(test, f->back->data, f->memory->model + FIRST + at, FLAT);
	}
}

/* The access is refused and no byte changes; reconnects the pair. */
static void expect_refused(struct kunit *test, u64 iova, u32 rkey)
{
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, IB_WC_REM_ACCESS_ERR, write_some(test, iova, rkey));
	pair_renew(test, f->pair, ITS_MAC);
}

/* Writes and reads at random places of a list with odd first and last bytes. */
static void a_list_is_where_its_pages_are(struct kunit *test)
{
	struct fixture *f = test->priv;
	int i;

	KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, put_in_force(test, f->mr, f->memory, ALL));
	for (i = 0; i < 50; i++)
		KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, write_some(test, f->mr->iova, f->mr->rkey));
	read_all(test, f->mr->iova, f->mr->rkey);
}

/* The bytes before and after the list cannot be reached. */
static void a_list_ends_where_it_ends(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct ib_sge one = flat_sge(f->pair, f->flat, 1);
	u64 base;

	KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, put_in_force(test, f->mr, f->memory, ALL));
	base = f->mr->iova;
	KUNIT_EXPECT_EQ(test, IB_WC_REM_ACCESS_ERR,
			end_rdma(test, &f->pair->a, IB_WR_RDMA_WRITE, one, base - 1, f->mr->rkey));
	pair_renew(test, f->pair, ITS_MAC);
	KUNIT_EXPECT_EQ(test, IB_WC_REM_ACCESS_ERR,
			end_rdma(test, &f->pair->a, IB_WR_RDMA_WRITE, one,
				 base + f->memory->length, f->mr->rkey));
	pair_renew(test, f->pair, ITS_MAC);
	one.length = 2;
	KUNIT_EXPECT_EQ(test, IB_WC_REM_ACCESS_ERR,
			end_rdma(test, &f->pair->a, IB_WR_RDMA_WRITE, one,
				 base + f->memory->length - 1, f->mr->rkey));
	memory_check(test, f->memory);
}

/* A registration grants only the rights it names. */
static void a_right_not_given_is_not_there(struct kunit *test)
{
	struct fixture *f = test->priv;

	KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS,
			put_in_force(test, f->mr, f->memory, IB_ACCESS_REMOTE_READ));
	read_all(test, f->mr->iova, f->mr->rkey);
	expect_refused(test, f->mr->iova, f->mr->rkey);
}

/* After LOCAL_INV the key is invalid; registered again, the list works under a new key. */
static void an_invalidated_list_is_shut(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 old;

	KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, put_in_force(test, f->mr, f->memory, ALL));
	old = f->mr->rkey;
	KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, write_some(test, f->mr->iova, old));
	KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, end_invalidate(test, &f->pair->b, old));
	expect_refused(test, f->mr->iova, old);

	KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, put_in_force(test, f->mr, f->memory, ALL));
	KUNIT_ASSERT_NE(test, old, f->mr->rkey);
	expect_refused(test, f->mr->iova, old);
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, write_some(test, f->mr->iova, f->mr->rkey));
}

/* The peer invalidates the list by a message; the receiver's completion names the key. */
static void a_message_invalidates_a_list(struct kunit *test)
{
	struct fixture *f = test->priv;
	enum ib_wc_status sent;
	struct ib_wc wc;
	u32 key;

	KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, put_in_force(test, f->mr, f->memory, ALL));
	key = f->mr->rkey;
	wc = pair_send(test, f->pair, IB_WR_SEND_WITH_INV, flat_sge(f->pair, f->flat, 99),
		       flat_sge(f->pair, f->back, FLAT), key, &sent);
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, sent);
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, wc.status);
	KUNIT_EXPECT_TRUE(test, wc.wc_flags & IB_WC_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, key);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 99);
	KUNIT_EXPECT_MEMEQ(test, f->back->data, f->flat->data, 99);
	expect_refused(test, f->mr->iova, key);
	/* A SEND_WITH_INV of an unknown key fails. */
	wc = pair_send(test, f->pair, IB_WR_SEND_WITH_INV, flat_sge(f->pair, f->flat, 99),
		       flat_sge(f->pair, f->back, FLAT), key ^ 1, &sent);
	KUNIT_EXPECT_NE(test, IB_WC_SUCCESS, sent);
}

/* A valid list cannot be registered again, and stays as it is. */
static void a_list_in_force_is_not_replaced(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 iova;
	u32 key;

	KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, put_in_force(test, f->mr, f->memory, ALL));
	iova = f->mr->iova;
	key = f->mr->rkey;
	KUNIT_EXPECT_NE(test, IB_WC_SUCCESS, put_in_force(test, f->mr, f->memory, ALL));
	pair_renew(test, f->pair, ITS_MAC);
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, write_some(test, iova, key));
}

/* A queue pair of another domain can neither register the list nor access it. */
static void another_domains_list_is_out_of_reach(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct pair *other = pair_new(test);
	u32 key;

	KUNIT_ASSERT_EQ(test, MEMORY_PAGES,
			ib_map_mr_sg(f->mr, f->memory->sg, MEMORY_PAGES, NULL, PAGE_SIZE));
	key = ib_inc_rkey(f->mr->rkey);
	KUNIT_EXPECT_NE(test, IB_WC_SUCCESS, end_reg(test, &other->b, f->mr, key, ALL));
	pair_renew(test, other, ITS_MAC);
	KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, put_in_force(test, f->mr, f->memory, ALL));
	KUNIT_EXPECT_EQ(test, IB_WC_REM_ACCESS_ERR,
			end_rdma(test, &other->a, IB_WR_RDMA_WRITE, flat_sge(other, f->flat, 8),
				 f->mr->iova, f->mr->rkey));
	pair_renew(test, other, ITS_MAC);
	KUNIT_EXPECT_NE(test, IB_WC_SUCCESS, end_invalidate(test, &other->b, f->mr->rkey));
	memory_check(test, f->memory);
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, write_some(test, f->mr->iova, f->mr->rkey));
	pair_free(other);
}

/* After deregistration of a valid list its key is unknown. */
static void a_deregistered_list_is_gone(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 iova;
	u32 key;

	KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, put_in_force(test, f->mr, f->memory, ALL));
	iova = f->mr->iova;
	key = f->mr->rkey;
	KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, write_some(test, iova, key));
	KUNIT_ASSERT_EQ(test, 0, ib_dereg_mr(f->mr));
	f->mr = NULL;
	expect_refused(test, iova, key);
}

/*
 * Two lists are registered and invalidated by turns, hundreds of times: each key leads to its
 * own memory.
 */
static void lists_take_turns(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct memory *first = f->memory, *second = memory_new(test, 0, PAGE_SIZE);
	u32 last = 0;
	int i;

	for (i = 0; i < 200; i++) {
		f->memory = i & 1 ? second : first;
		KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, put_in_force(test, f->mr, f->memory, ALL));
		KUNIT_ASSERT_NE(test, last, f->mr->rkey);
		last = f->mr->rkey;
		KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, write_some(test, f->mr->iova, last));
		KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, end_invalidate(test, &f->pair->b, last));
	}
	memory_check(test, first);
	memory_check(test, second);
	f->memory = first;
	memory_free(second);
}

/* The local DMA key works for local use only. */
static void the_local_key_is_local(struct kunit *test)
{
	struct fixture *f = test->priv;
	enum ib_wc_status sent;
	struct ib_wc wc;

	wc = pair_send(test, f->pair, IB_WR_SEND, flat_sge(f->pair, f->flat, FLAT),
		       flat_sge(f->pair, f->back, FLAT), 0, &sent);
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, sent);
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, wc.status);
	KUNIT_EXPECT_MEMEQ(test, f->back->data, f->flat->data, FLAT);
	KUNIT_EXPECT_EQ(test, IB_WC_REM_ACCESS_ERR,
			end_rdma(test, &f->pair->a, IB_WR_RDMA_WRITE, flat_sge(f->pair, f->flat, 8),
				 f->back->address, f->pair->pd->local_dma_lkey));
	KUNIT_EXPECT_MEMEQ(test, f->back->data, f->flat->data, FLAT);
}

/* Posted requests are flushed, and ib_drain_qp() waits for all of them. */
static void what_is_posted_comes_back(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct ib_sge to = flat_sge(f->pair, f->back, FLAT);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_recv_wr recv = { .sg_list = &to, .num_sge = 1 };
	int i;

	for (i = 0; i < 5; i++)
		KUNIT_ASSERT_EQ(test, 0, ib_post_recv(f->pair->b.qp, &recv, NULL));
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(f->pair->b.qp, &attr, IB_QP_STATE));
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, IB_WC_WR_FLUSH_ERR, end_wait(&f->pair->b).status);
}

/*
 * An address without a MAC reaches whoever has the address; with another MAC it reaches nobody. The
 * server of SMC-R knows no MAC of devices without RoCE v1.
 */
static void a_peer_without_mac_is_reached(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct ib_sge from = flat_sge(f->pair, f->flat, FLAT);
	struct ib_sge to = flat_sge(f->pair, f->back, FLAT);
	struct ib_recv_wr recv = { .sg_list = &to, .num_sge = 1 };
	struct ib_send_wr send = { .opcode = IB_WR_SEND, .sg_list = &from, .num_sge = 1 };

	pair_renew(test, f->pair, NO_MAC);
	KUNIT_ASSERT_EQ(test, 0, ib_post_recv(f->pair->b.qp, &recv, NULL));
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, end_do(test, &f->pair->a, &send));
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, end_wait(&f->pair->b).status);
	KUNIT_EXPECT_MEMEQ(test, f->back->data, f->flat->data, FLAT);
	pair_renew(test, f->pair, WRONG_MAC);
	KUNIT_ASSERT_EQ(test, 0, ib_post_recv(f->pair->b.qp, &recv, NULL));
	/* Packets are routed by their address, whatever the MAC. */
	KUNIT_EXPECT_EQ(test, kverbs_packets ? IB_WC_SUCCESS : IB_WC_RETRY_EXC_ERR,
			end_do(test, &f->pair->a, &send));
}

struct kunit_case fastreg_cases[] = {
	KUNIT_CASE(a_peer_without_mac_is_reached),
	KUNIT_CASE(a_list_is_where_its_pages_are),
	KUNIT_CASE(a_list_ends_where_it_ends),
	KUNIT_CASE(a_right_not_given_is_not_there),
	KUNIT_CASE(an_invalidated_list_is_shut),
	KUNIT_CASE(a_message_invalidates_a_list),
	KUNIT_CASE(a_list_in_force_is_not_replaced),
	KUNIT_CASE(another_domains_list_is_out_of_reach),
	KUNIT_CASE(a_deregistered_list_is_gone),
	KUNIT_CASE(lists_take_turns),
	KUNIT_CASE(the_local_key_is_local),
	KUNIT_CASE(what_is_posted_comes_back),
	{}
};
