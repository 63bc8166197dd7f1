/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The memory translation table (MTT) of a key: from offsets to DMA addresses.
 *
 * A table is a sequence of blocks of 2^shift bytes each, with one DMA address per block. A
 * *position* counts bytes from the start of the first block; the first byte of the key's memory is
 * at position @first. The block of a position is found by one shift.
 *
 * A list with gaps (IB_MR_TYPE_SG_GAPS, kernel consumers only) has *pieces* of any length instead
 * of blocks: @ends has the position behind each. The piece of a position is found by bisection.
 */
#ifndef PINION_MEM_MTT_H
#define PINION_MEM_MTT_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/io.h>
#include <linux/nospec.h>
#include <linux/types.h>

struct device;

/* The core takes lengths as size_t, and all memory must have a kernel address. */
static_assert(BITS_PER_LONG == 64, "pinion is for 64-bit kernels");

/*
 * A leaf is one page of addresses, so that leaves need no large allocation. mem/inject.h may order
 * smaller ones.
 */
#define PINION_MTT_LEAF_SHIFT	9
#define PINION_MTT_LEAF_BLOCKS	BIT(PINION_MTT_LEAF_SHIFT)

struct pinion_mtt {
	u64 **leaves;
	u64 num_blocks;
	u64 first;
	u64 *ends;	/* position behind each piece; NULL: blocks of equal size */
	u32 num_pieces;	/* with @ends: pieces in use */
	u8 shift;
	u8 leaf_shift;	/* log2 of the blocks per leaf */
	bool inside;	/* embedded in a struct pinion_mtt_one: not to be freed */
};

/* Storage for a table of one block, embedded in a key: spares small regions a cache miss. */
struct pinion_mtt_one {
	struct pinion_mtt mtt;
	u64 *leaf;
	u64 block;
};

struct pinion_mtt *pinion_mtt_alloc(u64 num_blocks, u8 shift, u64 first);
/* A table of at most @num_pieces pieces; pinion_mtt_set_piece() sets them, in order. */
struct pinion_mtt *pinion_mtt_alloc_pieces(u32 num_pieces);
void pinion_mtt_set_piece(struct pinion_mtt *mtt, u32 piece, u64 dma_addr, u64 length);
void pinion_mtt_free(struct pinion_mtt *mtt);

/*
 * If @mtt has one block only, copy it to @one, which nobody uses (any more). Return: the table to
 * use. If that is not @mtt, the caller frees @mtt, later if it cannot sleep now.
 */
struct pinion_mtt *pinion_mtt_settle(struct pinion_mtt_one *one, struct pinion_mtt *mtt);

static inline u64 pinion_mtt_num_leaves(const struct pinion_mtt *mtt)
{
	return ((mtt->num_blocks - 1) >> mtt->leaf_shift) + 1;
}

/* @block follows from an offset that users choose: bound it for speculative execution, too. */
static inline u64 *pinion_mtt_slot(const struct pinion_mtt *mtt, u64 block)
{
	block = array_index_nospec((unsigned long)block, (unsigned long)mtt->num_blocks);
	return &mtt->leaves[block >> mtt->leaf_shift][block & (BIT_ULL(mtt->leaf_shift) - 1)];
}

/* Contiguous memory of the kernel. */
struct pinion_span {
	void *kva;
	u64 length;
};

u64 pinion_mtt_span_of_pieces(const struct pinion_mtt *mtt, u64 offset, u64 want,
			      struct pinion_span *span);
u64 pinion_mtt_spans_of_blocks(const struct pinion_mtt *mtt, u64 offset, u64 want,
			       struct pinion_span *spans, u32 most);

/*
 * The memory of @want > 0 bytes at @offset bytes into the key, as the longest contiguous spans that
 * there are, in order; at most @most of them, which may be less than @want bytes. The caller has
 * checked the bounds, and is inside the key's gate. Return: the bytes of all of them, not 0.
 */
static inline u64 pinion_mtt_spans(const struct pinion_mtt *mtt, u64 offset, u64 want,
				   struct pinion_span *spans, u32 most)
{
	return mtt->ends ? pinion_mtt_span_of_pieces(mtt, offset, want, spans) :
			   pinion_mtt_spans_of_blocks(mtt, offset, want, spans, most);
}

/* The first of these spans: its length, and in *@kva where it is. */
static inline u64 pinion_mtt_run(const struct pinion_mtt *mtt, u64 offset, u64 want, void **kva)
{
	struct pinion_span span;

	pinion_mtt_spans(mtt, offset, want, &span, 1);
	*kva = span.kva;
	return span.length;
}

/*
 * The kernel address of a DMA address. DMA addresses are physical addresses here, which
 * pinion_dma_provable() has checked.
 */
static inline void *pinion_dma_to_kva(u64 dma_addr)
{
	return phys_to_virt(dma_addr);
}

/* Are all @length bytes memory with a kernel address? @dma_addr may be any number. */
bool pinion_dma_is_memory(u64 dma_addr, u64 length);

/* 0 if pages can be found from addresses that are DMA-mapped for @dev, else -errno. */
int pinion_dma_provable(struct device *dev);

#endif
