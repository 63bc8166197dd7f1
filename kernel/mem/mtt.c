// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Builds and reads translation tables. A table does not own the memory it describes.
 */
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "inject.h"
#include "mtt.h"

static u64 mtt_leaf_blocks(const struct pinion_mtt *mtt, u64 leaf)
{
	return min_t(u64, mtt->num_blocks - (leaf << mtt->leaf_shift), BIT_ULL(mtt->leaf_shift));
}

static u8 mtt_leaf_shift(void)
{
	return ilog2(pinion_inject_size(PINION_INJECT_LEAF, task_tgid_nr(current), 0,
					PINION_MTT_LEAF_BLOCKS));
}

/* Where a table of one leaf keeps its pointer: directly behind the struct. */
static u64 **mtt_own_leaves(struct pinion_mtt *mtt)
{
	return (u64 **)(mtt + 1);
}

static void mtt_free_leaves(struct pinion_mtt *mtt)
{
	if (mtt->leaves != mtt_own_leaves(mtt))
		kvfree(mtt->leaves);
}

/**
 * pinion_mtt_alloc - make a table of blocks, with all addresses 0
 * @num_blocks: how many, at least one
 * @shift: log2 of their size
 * @first: position of the first byte of the key's memory in the first block
 *
 * Two levels, so that no table needs a large contiguous allocation: a terabyte
 * of 4 KiB pages takes 2 GiB of leaves and 4 MiB of pointers.
 *
 * Return: the table, or NULL.
 */
struct pinion_mtt *pinion_mtt_alloc(u64 num_blocks, u8 shift, u64 first)
{
	struct pinion_mtt *mtt;
	u64 num_leaves, i;

	/* With room for one pointer to a leaf: most tables have one leaf only. */
	mtt = kzalloc(sizeof(*mtt) + sizeof(*mtt->leaves), GFP_KERNEL_ACCOUNT);
	if (!mtt)
		return NULL;
	mtt->num_blocks = num_blocks;
	mtt->shift = shift;
	mtt->first = first;
	mtt->leaf_shift = mtt_leaf_shift();
	num_leaves = pinion_mtt_num_leaves(mtt);
	mtt->leaves = num_leaves == 1 ? mtt_own_leaves(mtt) :
		      kvcalloc(num_leaves, sizeof(*mtt->leaves), GFP_KERNEL_ACCOUNT);
	if (!mtt->leaves)
		goto err_free_mtt;
	for (i = 0; i < num_leaves; i++) {
		mtt->leaves[i] = kcalloc(mtt_leaf_blocks(mtt, i), sizeof(u64),
					 GFP_KERNEL_ACCOUNT);
		if (!mtt->leaves[i])
			goto err_free_leaves;
		cond_resched();
	}
	return mtt;

err_free_leaves:
	while (i--)
		kfree(mtt->leaves[i]);
	mtt_free_leaves(mtt);
err_free_mtt:
	kfree(mtt);
	return NULL;
}

/**
 * pinion_mtt_alloc_pieces - make a table of pieces, for a list with gaps
 * @num_pieces: how many it has room for, at least one
 *
 * Return: the table, or NULL.
 */
struct pinion_mtt *pinion_mtt_alloc_pieces(u32 num_pieces)
{
	struct pinion_mtt *mtt = pinion_mtt_alloc(num_pieces, PAGE_SHIFT, 0);

	if (!mtt)
		return NULL;
	mtt->ends = kvcalloc(num_pieces, sizeof(*mtt->ends), GFP_KERNEL_ACCOUNT);
	if (!mtt->ends) {
		pinion_mtt_free(mtt);
		return NULL;
	}
	return mtt;
}

void pinion_mtt_set_piece(struct pinion_mtt *mtt, u32 piece, u64 dma_addr, u64 length)
{
	*pinion_mtt_slot(mtt, piece) = dma_addr;
	mtt->ends[piece] = (piece ? mtt->ends[piece - 1] : 0) + length;
	mtt->num_pieces = piece + 1;
}

/**
 * pinion_mtt_free - free a table
 * @mtt: NULL is fine; nothing is done for a table inside a struct pinion_mtt_one
 */
void pinion_mtt_free(struct pinion_mtt *mtt)
{
	u64 num_leaves, i;

	if (!mtt || mtt->inside)
		return;
	num_leaves = pinion_mtt_num_leaves(mtt);
	for (i = 0; i < num_leaves; i++) {
		kfree(mtt->leaves[i]);
		cond_resched();
	}
	mtt_free_leaves(mtt);
	kvfree(mtt->ends);
	kfree(mtt);
}

struct pinion_mtt *pinion_mtt_settle(struct pinion_mtt_one *one, struct pinion_mtt *mtt)
{
	if (!mtt || mtt->num_blocks > 1 || mtt->ends || mtt->inside)
		return mtt;
	one->mtt = *mtt;
	one->block = *pinion_mtt_slot(mtt, 0);
	one->leaf = &one->block;
	one->mtt.leaves = &one->leaf;
	one->mtt.inside = true;
	return &one->mtt;
}

/* The piece that has the byte at @position, which must be before the end of the last piece. */
static u32 mtt_piece_at(const struct pinion_mtt *mtt, u64 position)
{
	u32 low = 0, high = mtt->num_pieces - 1, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (mtt->ends[middle] > position)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

u64 pinion_mtt_span_of_pieces(const struct pinion_mtt *mtt, u64 offset, u64 want,
			      struct pinion_span *span)
{
	u32 piece = mtt_piece_at(mtt, offset);
	u64 begin = piece ? mtt->ends[piece - 1] : 0;
	u64 start = *pinion_mtt_slot(mtt, piece) + (offset - begin);
	u64 run = mtt->ends[piece] - offset;

	while (run < want && ++piece < mtt->num_pieces &&
	       *pinion_mtt_slot(mtt, piece) == start + run)
		run = mtt->ends[piece] - offset;

	span->kva = pinion_dma_to_kva(start);
	span->length = min(run, want);
	return span->length;
}

/*
 * *@span is the memory in @block that is wanted; go on with that in the blocks behind. Blocks that
 * are adjacent in memory are one span: one long copy is faster. Not inlined, as most messages end
 * in their first block.
 */
static noinline u64 mtt_spans_behind(const struct pinion_mtt *mtt, u64 block, u64 want,
				     struct pinion_span *span, u32 most)
{
	/* A copy, so that it need not be read again behind each span that is written. */
	const struct pinion_mtt table = *mtt;
	const u64 size = 1ULL << table.shift;
	u64 have = span->length;
	void *end = span->kva + have, *kva;

	while (have < want && ++block < table.num_blocks) {
		kva = pinion_dma_to_kva(*pinion_mtt_slot(&table, block));
		if (kva == end)
			span->length += size;
		else if (--most)
			*++span = (struct pinion_span){ kva, size };
		else
			break;
		end = kva + size;
		have += size;
	}
	/* Of the last block less may be wanted. */
	if (have > want) {
		span->length -= have - want;
		have = want;
	}
	return have;
}

u64 pinion_mtt_spans_of_blocks(const struct pinion_mtt *mtt, u64 offset, u64 want,
			       struct pinion_span *spans, u32 most)
{
	u64 position = mtt->first + offset;
	u64 block = position >> mtt->shift;
	u64 size = 1ULL << mtt->shift;
	u64 within = position & (size - 1);
	void *kva = pinion_dma_to_kva(*pinion_mtt_slot(mtt, block) + within);

	if (want > size - within) {
		*spans = (struct pinion_span){ kva, size - within };
		return mtt_spans_behind(mtt, block, want, spans, most);
	}
	*spans = (struct pinion_span){ kva, want };
	return want;
}

bool pinion_dma_is_memory(u64 dma_addr, u64 length)
{
	u64 last;

	if (!length)
		return true;
	if (check_add_overflow(dma_addr, length - 1, &last))
		return false;
	/* Memory is added and removed in units of 2 MiB at least, so one page in each will do. */
	for (; dma_addr < last; dma_addr = ALIGN(dma_addr + 1, SZ_2M))
		if (!pfn_valid(PHYS_PFN(dma_addr)))
			return false;
	return pfn_valid(PHYS_PFN(last));
}

/**
 * pinion_dma_provable - are DMA addresses mapped for @dev physical addresses?
 * @dev: the parent of our devices
 *
 * They are with dma-direct, without bounce buffers, memory encryption or an IOMMU. Checked with a
 * page that is mapped for the test.
 *
 * Return: 0 or a negative errno.
 */
int pinion_dma_provable(struct device *dev)
{
	struct page *page = alloc_page(GFP_KERNEL);
	dma_addr_t addr;
	int err = 0;

	if (!page)
		return -ENOMEM;
	addr = dma_map_page(dev, page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, addr)) {
		err = -EIO;
	} else {
		if (addr != page_to_phys(page))
			err = -EOPNOTSUPP;
		dma_unmap_page(dev, addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
	}
	__free_page(page);
	return err;
}
