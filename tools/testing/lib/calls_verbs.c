// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Calls of words that are no methods: commands as structures, steps of queue pairs, requests in
 * their rings, and what happens to memory.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "device.h"
#include "raw.h"
#include "words.h"

/* A command that answers by a structure, and maybe by one of the driver, which is not used. */
static bool driver_command(uint32_t which, const void *in, size_t in_length,
			   void *out, size_t out_length,
			   const struct raw_payload *with)
{
	struct raw_payload payload = *with;
	uint8_t *to = NULL;
	bool good;

	if (out_length)
		to = calls_answer_begin(UVERBS_ATTR_CORE_OUT, out_length,
					VALUE_NONE);
	if (payload.out_length)
		payload.out = calls_answer_begin(
			UVERBS_ATTR_UHW_OUT, payload.out_length, VALUE_NONE);
	good = !raw_driver_command(calls_self.fd, which, in, in_length, to,
				   out_length, &payload);
	calls_answers_check();
	if (out_length)
		memcpy(out, to, out_length);
	return good;
}

static bool command(uint32_t which, const void *in, size_t in_length, void *out,
		    size_t out_length)
{
	return driver_command(which, in, in_length, out, out_length,
			      &(struct raw_payload){});
}

static bool pd_alloc(void)
{
	struct ib_uverbs_alloc_pd in = {};
	struct ib_uverbs_alloc_pd_resp out;
	struct raw_payload answer = {
		.out_length = sizeof(struct pinion_alloc_pd_resp),
	};

	if (!driver_command(IB_USER_VERBS_CMD_ALLOC_PD, &in, sizeof(in), &out,
			    sizeof(out), &answer))
		return false;
	made_add(UVERBS_OBJECT_PD, out.pd_handle);
	return true;
}

static bool reg(void)
{
	uint64_t at = word_some_address();
	struct ib_uverbs_reg_mr in = {
		.start = at,
		.length = word_some(CALLS_ARENA),
		.hca_va = word_some(at),
		.pd_handle = word_some_handle(UVERBS_OBJECT_PD),
		.access_flags = word_some(ALL_ACCESS),
	};
	struct ib_uverbs_reg_mr_resp out;

	if (!command(IB_USER_VERBS_CMD_REG_MR, &in, sizeof(in), &out,
		     sizeof(out)))
		return false;
	made_add(UVERBS_OBJECT_MR, out.mr_handle);
	calls_self.value[VALUE_LKEY] = out.lkey;
	calls_self.value[VALUE_RKEY] = out.rkey;
	return true;
}

static bool rereg(void)
{
	uint64_t at = word_some_address();
	struct ib_uverbs_rereg_mr in = {
		.mr_handle = word_some_handle(UVERBS_OBJECT_MR),
		.flags = word_some(IBV_REREG_MR_CHANGE_ACCESS),
		.start = at,
		.length = word_some(CALLS_ARENA),
		.hca_va = word_some(at),
		.pd_handle = word_some_handle(UVERBS_OBJECT_PD),
		.access_flags = word_some(ALL_ACCESS),
	};
	struct ib_uverbs_rereg_mr_resp out;

	if (!command(IB_USER_VERBS_CMD_REREG_MR, &in, sizeof(in), &out,
		     sizeof(out)))
		return false;
	calls_self.value[VALUE_LKEY] = out.lkey;
	calls_self.value[VALUE_RKEY] = out.rkey;
	return true;
}

static bool window(void)
{
	struct ib_uverbs_alloc_mw in = {
		.pd_handle = word_some_handle(UVERBS_OBJECT_PD),
		.mw_type = word_some(IBV_MW_TYPE_2),
	};
	struct ib_uverbs_alloc_mw_resp out;

	if (!command(IB_USER_VERBS_CMD_ALLOC_MW, &in, sizeof(in), &out,
		     sizeof(out)))
		return false;
	made_add(UVERBS_OBJECT_MW, out.mw_handle);
	calls_self.value[VALUE_RKEY] = out.rkey;
	return true;
}

static bool ah_create(void)
{
	struct ib_uverbs_create_ah in = {
		.pd_handle = word_some_handle(UVERBS_OBJECT_PD),
		.attr = { .is_global = word_some(1),
			  .port_num = word_some(1),
			  .grh.sgid_index = word_some(dev.gid_index) },
	};
	const struct answer *answers;
	struct ib_uverbs_create_ah_resp out;
	struct raw_payload answer = {
		.out_length = sizeof(struct pinion_create_ah_resp),
	};

	memcpy(in.attr.grh.dgid, &dev.gid, sizeof(dev.gid));
	in.attr.grh.dgid[15] ^= word_some(0);
	if (!driver_command(IB_USER_VERBS_CMD_CREATE_AH, &in, sizeof(in), &out,
			    sizeof(out), &answer))
		return false;
	made_add(UVERBS_OBJECT_AH, out.ah_handle);
	/* The driver's answer is the second. */
	calls_answers(&answers);
	memcpy(&calls_self.value[VALUE_AH], answers[1].at, sizeof(uint32_t));
	return true;
}

static bool xrcd(void)
{
	struct ib_uverbs_open_xrcd in = { .fd = word_some(UINT32_MAX),
					  .oflags = word_some(O_CREAT) };
	struct ib_uverbs_open_xrcd_resp out;

	if (!command(IB_USER_VERBS_CMD_OPEN_XRCD, &in, sizeof(in), &out,
		     sizeof(out)))
		return false;
	made_add(UVERBS_OBJECT_XRCD, out.xrcd_handle);
	return true;
}

static bool cq_resize(void)
{
	struct ib_uverbs_resize_cq in = {
		.cq_handle = word_some_handle(UVERBS_OBJECT_CQ),
		.cqe = word_some(100),
	};
	struct pinion_resize_cq_req req = { .step = word_some(
						    PINION_RESIZE_OFFER) };
	struct raw_payload payload = {
		.in = &req,
		.in_length = sizeof(req),
		.out_length = sizeof(struct pinion_create_cq_resp),
	};
	struct ib_uverbs_resize_cq_resp out;

	return driver_command(IB_USER_VERBS_CMD_RESIZE_CQ, &in, sizeof(in),
			      &out, sizeof(out), &payload);
}

static bool srq_modify(void)
{
	struct ib_uverbs_modify_srq in = {
		.srq_handle = word_some_handle(UVERBS_OBJECT_SRQ),
		.attr_mask = word_some(IBV_SRQ_MAX_WR),
		.max_wr = word_some(100),
		.srq_limit = word_some(1),
	};
	struct pinion_modify_srq_req req = {
		.step = word_some(PINION_RESIZE_OFFER),
	};
	struct raw_payload payload = { .in = &req, .in_length = sizeof(req) };

	/* The answer has no attribute, but an address. */
	req.resp_addr = (uintptr_t)calls_answer_begin(
		UVERBS_ATTR_UHW_OUT, sizeof(struct pinion_create_srq_resp),
		VALUE_NONE);
	return driver_command(IB_USER_VERBS_CMD_MODIFY_SRQ, &in, sizeof(in),
			      NULL, 0, &payload);
}

static bool srq_query(void)
{
	struct ib_uverbs_query_srq in = { .srq_handle = word_some_handle(
						  UVERBS_OBJECT_SRQ) };
	struct ib_uverbs_query_srq_resp out;

	return command(IB_USER_VERBS_CMD_QUERY_SRQ, &in, sizeof(in), &out,
		       sizeof(out));
}

static bool qp_query(void)
{
	struct ib_uverbs_query_qp in = {
		.qp_handle = word_some_handle(UVERBS_OBJECT_QP),
		.attr_mask = word_some(IBV_QP_STATE),
	};
	struct ib_uverbs_query_qp_resp out;

	return command(IB_USER_VERBS_CMD_QUERY_QP, &in, sizeof(in), &out,
		       sizeof(out));
}

static bool device_query(void)
{
	struct ib_uverbs_query_device in = {};
	struct ib_uverbs_query_device_resp out;

	return command(IB_USER_VERBS_CMD_QUERY_DEVICE, &in, sizeof(in), &out,
		       sizeof(out));
}

static bool port_query(void)
{
	struct ib_uverbs_query_port in = { .port_num = word_some(1) };
	struct ib_uverbs_query_port_resp out;

	return command(IB_USER_VERBS_CMD_QUERY_PORT, &in, sizeof(in), &out,
		       sizeof(out));
}

static bool group(void)
{
	struct ib_uverbs_attach_mcast in = {
		.gid = { 0xff, 0x0e, [15] = 1 },
		.qp_handle = word_some_handle(UVERBS_OBJECT_QP),
	};

	in.gid[14] = word_some(0);
	return command(word_some(IB_USER_VERBS_CMD_ATTACH_MCAST) & 1 ?
			       IB_USER_VERBS_CMD_DETACH_MCAST :
			       IB_USER_VERBS_CMD_ATTACH_MCAST,
		       &in, sizeof(in), NULL, 0);
}

/* The last queue pair or one before it; NULL if there is none. */
static struct queue *some_queue(void)
{
	uint32_t back = word_take();

	return calls_self.queues ? &calls_self.queue[calls_self.queues - 1 -
						     back % calls_self.queues] :
				   NULL;
}

static const int steps[] = {
	IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		IBV_QP_MIN_RNR_TIMER,
	IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
};

/* To @state, with a peer that is mostly the queue pair itself. */
static bool to_state(uint32_t which, uint32_t state, uint32_t peer, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.cur_qp_state = state,
		.port_num = 1,
		.qp_access_flags = ALL_ACCESS,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 1,
		.rnr_retry = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = dev.gid,
				      .sgid_index = dev.gid_index,
				      .hop_limit = 64 } },
	};

	return !raw_modify_qp(calls_self.fd, which, &attr, mask);
}

static bool qp_modify(void)
{
	uint32_t which = word_some_handle(UVERBS_OBJECT_QP);
	uint32_t state = word_some(IBV_QPS_INIT);
	uint32_t step = state >= IBV_QPS_INIT && state <= IBV_QPS_RTS ?
				state - IBV_QPS_INIT :
				0;
	int usual = state == IBV_QPS_INIT || step ? steps[step] : IBV_QP_STATE;
	uint32_t peer = word_value(VALUE_QPN);

	return to_state(which, state, peer, word_some(usual));
}

/* All steps at once, without which little else of a queue pair is reached. */
static bool qp_connect(void)
{
	static const int of_datagrams[] = {
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
		IBV_QP_STATE,
		IBV_QP_STATE | IBV_QP_SQ_PSN,
	};
	uint32_t which = word_some_handle(UVERBS_OBJECT_QP);
	uint32_t peer = word_value(VALUE_QPN), state;
	const int *masks = word_take() & 1 ? of_datagrams : steps;

	for (state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		if (!to_state(which, state, peer, masks[state - IBV_QPS_INIT]))
			return false;
	}
	return true;
}

static struct pinion_sge some_sge(void)
{
	return (struct pinion_sge){ word_some_address(), word_some(64),
				    word_value(VALUE_LKEY) };
}

/* The part of a request that depends on its opcode. */
static void fill_request(struct pinion_sq_wqe *wqe)
{
	uint64_t at = word_some_address();
	uint32_t key = word_value(VALUE_RKEY);

	switch (wqe->opcode) {
	case PINION_OP_ATOMIC_CMP_AND_SWP:
	case PINION_OP_ATOMIC_FETCH_AND_ADD:
		wqe->atomic.remote_addr = at;
		wqe->atomic.rkey = key;
		wqe->atomic.compare_add = word_some(0);
		wqe->atomic.swap = word_some(1);
		break;
	case PINION_OP_BIND_MW:
		wqe->bind.addr = at;
		wqe->bind.length = word_some(64);
		wqe->bind.mr_lkey = word_value(VALUE_LKEY);
		wqe->bind.mw_rkey = key;
		wqe->bind.new_rkey = word_some(key + 1);
		wqe->bind.access = word_some(IBV_ACCESS_REMOTE_READ);
		break;
	case PINION_OP_FLUSH:
		wqe->flush.remote_addr = at;
		wqe->flush.rkey = key;
		wqe->flush.length = word_some(64);
		wqe->flush.type = word_some(1);
		wqe->flush.level = word_some(0);
		break;
	default:
		wqe->rdma.remote_addr = at;
		wqe->rdma.rkey = key;
		wqe->ex = key;
	}
}

static bool post_request(bool datagram)
{
	struct queue *q = some_queue();
	struct pinion_ring_hdr *hdr;
	struct pinion_sq_wqe *wqe;

	if (!q || !q->sq)
		return false;
	hdr = (void *)q->sq;
	wqe = (void *)(q->sq + sizeof(*hdr) +
		       (q->sent & (q->at.sq.entries - 1)) * q->at.sq.stride);
	memset(wqe, 0, q->at.sq.stride);
	wqe->opcode =
		word_some(datagram ? PINION_OP_SEND : PINION_OP_RDMA_WRITE);
	wqe->flags = word_some(PINION_WQE_SIGNALED);
	wqe->num_sge = word_some(1);
	wqe->inline_length = word_some(0);
	if (datagram) {
		wqe->ud.ah = word_value(VALUE_AH);
		wqe->ud.remote_qpn = word_value(VALUE_QPN);
		wqe->ud.remote_qkey = word_some(0);
	} else {
		fill_request(wqe);
	}
	*(struct pinion_sge *)(wqe + 1) = some_sge();
	q->sent += word_some(1);
	__atomic_store_n(&hdr->user_idx, q->sent, __ATOMIC_RELEASE);
	return !raw_doorbell(calls_self.fd, q->handle);
}

static bool post(void)
{
	return post_request(false);
}

static bool post_datagram(void)
{
	return post_request(true);
}

static bool post_receive(void)
{
	struct queue *q = some_queue();
	struct pinion_ring_hdr *hdr;
	struct pinion_rq_wqe *wqe;

	if (!q || !q->rq)
		return false;
	hdr = (void *)q->rq;
	wqe = (void *)(q->rq + sizeof(*hdr) +
		       (q->posted & (q->at.rq.entries - 1)) * q->at.rq.stride);
	wqe->wr_id = 1;
	wqe->num_sge = word_some(1);
	*(struct pinion_sge *)(wqe + 1) = some_sge();
	q->posted += word_some(1);
	__atomic_store_n(&hdr->user_idx, q->posted, __ATOMIC_RELEASE);
	return true;
}

static bool advise(void)
{
	struct ib_uverbs_sge sge = { word_some_address(),
				     word_some(CALLS_ARENA),
				     word_value(VALUE_LKEY) };
	uint64_t advice = word_some(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE);
	uint32_t flags = word_some(IBV_ADVISE_MR_FLAG_FLUSH);
	struct raw raw;

	raw_begin(&raw, UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR);
	raw_handle(&raw, UVERBS_ATTR_ADVISE_MR_PD_HANDLE,
		   word_some_handle(UVERBS_OBJECT_PD));
	raw_in(&raw, UVERBS_ATTR_ADVISE_MR_ADVICE, &advice, sizeof(advice));
	raw_in(&raw, UVERBS_ATTR_ADVISE_MR_FLAGS, &flags, sizeof(flags));
	raw_in(&raw, UVERBS_ATTR_ADVISE_MR_SGE_LIST, &sge, sizeof(sge));
	return !raw_call(calls_self.fd, &raw);
}

/* What is under on-demand regions goes and comes back as zeros. */
static bool forget(void)
{
	uint32_t page = word_take() % (CALLS_ARENA / PAGE);

	return !madvise(calls_arena + page * PAGE, CALLS_ARENA - page * PAGE,
			MADV_DONTNEED);
}

const struct other_call calls_others[] = {
	{ "pd_alloc", pd_alloc },
	{ "reg", reg },
	{ "rereg", rereg },
	{ "mw_alloc", window },
	{ "ah_create", ah_create },
	{ "xrcd_open", xrcd },
	{ "cq_resize", cq_resize },
	{ "srq_modify", srq_modify },
	{ "srq_query", srq_query },
	{ "qp_query", qp_query },
	{ "device_query", device_query },
	{ "port_query", port_query },
	{ "group", group },
	{ "qp_modify", qp_modify },
	{ "qp_connect", qp_connect },
	{ "post", post },
	{ "post_ud", post_datagram },
	{ "receive", post_receive },
	{ "advise", advise },
	{ "forget", forget },
};
const size_t calls_others_count = ARRAY_SIZE(calls_others);
