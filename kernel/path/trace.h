/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracepoints of requests (begun, waiting, over) and of completions.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pinion

#if !defined(PINION_PATH_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define PINION_PATH_TRACE_H

#include <linux/tracepoint.h>

#include "qp.h"
#include "request.h"

/* A request was taken out of the ring. With a syndrome it will not be performed. */
TRACE_EVENT(request_begin,
	TP_PROTO(const struct pinion_qp *qp, const struct pinion_request *request, int syndrome),
	TP_ARGS(qp, request, syndrome),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u64, wr_id)
		__field(u8, opcode)
		__field(u64, length)
		__field(int, syndrome)
	),
	TP_fast_assign(
		__entry->qpn = qp->ibqp.qp_num;
		__entry->wr_id = request->wqe->wr_id;
		__entry->opcode = request->wqe->opcode;
		__entry->length = syndrome ? 0 : request->length;
		__entry->syndrome = syndrome;
	),
	TP_printk("qpn=%u wr_id=0x%llx opcode=%u length=%llu syndrome=%d", __entry->qpn,
		  __entry->wr_id, __entry->opcode, __entry->length, __entry->syndrome)
);

/* The queue is parked for @ns; 0: until pinion_qp_wake() is called. */
TRACE_EVENT(request_wait,
	TP_PROTO(const struct pinion_qp *qp, u64 ns),
	TP_ARGS(qp, ns),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->qpn = qp->ibqp.qp_num;
		__entry->ns = ns;
	),
	TP_printk("qpn=%u ns=%llu", __entry->qpn, __entry->ns)
);

/* A request is retired, whether it has a completion or not. */
TRACE_EVENT(request_end,
	TP_PROTO(const struct pinion_qp *qp, const struct pinion_request *request, int status,
		 int syndrome),
	TP_ARGS(qp, request, status, syndrome),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u64, wr_id)
		__field(int, status)
		__field(int, syndrome)
	),
	TP_fast_assign(
		__entry->qpn = qp->ibqp.qp_num;
		__entry->wr_id = request->wqe->wr_id;
		__entry->status = status;
		__entry->syndrome = syndrome;
	),
	TP_printk("qpn=%u wr_id=0x%llx status=%d syndrome=%d", __entry->qpn, __entry->wr_id,
		  __entry->status, __entry->syndrome)
);

/* A completion was written, of a send or a receive. */
TRACE_EVENT(completion,
	TP_PROTO(const struct pinion_cqe *cqe),
	TP_ARGS(cqe),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u64, wr_id)
		__field(u8, opcode)
		__field(u8, status)
		__field(u32, bytes)
	),
	TP_fast_assign(
		__entry->qpn = cqe->qpn;
		__entry->wr_id = cqe->wr_id;
		__entry->opcode = cqe->opcode;
		__entry->status = cqe->status;
		__entry->bytes = cqe->byte_len;
	),
	TP_printk("qpn=%u wr_id=0x%llx opcode=%u status=%u bytes=%u", __entry->qpn,
		  __entry->wr_id, __entry->opcode, __entry->status, __entry->bytes)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
