// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Makes the table of a umem whose pages are all present: pinned, or mapped from a dma-buf.
 */
#include <rdma/ib_umem.h>

#include "../compat/umem.h"
#include "describe.h"
#include "inject.h"
#include "mr.h"
#include "mtt.h"
#include "trace.h"

/* Block sizes from a page to 1 GiB. */
#define BLOCK_SIZES GENMASK_ULL(PINION_MAX_BLOCK_SHIFT, PAGE_SHIFT)

struct pinion_mtt *pinion_describe_in(struct ib_umem *umem, u64 sizes)
{
	unsigned long start = umem->address;
	u64 begun = trace_mtt_write_enabled() ? ktime_get_ns() : 0;
	struct ib_block_iter biter;
	unsigned long size;
	struct pinion_mtt *mtt;
	u64 block = 0;
	int err;

	err = pinion_inject_here(PINION_INJECT_TABLE);
	if (err)
		return ERR_PTR(-err);
	/* Positions count from the first block, so the iova need not be aligned to blocks. */
	size = ib_umem_find_best_pgsz(umem, sizes & BLOCK_SIZES, start);
	if (!size)
		return ERR_PTR(-EINVAL);
	mtt = pinion_mtt_alloc(ib_umem_num_dma_blocks(umem, size), __ffs(size),
			       start & (size - 1));
	if (!mtt)
		return ERR_PTR(-ENOMEM);
	rdma_umem_for_each_dma_block(umem, &biter, size) {
		*pinion_mtt_slot(mtt, block++) = rdma_block_iter_dma_address(&biter);
		if (!(block & (PINION_MTT_LEAF_BLOCKS - 1)))
			cond_resched();
	}
	trace_mtt_write(mtt, pinion_since(begun));
	return mtt;
}

struct pinion_mtt *pinion_describe(struct ib_umem *umem)
{
	return pinion_describe_in(umem, BLOCK_SIZES);
}
