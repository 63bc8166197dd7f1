/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracepoints of memory registration and on-demand paging.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pinion

#if !defined(PINION_MEM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define PINION_MEM_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

#include "key.h"
#include "mtt.h"

DECLARE_EVENT_CLASS(pinion_mr,
	TP_PROTO(u32 key, u64 base, u64 length, int access, u64 ns),
	TP_ARGS(key, base, length, access, ns),
	TP_STRUCT__entry(
		__field(u32, key)
		__field(u64, base)
		__field(u64, length)
		__field(int, access)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->key = key;
		__entry->base = base;
		__entry->length = length;
		__entry->access = access;
		__entry->ns = ns;
	),
	TP_printk("key=0x%08x base=0x%llx length=%llu access=0x%x ns=%llu", __entry->key,
		  __entry->base, __entry->length, __entry->access, __entry->ns)
);

DEFINE_EVENT(pinion_mr, mr_reg,
	     TP_PROTO(u32 key, u64 base, u64 length, int access, u64 ns),
	     TP_ARGS(key, base, length, access, ns));

DEFINE_EVENT(pinion_mr, mr_rereg,
	     TP_PROTO(u32 key, u64 base, u64 length, int access, u64 ns),
	     TP_ARGS(key, base, length, access, ns));

DEFINE_EVENT(pinion_mr, mr_dereg,
	     TP_PROTO(u32 key, u64 base, u64 length, int access, u64 ns),
	     TP_ARGS(key, base, length, access, ns));

TRACE_EVENT(mtt_write,
	TP_PROTO(const struct pinion_mtt *mtt, u64 ns),
	TP_ARGS(mtt, ns),
	TP_STRUCT__entry(
		__field(u64, blocks)
		__field(u8, shift)
		__field(u64, first)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->blocks = mtt->num_blocks;
		__entry->shift = mtt->shift;
		__entry->first = mtt->first;
		__entry->ns = ns;
	),
	TP_printk("blocks=%llu size=%llu first=%llu ns=%llu", __entry->blocks,
		  1ULL << __entry->shift, __entry->first, __entry->ns)
);

TRACE_EVENT(mr_reg_fail,
	TP_PROTO(u64 start, u64 length, u64 iova, int access, const char *reason, int err),
	TP_ARGS(start, length, iova, access, reason, err),
	TP_STRUCT__entry(
		__field(u64, start)
		__field(u64, length)
		__field(u64, iova)
		__field(int, access)
		__string(reason, reason)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->start = start;
		__entry->length = length;
		__entry->iova = iova;
		__entry->access = access;
		__assign_str(reason);
		__entry->err = err;
	),
	TP_printk("start=0x%llx length=%llu iova=0x%llx access=0x%x: %s (%d)", __entry->start,
		  __entry->length, __entry->iova, __entry->access, __get_str(reason),
		  __entry->err)
);

DECLARE_EVENT_CLASS(pinion_odp,
	TP_PROTO(const struct pinion_key *key, u64 offset, u64 length, bool write, s64 result,
		 u64 ns),
	TP_ARGS(key, offset, length, write, result, ns),
	TP_STRUCT__entry(
		__field(u32, key)
		__field(u64, addr)
		__field(u64, length)
		__field(bool, write)
		__field(s64, result)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->key = key->value;
		__entry->addr = key->base + offset;
		__entry->length = length;
		__entry->write = write;
		__entry->result = result;
		__entry->ns = ns;
	),
	TP_printk("key=0x%08x addr=0x%llx length=%llu %s pages=%lld ns=%llu", __entry->key,
		  __entry->addr, __entry->length, __entry->write ? "write" : "read",
		  __entry->result, __entry->ns)
);

/* A fault for a missing page; @result: pages that were brought, or a negative errno. */
DEFINE_EVENT(pinion_odp, odp_fault,
	     TP_PROTO(const struct pinion_key *key, u64 offset, u64 length, bool write,
		      s64 result, u64 ns),
	     TP_ARGS(key, offset, length, write, result, ns));

DEFINE_EVENT_PRINT(pinion_odp, odp_prefetch,
	TP_PROTO(const struct pinion_key *key, u64 offset, u64 length, bool write, s64 result,
		 u64 ns),
	TP_ARGS(key, offset, length, write, result, ns),
	TP_printk("key=0x%08x addr=0x%llx length=%llu %s err=%lld ns=%llu", __entry->key,
		  __entry->addr, __entry->length, __entry->write ? "write" : "read",
		  __entry->result, __entry->ns)
);

/* Pages of an on-demand region were removed; @start is an address in the process. */
TRACE_EVENT(odp_invalidate,
	TP_PROTO(const struct pinion_key *key, u64 start, u64 length, u64 pages, u64 ns),
	TP_ARGS(key, start, length, pages, ns),
	TP_STRUCT__entry(
		__field(u32, key)
		__field(u64, start)
		__field(u64, length)
		__field(u64, pages)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->key = key->value;
		__entry->start = start;
		__entry->length = length;
		__entry->pages = pages;
		__entry->ns = ns;
	),
	TP_printk("key=0x%08x start=0x%llx length=%llu pages=%llu ns=%llu", __entry->key,
		  __entry->start, __entry->length, __entry->pages, __entry->ns)
);

TRACE_EVENT(dmabuf_map,
	TP_PROTO(u32 key, u64 pages, const char *reason, int err),
	TP_ARGS(key, pages, reason, err),
	TP_STRUCT__entry(
		__field(u32, key)
		__field(u64, pages)
		__string(reason, reason)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->key = key;
		__entry->pages = pages;
		__assign_str(reason);
		__entry->err = err;
	),
	TP_printk("key=0x%08x pages=%llu %s (%d)", __entry->key, __entry->pages,
		  __get_str(reason), __entry->err)
);

TRACE_EVENT(persist,
	TP_PROTO(u64 addr, u64 length),
	TP_ARGS(addr, length),
	TP_STRUCT__entry(
		__field(u64, addr)
		__field(u64, length)
	),
	TP_fast_assign(
		__entry->addr = addr;
		__entry->length = length;
	),
	TP_printk("addr=0x%llx length=%llu", __entry->addr, __entry->length)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
