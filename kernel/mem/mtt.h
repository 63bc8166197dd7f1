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

/*
 * The longest contiguous run of memory, at most @want > 0 bytes, at @offset bytes into the key.
 * *@kva is set to its kernel address. Return: its length. The caller has checked the bounds, and is
 * inside the key's gate.
 */
u64 pinion_mtt_run(const struct pinion_mtt *mtt, u64 offset, u64 want, void **kva);

/*
 * The kernel address of a DMA address. DMA addresses are physical addresses here, which
 * pinion_dma_provable() has checked.
 */
void *pinion_dma_to_kva(u64 dma_addr);

/* Are all @length bytes memory with a kernel address? @dma_addr may be any number. */
bool pinion_dma_is_memory(u64 dma_addr, u64 length);

/* 0 if pages can be found from addresses that are DMA-mapped for @dev, else -errno. */
int pinion_dma_provable(struct device *dev);

#endif
