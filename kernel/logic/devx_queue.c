// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Parses DEVX commands about queues. Rings and doorbell records must be in umems: lists of physical
 * addresses are refused, as nothing says whose memory they are.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "devx_field.h"
#include "devx_queue.h"

/* Fields of a completion queue's context, counted from its first bit. */
static const struct pinion_devx_field cqc_status = { 0x00, 4 };
static const struct pinion_devx_field cqc_record_valid = { 0x06, 1 };
static const struct pinion_devx_field cqc_apu = { 0x07, 1 };
static const struct pinion_devx_field cqc_stride = { 0x08, 3 };
static const struct pinion_devx_field cqc_collapsed = { 0x0b, 1 };
static const struct pinion_devx_field cqc_overrun = { 0x0e, 1 };
static const struct pinion_devx_field cqc_compressed = { 0x11, 1 };
static const struct pinion_devx_field cqc_record_umem = { 0x20, 32 };
static const struct pinion_devx_field cqc_page_offset = { 0x54, 6 };
static const struct pinion_devx_field cqc_log_size = { 0x63, 5 };
static const struct pinion_devx_field cqc_uar = { 0x68, 24 };
static const struct pinion_devx_field cqc_period = { 0x84, 12 };
static const struct pinion_devx_field cqc_count = { 0x90, 16 };
static const struct pinion_devx_field cqc_eqn = { 0xa0, 32 };
static const struct pinion_devx_field cqc_consumer = { 0x148, 24 };
static const struct pinion_devx_field cqc_producer = { 0x168, 24 };
static const struct pinion_devx_field cqc_record = { 0x1c0, 64 };

/* The bit at which the context begins, in CREATE_CQ, MODIFY_CQ and the answer of QUERY_CQ. */
#define CQC_AT 0x80

/* Other fields of CREATE_CQ and MODIFY_CQ. */
static const struct pinion_devx_field create_cq_offset = { 0x280, 64 };
static const struct pinion_devx_field create_cq_umem = { 0x2c0, 32 };
static const struct pinion_devx_field modify_cq_select = { 0x60, 32 };

#define SELECT_PERIOD	BIT(0)
#define SELECT_COUNT	BIT(1)

#define STRIDE_64	0
#define STRIDE_128	1

/* cqc_status of a queue that has lost completions. */
#define CQ_OVERFLOW	0x9

static const struct pinion_devx_field *const cq_unsupported[] = {
	&cqc_apu, &cqc_collapsed, &cqc_compressed, &cqc_page_offset,
};

static u64 queue_get_cqc(const u8 *in, struct pinion_devx_field field)
{
	return pinion_devx_get(in, CQC_AT, field);
}

static u64 queue_get(const u8 *in, struct pinion_devx_field field)
{
	return pinion_devx_get(in, 0, field);
}

int pinion_devx_parse_cq(const u8 *in, struct pinion_devx_cq *cq)
{
	u8 stride = queue_get_cqc(in, cqc_stride);
	int i;

	for (i = 0; i < ARRAY_SIZE(cq_unsupported); i++) {
		if (queue_get_cqc(in, *cq_unsupported[i]))
			return PINION_DEVX_CQ_FEATURE;
	}
	if (stride != STRIDE_64 && stride != STRIDE_128)
		return PINION_DEVX_CQ_FEATURE;
	*cq = (struct pinion_devx_cq){
		.ring.umem_id = queue_get(in, create_cq_umem),
		.ring.offset = queue_get(in, create_cq_offset),
		.record.umem_id = queue_get_cqc(in, cqc_record_umem),
		.record.offset = queue_get_cqc(in, cqc_record),
		.log_size = queue_get_cqc(in, cqc_log_size),
		.wide = stride == STRIDE_128,
		.overruns = queue_get_cqc(in, cqc_overrun),
		.eqn = queue_get_cqc(in, cqc_eqn),
		.uar = queue_get_cqc(in, cqc_uar),
		.period = queue_get_cqc(in, cqc_period),
		.max_count = queue_get_cqc(in, cqc_count),
	};
	return PINION_DEVX_DONE;
}

int pinion_devx_parse_cq_change(const u8 *in, struct pinion_devx_cq_change *change)
{
	u32 select = queue_get(in, modify_cq_select);

	if (select & ~(u32)(SELECT_PERIOD | SELECT_COUNT))
		return PINION_DEVX_CQ_FEATURE;
	*change = (struct pinion_devx_cq_change){
		.sets_period = select & SELECT_PERIOD,
		.sets_count = select & SELECT_COUNT,
		.period = queue_get_cqc(in, cqc_period),
		.max_count = queue_get_cqc(in, cqc_count),
	};
	return PINION_DEVX_DONE;
}

void pinion_devx_put_cq(u8 *out, const struct pinion_devx_cq *cq,
			const struct pinion_devx_cq_state *state)
{
	const struct {
		struct pinion_devx_field field;
		u64 value;
	} fields[] = {
		{ cqc_status, state->overflow ? CQ_OVERFLOW : 0 },
		{ cqc_record_valid, 1 },
		{ cqc_stride, cq->wide ? STRIDE_128 : STRIDE_64 },
		{ cqc_overrun, cq->overruns },
		{ cqc_record_umem, cq->record.umem_id },
		{ cqc_log_size, cq->log_size },
		{ cqc_uar, cq->uar },
		{ cqc_period, cq->period },
		{ cqc_count, cq->max_count },
		{ cqc_eqn, cq->eqn },
		{ cqc_consumer, state->consumer },
		{ cqc_producer, state->producer },
		{ cqc_record, cq->record.offset },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		pinion_devx_put(out, CQC_AT, fields[i].field, fields[i].value);
}

/* ------------------------------------------------------------- queue pairs */

/* Fields of a queue pair's context, counted from its first bit. */
static const struct pinion_devx_field qpc_state = { 0x00, 4 };
static const struct pinion_devx_field qpc_service = { 0x08, 8 };
static const struct pinion_devx_field qpc_signature = { 0x20, 1 };
static const struct pinion_devx_field qpc_pdn = { 0x28, 24 };
static const struct pinion_devx_field qpc_mtu = { 0x40, 3 };
static const struct pinion_devx_field qpc_log_rq_size = { 0x49, 4 };
static const struct pinion_devx_field qpc_log_rq_stride = { 0x4d, 3 };
static const struct pinion_devx_field qpc_no_sq = { 0x50, 1 };
static const struct pinion_devx_field qpc_log_sq_size = { 0x51, 4 };
static const struct pinion_devx_field qpc_uar = { 0x68, 24 };
static const struct pinion_devx_field qpc_send_record = { 0x80, 2 };
static const struct pinion_devx_field qpc_user_index = { 0x88, 24 };
static const struct pinion_devx_field qpc_remote_qpn = { 0xa8, 24 };
static const struct pinion_devx_field qpc_reads_out = { 0x388, 3 };
static const struct pinion_devx_field qpc_retry_count = { 0x38d, 3 };
static const struct pinion_devx_field qpc_rnr_retry = { 0x390, 3 };
static const struct pinion_devx_field qpc_sq_psn = { 0x3c8, 24 };
static const struct pinion_devx_field qpc_send_cqn = { 0x3e8, 24 };
static const struct pinion_devx_field qpc_reads_in = { 0x488, 3 };
static const struct pinion_devx_field qpc_remote_read = { 0x490, 1 };
static const struct pinion_devx_field qpc_remote_write = { 0x491, 1 };
static const struct pinion_devx_field qpc_remote_atomic = { 0x492, 1 };
static const struct pinion_devx_field qpc_page_offset = { 0x494, 6 };
static const struct pinion_devx_field qpc_cross_channel = { 0x49d, 3 };
static const struct pinion_devx_field qpc_rnr_timer = { 0x4a3, 5 };
static const struct pinion_devx_field qpc_rq_psn = { 0x4a8, 24 };
static const struct pinion_devx_field qpc_recv_cqn = { 0x4e8, 24 };
static const struct pinion_devx_field qpc_record = { 0x500, 64 };
static const struct pinion_devx_field qpc_qkey = { 0x540, 32 };
static const struct pinion_devx_field qpc_rq_type = { 0x565, 3 };
static const struct pinion_devx_field qpc_rmpn = { 0x568, 24 };
static const struct pinion_devx_field qpc_sq_done = { 0x5a0, 16 };
static const struct pinion_devx_field qpc_rq_done = { 0x5c0, 32 };
static const struct pinion_devx_field qpc_record_valid = { 0x683, 1 };
static const struct pinion_devx_field qpc_record_umem = { 0x720, 32 };

/* Fields of its primary path, likewise. The alternate path is not used. */
static const struct pinion_devx_field path_pkey = { 0x0d0, 16 };
static const struct pinion_devx_field path_timeout = { 0x100, 5 };
static const struct pinion_devx_field path_sgid_index = { 0x108, 8 };
static const struct pinion_devx_field path_hop_limit = { 0x118, 8 };
static const struct pinion_devx_field path_class = { 0x124, 8 };
static const struct pinion_devx_field path_flow = { 0x12c, 20 };
static const struct pinion_devx_field path_priority = { 0x1e1, 3 };
static const struct pinion_devx_field path_port = { 0x1e8, 8 };

/* Offsets in bytes from the begin of the context. */
#define PATH_DGID	(0x140 / 8)
#define PATH_DMAC	(0x1f0 / 8)

/* The bit at which the context begins in commands and answers; and fields before it. */
#define QPC_AT 0xc0
static const struct pinion_devx_field qp_extended = { 0x40, 1 };
static const struct pinion_devx_field qp_optional = { 0x80, 32 };

/* Other fields of CREATE_QP. */
static const struct pinion_devx_field create_qp_offset = { 0x800, 64 };
static const struct pinion_devx_field create_qp_umem = { 0x840, 32 };

#define NO_SEND_RECORD	1

#define RQ_OF_ITS_OWN	0
#define RQ_SHARED	1
#define RQ_NONE		3

static u64 queue_get_qpc(const u8 *in, struct pinion_devx_field field)
{
	return pinion_devx_get(in, QPC_AT, field);
}

int pinion_devx_parse_qp(const u8 *in, struct pinion_devx_qp *qp)
{
	u8 service = queue_get_qpc(in, qpc_service);
	u8 rq_type = queue_get_qpc(in, qpc_rq_type);

	if (service > PINION_DEVX_UD || queue_get_qpc(in, qpc_send_record) > NO_SEND_RECORD ||
	    queue_get_qpc(in, qpc_signature) ||
	    queue_get_qpc(in, qpc_no_sq) || queue_get_qpc(in, qpc_page_offset) ||
	    queue_get_qpc(in, qpc_cross_channel))
		return PINION_DEVX_QP_FEATURE;
	if (rq_type != RQ_OF_ITS_OWN && rq_type != RQ_SHARED && rq_type != RQ_NONE)
		return PINION_DEVX_QP_FEATURE;
	*qp = (struct pinion_devx_qp){
		.ring.umem_id = queue_get(in, create_qp_umem),
		.ring.offset = queue_get(in, create_qp_offset),
		.record.umem_id = queue_get_qpc(in, qpc_record_umem),
		.record.offset = queue_get_qpc(in, qpc_record),
		.pdn = queue_get_qpc(in, qpc_pdn),
		.send_cqn = queue_get_qpc(in, qpc_send_cqn),
		.recv_cqn = queue_get_qpc(in, qpc_recv_cqn),
		.rmpn = queue_get_qpc(in, qpc_rmpn),
		.user_index = queue_get_qpc(in, qpc_user_index),
		.uar = queue_get_qpc(in, qpc_uar),
		.service = service,
		.log_sq_size = queue_get_qpc(in, qpc_log_sq_size),
		.log_rq_size = queue_get_qpc(in, qpc_log_rq_size),
		.log_rq_stride = queue_get_qpc(in, qpc_log_rq_stride),
		.receives = rq_type == RQ_OF_ITS_OWN,
		.shares = rq_type == RQ_SHARED,
		.no_send_record = queue_get_qpc(in, qpc_send_record),
	};
	return PINION_DEVX_DONE;
}

static void queue_get_path(const u8 *in, struct pinion_devx_path *path)
{
	const u8 *bytes = in + QPC_AT / 8;

	*path = (struct pinion_devx_path){
		.sgid_index = queue_get_qpc(in, path_sgid_index),
		.hop_limit = queue_get_qpc(in, path_hop_limit),
		.traffic_class = queue_get_qpc(in, path_class),
		.sl = queue_get_qpc(in, path_priority),
		.port = queue_get_qpc(in, path_port),
		.timeout = queue_get_qpc(in, path_timeout),
		.pkey_index = queue_get_qpc(in, path_pkey),
		.flow_label = queue_get_qpc(in, path_flow),
	};
	memcpy(path->dgid, bytes + PATH_DGID, sizeof(path->dgid));
	memcpy(path->dmac, bytes + PATH_DMAC, sizeof(path->dmac));
}

int pinion_devx_parse_qp_change(const u8 *in, struct pinion_devx_qp *qp)
{
	/* A second context would follow. */
	if (queue_get(in, qp_extended))
		return PINION_DEVX_QP_FEATURE;
	*qp = (struct pinion_devx_qp){
		.optional = queue_get(in, qp_optional),
		.remote_qpn = queue_get_qpc(in, qpc_remote_qpn),
		.qkey = queue_get_qpc(in, qpc_qkey),
		.sq_psn = queue_get_qpc(in, qpc_sq_psn),
		.rq_psn = queue_get_qpc(in, qpc_rq_psn),
		.mtu = queue_get_qpc(in, qpc_mtu),
		.retry_count = queue_get_qpc(in, qpc_retry_count),
		.rnr_retry = queue_get_qpc(in, qpc_rnr_retry),
		.rnr_timer = queue_get_qpc(in, qpc_rnr_timer),
		.log_reads_out = queue_get_qpc(in, qpc_reads_out),
		.log_reads_in = queue_get_qpc(in, qpc_reads_in),
		.remote_read = queue_get_qpc(in, qpc_remote_read),
		.remote_write = queue_get_qpc(in, qpc_remote_write),
		.remote_atomic = queue_get_qpc(in, qpc_remote_atomic),
	};
	queue_get_path(in, &qp->path);
	return PINION_DEVX_DONE;
}

/* mlx5's number of each enum ib_qp_state; SQD and SQE are exchanged. */
static const u8 qp_states[] = { 0, 1, 2, 3, 5, 4, 6 };

static void queue_put_path(u8 *out, const struct pinion_devx_path *path)
{
	u8 *bytes = out + QPC_AT / 8;

	pinion_devx_put(out, QPC_AT, path_sgid_index, path->sgid_index);
	pinion_devx_put(out, QPC_AT, path_hop_limit, path->hop_limit);
	pinion_devx_put(out, QPC_AT, path_class, path->traffic_class);
	pinion_devx_put(out, QPC_AT, path_priority, path->sl);
	pinion_devx_put(out, QPC_AT, path_port, path->port);
	pinion_devx_put(out, QPC_AT, path_timeout, path->timeout);
	pinion_devx_put(out, QPC_AT, path_pkey, path->pkey_index);
	pinion_devx_put(out, QPC_AT, path_flow, path->flow_label);
	memcpy(bytes + PATH_DGID, path->dgid, sizeof(path->dgid));
	memcpy(bytes + PATH_DMAC, path->dmac, sizeof(path->dmac));
}

void pinion_devx_put_qp(u8 *out, const struct pinion_devx_qp *qp,
			const struct pinion_devx_qp_state *state)
{
	u8 rq_type = qp->receives ? RQ_OF_ITS_OWN : qp->shares ? RQ_SHARED : RQ_NONE;
	const struct {
		struct pinion_devx_field field;
		u64 value;
	} fields[] = {
		{ qpc_state, qp_states[state->state] },
		{ qpc_service, qp->service },
		{ qpc_pdn, qp->pdn },
		{ qpc_mtu, qp->mtu },
		{ qpc_log_rq_size, qp->log_rq_size },
		{ qpc_log_rq_stride, qp->log_rq_stride },
		{ qpc_log_sq_size, qp->log_sq_size },
		{ qpc_uar, qp->uar },
		{ qpc_send_record, qp->no_send_record ? NO_SEND_RECORD : 0 },
		{ qpc_user_index, qp->user_index },
		{ qpc_remote_qpn, qp->remote_qpn },
		{ qpc_reads_out, qp->log_reads_out },
		{ qpc_retry_count, qp->retry_count },
		{ qpc_rnr_retry, qp->rnr_retry },
		{ qpc_sq_psn, qp->sq_psn },
		{ qpc_send_cqn, qp->send_cqn },
		{ qpc_reads_in, qp->log_reads_in },
		{ qpc_remote_read, qp->remote_read },
		{ qpc_remote_write, qp->remote_write },
		{ qpc_remote_atomic, qp->remote_atomic },
		{ qpc_rnr_timer, qp->rnr_timer },
		{ qpc_rq_psn, qp->rq_psn },
		{ qpc_recv_cqn, qp->recv_cqn },
		{ qpc_record, qp->record.offset },
		{ qpc_qkey, qp->qkey },
		{ qpc_rq_type, rq_type },
		{ qpc_rmpn, qp->rmpn },
		{ qpc_sq_done, state->sq_done },
		{ qpc_rq_done, state->rq_done },
		{ qpc_record_valid, 1 },
		{ qpc_record_umem, qp->record.umem_id },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		pinion_devx_put(out, QPC_AT, fields[i].field, fields[i].value);
	queue_put_path(out, &qp->path);
}

/* ---------------------------------------------------- shared receive queues */

/* Fields of an RMP's context, and of the work queue's context in it, each from its first bit. */
static const struct pinion_devx_field rmpc_state = { 0x08, 4 };
static const struct pinion_devx_field wq_type = { 0x00, 4 };
static const struct pinion_devx_field wq_signature = { 0x04, 1 };
static const struct pinion_devx_field wq_page_offset = { 0x2b, 5 };
static const struct pinion_devx_field wq_limit = { 0x30, 16 };
static const struct pinion_devx_field wq_pdn = { 0x48, 24 };
static const struct pinion_devx_field wq_uar = { 0x68, 24 };
static const struct pinion_devx_field wq_record = { 0x80, 64 };
static const struct pinion_devx_field wq_done = { 0xc0, 32 };
static const struct pinion_devx_field wq_log_stride = { 0x10c, 4 };
static const struct pinion_devx_field wq_log_size = { 0x11b, 5 };
static const struct pinion_devx_field wq_record_valid = { 0x120, 1 };
static const struct pinion_devx_field wq_valid = { 0x121, 1 };
static const struct pinion_devx_field wq_shift = { 0x138, 1 };
static const struct pinion_devx_field wq_record_umem = { 0x140, 32 };
static const struct pinion_devx_field wq_umem = { 0x160, 32 };
static const struct pinion_devx_field wq_offset = { 0x180, 64 };

/* The bits at which both contexts begin in commands and answers. */
#define RMPC_AT	0x100
#define WQ_AT	(RMPC_AT + 0x180)

/* Other fields of MODIFY_RMP. */
static const struct pinion_devx_field modify_rmp_state = { 0x40, 4 };
static const struct pinion_devx_field modify_rmp_limit = { 0xbf, 1 };

#define RMP_READY	1
#define WQ_LINKED	0
#define WQ_CYCLIC	1

static u64 queue_get_wq(const u8 *in, struct pinion_devx_field field)
{
	return pinion_devx_get(in, WQ_AT, field);
}

int pinion_devx_parse_rmp(const u8 *in, struct pinion_devx_rmp *rmp)
{
	u8 type = queue_get_wq(in, wq_type);

	if (pinion_devx_get(in, RMPC_AT, rmpc_state) != RMP_READY ||
	    (type != WQ_LINKED && type != WQ_CYCLIC) || queue_get_wq(in, wq_signature) ||
	    queue_get_wq(in, wq_page_offset) || queue_get_wq(in, wq_shift))
		return PINION_DEVX_RMP_FEATURE;
	*rmp = (struct pinion_devx_rmp){
		.ring.umem_id = queue_get_wq(in, wq_umem),
		.ring.offset = queue_get_wq(in, wq_offset),
		.record.umem_id = queue_get_wq(in, wq_record_umem),
		.record.offset = queue_get_wq(in, wq_record),
		.pdn = queue_get_wq(in, wq_pdn),
		.uar = queue_get_wq(in, wq_uar),
		.limit = queue_get_wq(in, wq_limit),
		.log_size = queue_get_wq(in, wq_log_size),
		.log_stride = queue_get_wq(in, wq_log_stride),
		.linked = type == WQ_LINKED,
	};
	return PINION_DEVX_DONE;
}

int pinion_devx_parse_rmp_change(const u8 *in, struct pinion_devx_rmp_change *change)
{
	if (queue_get(in, modify_rmp_state) != RMP_READY)
		return PINION_DEVX_RMP_FEATURE;
	*change = (struct pinion_devx_rmp_change){
		.sets_limit = queue_get(in, modify_rmp_limit),
		.limit = queue_get_wq(in, wq_limit),
	};
	return PINION_DEVX_DONE;
}

void pinion_devx_put_rmp(u8 *out, const struct pinion_devx_rmp *rmp, u16 done)
{
	const struct {
		struct pinion_devx_field field;
		u64 value;
	} fields[] = {
		{ wq_type, rmp->linked ? WQ_LINKED : WQ_CYCLIC },
		{ wq_limit, rmp->limit },
		{ wq_pdn, rmp->pdn },
		{ wq_uar, rmp->uar },
		{ wq_record, rmp->record.offset },
		{ wq_done, done },
		{ wq_log_stride, rmp->log_stride },
		{ wq_log_size, rmp->log_size },
		{ wq_record_valid, 1 },
		{ wq_valid, 1 },
		{ wq_record_umem, rmp->record.umem_id },
		{ wq_umem, rmp->ring.umem_id },
		{ wq_offset, rmp->ring.offset },
	};
	int i;

	pinion_devx_put(out, RMPC_AT, rmpc_state, RMP_READY);
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		pinion_devx_put(out, WQ_AT, fields[i].field, fields[i].value);
}
