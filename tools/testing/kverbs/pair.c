// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two connected kernel queue pairs; waiting polls.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <rdma/ib_cache.h>

#include "kverbs.h"
#include "peer.h"

enum { DEPTH = 16, PORT = 1, WAIT_S = 60 };

/*
 * RoCE v2 over IPv4, as in the tests of user space, and the MAC of the network device, which
 * kernel users have to set themselves.
 */
int kverbs_find_gid(struct ib_device *device, union ib_gid *gid, u8 *mac)
{
	const struct ib_gid_attr *attr;
	int i, found = -ENOENT;

	for (i = 0; i < 64 && found < 0; i++) {
		attr = rdma_get_gid_attr(device, PORT, i);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((struct in6_addr *)&attr->gid)) {
			*gid = attr->gid;
			found = rdma_read_gid_l2_fields(attr, NULL, mac) ?: i;
		}
		rdma_put_gid_attr(attr);
	}
	return found;
}

void kverbs_address(struct ib_device *device, const union ib_gid *gid, int index, const u8 *mac,
		    struct rdma_ah_attr *address)
{
	*address = (struct rdma_ah_attr){ .type = rdma_ah_find_type(device, PORT) };
	ether_addr_copy(address->roce.dmac, mac);
	rdma_ah_set_grh(address, (union ib_gid *)gid, 0, index, 64, 0);
	rdma_ah_set_port_num(address, PORT);
}

int kverbs_connect(struct ib_qp *qp, u32 peer, const struct rdma_ah_attr *address)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |
				   IB_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = peer,
		.rq_psn = PEER_PSN,
		.sq_psn = PEER_PSN,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = *address,
	};
	int err;

	err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	if (err)
		return err;
	attr.qp_state = IB_QPS_RTR;
	err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			   IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	attr.qp_state = IB_QPS_RTS;
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			    IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

static void end_connect(struct kunit *test, struct end *end, struct end *peer, enum mac kind)
{
	struct rdma_ah_attr address;
	u8 mac[ETH_ALEN];
	union ib_gid gid;
	int index = kverbs_find_gid(kverbs_device, &gid, mac);

	KUNIT_ASSERT_GE(test, index, 0);
	if (kind == NO_MAC)
		eth_zero_addr(mac);
	else if (kind == WRONG_MAC)
		mac[ETH_ALEN - 1] ^= 1;
	kverbs_address(kverbs_device, &gid, index, mac, &address);
	KUNIT_ASSERT_EQ(test, 0, kverbs_connect(end->qp, peer->qp->qp_num, &address));
}

static void end_make(struct kunit *test, struct pair *pair, struct end *end)
{
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 2, .max_recv_sge = 2 },
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};

	end->cq = ib_alloc_cq(kverbs_device, NULL, 4 * DEPTH, 0, IB_POLL_DIRECT);
	KUNIT_ASSERT_FALSE(test, IS_ERR(end->cq));
	attr.send_cq = end->cq;
	attr.recv_cq = end->cq;
	end->qp = ib_create_qp(pair->pd, &attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(end->qp));
}

struct pair *pair_new(struct kunit *test)
{
	struct pair *pair = kunit_kzalloc(test, sizeof(*pair), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, pair);
	pair->pd = ib_alloc_pd(kverbs_device, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(pair->pd));
	end_make(test, pair, &pair->a);
	end_make(test, pair, &pair->b);
	end_connect(test, &pair->a, &pair->b, ITS_MAC);
	end_connect(test, &pair->b, &pair->a, ITS_MAC);
	return pair;
}

static void end_free(struct end *end)
{
	ib_destroy_qp(end->qp);
	ib_free_cq(end->cq);
}

void pair_free(struct pair *pair)
{
	end_free(&pair->a);
	end_free(&pair->b);
	ib_dealloc_pd(pair->pd);
}

static void end_reset(struct kunit *test, struct end *end)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(end->qp, &attr, IB_QP_STATE));
	while (ib_poll_cq(end->cq, 1, &wc) > 0)
		;
}

void pair_renew(struct kunit *test, struct pair *pair, enum mac mac)
{
	end_reset(test, &pair->a);
	end_reset(test, &pair->b);
	end_connect(test, &pair->a, &pair->b, mac);
	end_connect(test, &pair->b, &pair->a, mac);
}

struct ib_wc end_wait(struct end *end)
{
	unsigned long until = jiffies + WAIT_S * HZ;
	struct ib_wc wc = { .status = -1 };

	while (!ib_poll_cq(end->cq, 1, &wc) && time_before(jiffies, until))
		usleep_range(20, 100);
	return wc;
}

enum ib_wc_status end_do(struct kunit *test, struct end *end, struct ib_send_wr *wr)
{
	wr->send_flags |= IB_SEND_SIGNALED;
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(end->qp, wr, NULL));
	return end_wait(end).status;
}

enum ib_wc_status end_rdma(struct kunit *test, struct end *end, enum ib_wr_opcode opcode,
			   struct ib_sge sge, u64 remote, u32 rkey)
{
	struct ib_rdma_wr wr = {
		.wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = remote,
		.rkey = rkey,
	};

	return end_do(test, end, &wr.wr);
}

enum ib_wc_status end_reg(struct kunit *test, struct end *end, struct ib_mr *mr, u32 key,
			  int access)
{
	struct ib_reg_wr wr = {
		.wr = { .opcode = IB_WR_REG_MR },
		.mr = mr,
		.key = key,
		.access = access,
	};

	return end_do(test, end, &wr.wr);
}

enum ib_wc_status end_invalidate(struct kunit *test, struct end *end, u32 key)
{
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = key };

	return end_do(test, end, &wr);
}

struct ib_wc pair_send(struct kunit *test, struct pair *pair, enum ib_wr_opcode opcode,
		       struct ib_sge from, struct ib_sge to, u32 invalidate,
		       enum ib_wc_status *sent)
{
	struct ib_recv_wr recv = { .sg_list = &to, .num_sge = 1 };
	struct ib_send_wr send = {
		.opcode = opcode, .sg_list = &from, .num_sge = 1,
		.ex.invalidate_rkey = invalidate,
	};

	KUNIT_ASSERT_EQ(test, 0, ib_post_recv(pair->b.qp, &recv, NULL));
	*sent = end_do(test, &pair->a, &send);
	return end_wait(&pair->b);
}
