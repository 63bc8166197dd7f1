/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The memory translation table: where the bytes of one key are.
 *
 * A table is a sequence of equal blocks of 2^shift bytes, each a DMA address.
 * A *position* counts bytes from the start of the first block; the first byte
 * of the key's memory is at position @first. Seeking is one shift.
 *
 * Only what kernel consumers register as a list with gaps has blocks of any length
 * instead, *pieces*, of which @ends says where each is over. Seeking is a bisection.
 */
#ifndef PINION_MEM_MTT_H
#define PINION_MEM_MTT_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/nospec.h>
#include <linux/types.h>

struct device;

/* Else lengths are cut where the core takes a size_t, and not all memory has a kernel address. */
static_assert(BITS_PER_LONG == 64, "pinion is for 64-bit kernels");

/* One page of addresses: the table never asks for a larger allocation per level. */
#define PINION_MTT_LEAF_SHIFT	9
#define PINION_MTT_LEAF_BLOCKS	BIT(PINION_MTT_LEAF_SHIFT)

struct pinion_mtt {
	u64 **leaves;
	u64 num_blocks;
	u64 first;
	u64 *ends;	/* positions; NULL: all blocks are equal */
	u32 num_pieces;	/* blocks in use, with @ends */
	u8 shift;
	bool inside;	/* of something else, which is freed instead */
};

/* Room for a table of one block, as most small regions have. */
struct pinion_mtt_one {
	struct pinion_mtt mtt;
	u64 *leaf;
	u64 block;
};

struct pinion_mtt *pinion_mtt_alloc(u64 num_blocks, u8 shift, u64 first);
/* A table of at most @num_pieces, for pinion_mtt_set_piece() to fill in from the first. */
struct pinion_mtt *pinion_mtt_alloc_pieces(u32 num_pieces);
void pinion_mtt_set_piece(struct pinion_mtt *mtt, u32 piece, u64 dma_addr, u64 length);
void pinion_mtt_free(struct pinion_mtt *mtt);

/*
 * Copies a table of one block to @one, whose own nobody uses any more, and leaves any other as
 * it is. Return: the one to use. If it is not @mtt, that is to be freed, where one may sleep.
 */
struct pinion_mtt *pinion_mtt_settle(struct pinion_mtt_one *one, struct pinion_mtt *mtt);

/* Users choose the offset that @block follows from: its bound holds for guesses, too. */
static inline u64 *pinion_mtt_slot(const struct pinion_mtt *mtt, u64 block)
{
	block = array_index_nospec((unsigned long)block, (unsigned long)mtt->num_blocks);
	return &mtt->leaves[block >> PINION_MTT_LEAF_SHIFT]
			   [block & (PINION_MTT_LEAF_BLOCKS - 1)];
}

/*
 * The longest run of memory, at most @want > 0 bytes, that starts @offset bytes
 * into the key and is contiguous: its kernel address in *@kva, its length
 * returned. The caller has checked the bounds and holds the key's gate.
 */
u64 pinion_mtt_run(const struct pinion_mtt *mtt, u64 offset, u64 want, void **kva);

/*
 * DMA addresses become kernel addresses by the identity our parent device was
 * checked to have; see pinion_dma_provable().
 */
void *pinion_dma_to_kva(u64 dma_addr);

/* Is there memory of the kernel's at all @length bytes? Whoever knows the key may ask. */
bool pinion_dma_is_memory(u64 dma_addr, u64 length);

/* 0 if addresses mapped for @dev can be turned back into pages, else -errno. */
int pinion_dma_provable(struct device *dev);

#endif
