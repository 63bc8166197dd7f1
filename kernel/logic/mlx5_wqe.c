// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Converts mlx5's work requests. Reads are bounded by the size that the request gives itself,
 * writes by struct pinion_mlx5_room.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "mlx5_wqe.h"

#define SEGMENT		16

/* Offsets in the control segment, the first one. */
#define CTRL_OPCODE	3
#define CTRL_INDEX	1
#define CTRL_QPN	4
#define CTRL_COUNT	7
#define CTRL_FLAGS	11
#define CTRL_IMM	12

#define COUNT_MASK	0x3f
#define FLAG_SOLICITED	0x02
#define FLAG_SIGNALED	0x08	/* always; the lower bit next to it: only in error */
#define FLAG_FENCES	0xe0

/* Length of a datagram's address, and offsets in it. */
#define AV_LENGTH	48
#define AV_QKEY		0
#define AV_QPN		8
#define AV_RATE_SL	12
#define AV_DMAC		20
#define AV_CLASS	26
#define AV_HOPS		27
#define AV_GRH		28
#define AV_DGID		32

/* Flag at AV_QPN: the address has all 48 bytes (needed for Ethernet), not just 16. */
#define AV_EXTENDED	BIT(31)
#define AV_FLOW		0xfffff
#define AV_SGID_SHIFT	20

/* UMR changes the key in the control segment. Offsets in the next segment: */
#define UMR_LENGTH	48
#define UMR_FLAGS	0
#define UMR_OCTWORDS	4
#define UMR_MASK	8

#define UMR_INLINE	BIT(7)
#define UMR_CHECK_QPN	BIT(3)
/* Supported bits at UMR_MASK: length, start, rights, key, free; for windows also the QPN. */
#define UMR_LENGTHS	BIT_ULL(0)
#define UMR_START	BIT_ULL(6)
#define UMR_RIGHTS	GENMASK_ULL(21, 18)
#define UMR_KEY		BIT_ULL(13)
#define UMR_FREE	BIT_ULL(29)
#define UMR_OF_LAYOUTS	(UMR_LENGTHS | UMR_KEY | UMR_RIGHTS | UMR_FREE)
#define UMR_OF_WINDOWS	(UMR_OF_LAYOUTS | UMR_START | BIT_ULL(14))

/* The key's new context. */
#define MKEY_LENGTH	64
#define MKEY_FREE	0
#define MKEY_RIGHTS	2
#define MKEY_KEY	4
#define MKEY_START	16
#define MKEY_BYTES	24

#define MKEY_IS_FREE	BIT(6)

/* The key's memory. */
#define KLM_LENGTH	64
#define KLM_BYTES	0
#define KLM_KEY		4
#define KLM_ADDRESS	8

/*
 * Interleaved layout: the first segment has the number of rounds and of entries, the others are
 * the entries. Its mark is where the entries of a plain list have their key.
 */
#define ROUND_MARK	4
#define ROUND_TIMES	8
#define ROUND_COUNT	14
#define ROUND_STRIDE	0
#define ROUND_BYTES	2

#define IS_ROUND	0x400

/* Modifier of the opcode 0x2f that makes it a copy. */
#define COPY_MODIFIER	1

/* Offset in the first segment of a shared queue's receive. */
#define LINK_NEXT	2

/* Bits in the first word of a data segment. */
#define INLINE_DATA	BIT(31)
#define INLINE_LENGTH	0x3ff
/* A data segment with this key ends the list. */
#define END_OF_LIST	0x100

enum mlx5_wqe_parts {
	HAS_ADDRESS	= 1 << 0,
	HAS_WORDS	= 1 << 1,
	IS_LOCAL	= 1 << 2,
	IS_COPY		= 1 << 3,
	IS_NOTHING	= 1 << 4,
};

static const struct mlx5_wqe_kind {
	u8 theirs;
	u8 ours;
	u8 parts;
} mlx5_wqe_kinds[] = {
	{ 0x00, PINION_OP_NOP,			IS_NOTHING },
	{ 0x01, PINION_OP_SEND_WITH_INV,	0 },
	{ 0x08, PINION_OP_RDMA_WRITE,		HAS_ADDRESS },
	{ 0x09, PINION_OP_RDMA_WRITE_WITH_IMM,	HAS_ADDRESS },
	{ 0x0a, PINION_OP_SEND,			0 },
	{ 0x0b, PINION_OP_SEND_WITH_IMM,	0 },
	{ 0x10, PINION_OP_RDMA_READ,		HAS_ADDRESS },
	{ 0x11, PINION_OP_ATOMIC_CMP_AND_SWP,	HAS_ADDRESS | HAS_WORDS },
	{ 0x12, PINION_OP_ATOMIC_FETCH_AND_ADD,	HAS_ADDRESS | HAS_WORDS },
	{ 0x25, PINION_OP_BIND_MW,		IS_LOCAL },
	{ 0x25, PINION_OP_LOCAL_INV,		IS_LOCAL },
	{ 0x25, PINION_OP_LAYOUT,		IS_LOCAL },
	{ 0x2f, PINION_OP_COPY,			IS_COPY },
};

/* A request that is being read. */
struct mlx5_wqe_reader {
	const u8 *at;
	const u8 *end;
};

/* Return the next @length bytes and advance; NULL if the request ends before. */
static const u8 *mlx5_wqe_next(struct mlx5_wqe_reader *reader, u32 length)
{
	const u8 *at = reader->at;

	if (length > reader->end - at)
		return NULL;
	reader->at = at + length;
	return at;
}

static const struct mlx5_wqe_kind *mlx5_wqe_kind(u8 opcode)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(mlx5_wqe_kinds); i++) {
		if (mlx5_wqe_kinds[i].theirs == opcode)
			return &mlx5_wqe_kinds[i];
	}
	return NULL;
}

u8 pinion_mlx5_opcode(u8 opcode)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(mlx5_wqe_kinds); i++) {
		if (mlx5_wqe_kinds[i].ours == opcode)
			return mlx5_wqe_kinds[i].theirs;
	}
	return 0;
}

u32 pinion_mlx5_wqe_blocks(const u8 *block)
{
	return DIV_ROUND_UP((block[CTRL_COUNT] & COUNT_MASK) * SEGMENT, PINION_MLX5_BLOCK);
}

u16 pinion_mlx5_bell(u64 bell, u32 qpn, u16 none)
{
	u8 ctrl[8];

	put_unaligned_be64(bell, ctrl);
	if (get_unaligned_be24(ctrl + CTRL_QPN) != qpn)
		return none;
	return get_unaligned_be16(ctrl + CTRL_INDEX) + pinion_mlx5_wqe_blocks(ctrl);
}

void pinion_mlx5_wqe_copy(u8 *to, const u8 *ring, u32 size, u32 index, u32 count)
{
	u32 first = index & (size - 1);
	u32 before = min(count, size - first);

	memcpy(to, ring + first * PINION_MLX5_BLOCK, before * PINION_MLX5_BLOCK);
	memcpy(to + before * PINION_MLX5_BLOCK, ring, (count - before) * PINION_MLX5_BLOCK);
}

static enum pinion_syndrome mlx5_wqe_read_ctrl(struct mlx5_wqe_reader *reader,
					       const struct pinion_mlx5_slot *slot,
					       const struct mlx5_wqe_kind **kind,
					       struct pinion_sq_wqe *to)
{
	const u8 *ctrl = reader->at;
	u8 flags = ctrl[CTRL_FLAGS];

	if (!mlx5_wqe_next(reader, SEGMENT))
		return PINION_SYN_BAD_WQE;
	/* An old request, from the round before, has another index. */
	if (get_unaligned_be16(ctrl + CTRL_INDEX) != slot->index ||
	    get_unaligned_be24(ctrl + CTRL_QPN) != slot->qpn)
		return PINION_SYN_BAD_WQE;
	*kind = mlx5_wqe_kind(ctrl[CTRL_OPCODE]);
	/* The first byte is an opcode modifier. */
	if (!*kind || ctrl[0] != ((*kind)->parts & IS_COPY ? COPY_MODIFIER : 0))
		return PINION_SYN_OPCODE;
	to->opcode = (*kind)->ours;
	if (flags & FLAG_FENCES)
		to->flags |= PINION_WQE_FENCE;
	if (flags & FLAG_SIGNALED)
		to->flags |= PINION_WQE_SIGNALED;
	if (flags & FLAG_SOLICITED)
		to->flags |= PINION_WQE_SOLICITED;
	/* A key is a big-endian number; an immediate is copied as it is. */
	if (to->opcode == PINION_OP_SEND_WITH_INV)
		to->ex = get_unaligned_be32(ctrl + CTRL_IMM);
	else
		memcpy(&to->ex, ctrl + CTRL_IMM, sizeof(to->ex));
	return 0;
}

static enum pinion_syndrome mlx5_wqe_read_datagram(struct mlx5_wqe_reader *reader,
						   struct pinion_sq_wqe *to)
{
	const u8 *av = mlx5_wqe_next(reader, AV_LENGTH);
	u32 qpn;

	if (!av)
		return PINION_SYN_BAD_WQE;
	qpn = get_unaligned_be32(av + AV_QPN);
	if (!(qpn & AV_EXTENDED))
		return PINION_SYN_BAD_WQE;
	to->ud.remote_qpn = qpn & 0xffffff;
	to->ud.remote_qkey = get_unaligned_be32(av + AV_QKEY);
	return 0;
}

static enum pinion_syndrome mlx5_wqe_read_target(struct mlx5_wqe_reader *reader, u8 parts,
						 struct pinion_sq_wqe *to)
{
	const u8 *address, *words;
	u64 first, second;

	if (!(parts & HAS_ADDRESS))
		return 0;
	address = mlx5_wqe_next(reader, SEGMENT);
	if (!address)
		return PINION_SYN_BAD_WQE;
	if (!(parts & HAS_WORDS)) {
		to->rdma.remote_addr = get_unaligned_be64(address);
		to->rdma.rkey = get_unaligned_be32(address + 8);
		return 0;
	}
	words = mlx5_wqe_next(reader, SEGMENT);
	if (!words)
		return PINION_SYN_BAD_WQE;
	first = get_unaligned_be64(words);
	second = get_unaligned_be64(words + 8);
	to->atomic.remote_addr = get_unaligned_be64(address);
	to->atomic.rkey = get_unaligned_be32(address + 8);
	/* FETCH_AND_ADD: first is added. CMP_AND_SWP: first is stored, second is compared. */
	if (to->opcode == PINION_OP_ATOMIC_FETCH_AND_ADD) {
		to->atomic.compare_add = first;
	} else {
		to->atomic.swap = first;
		to->atomic.compare_add = second;
	}
	return 0;
}

static enum pinion_syndrome mlx5_wqe_read_inline(struct mlx5_wqe_reader *reader, u32 length,
						 const struct pinion_mlx5_room *room,
						 struct pinion_sq_wqe *to)
{
	const u8 *bytes = mlx5_wqe_next(reader, ALIGN(4 + length, SEGMENT) - 4);

	if (!bytes || to->num_sge)
		return PINION_SYN_BAD_WQE;
	if (length > room->max_inline - to->inline_length)
		return PINION_SYN_LENGTH;
	memcpy((u8 *)(to + 1) + to->inline_length, bytes, length);
	to->inline_length += length;
	to->flags |= PINION_WQE_INLINE;
	return 0;
}

static void mlx5_wqe_read_sge(const u8 *segment, struct pinion_sge *sge)
{
	*sge = (struct pinion_sge){
		/* In mlx5's format a length of 0 means 2^31. */
		.length = get_unaligned_be32(segment) ?: BIT(31),
		.lkey = get_unaligned_be32(segment + 4),
		.addr = get_unaligned_be64(segment + 8),
	};
}

/*
 * Before the first entry of a list, which has been read: if there are inline data, they become what
 * the first sge is of, and are moved behind the list. All that follows must be entries, too.
 */
static enum pinion_syndrome mlx5_wqe_lead(const struct mlx5_wqe_reader *reader,
					  const struct pinion_mlx5_room *room,
					  struct pinion_sq_wqe *to)
{
	u32 num_sge = 2 + (reader->end - reader->at) / SEGMENT;
	struct pinion_sge *sge = (struct pinion_sge *)(to + 1);

	if (!(to->flags & PINION_WQE_INLINE))
		return 0;
	if (num_sge > room->max_sge)
		return PINION_SYN_BAD_WQE;
	if (num_sge * sizeof(*sge) + to->inline_length > room->max_inline)
		return PINION_SYN_LENGTH;
	memmove(&sge[num_sge], sge, to->inline_length);
	sge[0] = (struct pinion_sge){ .length = to->inline_length };
	to->num_sge = 1;
	to->flags ^= PINION_WQE_INLINE | PINION_WQE_LEAD;
	return 0;
}

static enum pinion_syndrome mlx5_wqe_read_payload(struct mlx5_wqe_reader *reader,
						  const struct pinion_mlx5_room *room,
						  struct pinion_sq_wqe *to)
{
	struct pinion_sge *sge = (struct pinion_sge *)(to + 1);
	const u8 *segment;
	u32 word;
	int err;

	while ((segment = mlx5_wqe_next(reader, 4))) {
		word = get_unaligned_be32(segment);
		if (word & INLINE_DATA) {
			err = mlx5_wqe_read_inline(reader, word & INLINE_LENGTH, room, to);
			if (err)
				return err;
			continue;
		}
		if (!mlx5_wqe_next(reader, SEGMENT - 4))
			return PINION_SYN_BAD_WQE;
		err = mlx5_wqe_lead(reader, room, to);
		if (err)
			return err;
		if (to->num_sge == room->max_sge)
			return PINION_SYN_BAD_WQE;
		mlx5_wqe_read_sge(segment, &sge[to->num_sge++]);
	}
	return 0;
}

static u32 mlx5_wqe_rights(u8 theirs)
{
	static const struct {
		u8 theirs;
		u32 ours;
	} rights[] = {
		{ BIT(6), IB_UVERBS_ACCESS_REMOTE_ATOMIC },
		{ BIT(5), IB_UVERBS_ACCESS_REMOTE_WRITE },
		{ BIT(4), IB_UVERBS_ACCESS_REMOTE_READ },
		{ BIT(3), IB_UVERBS_ACCESS_LOCAL_WRITE },
	};
	u32 ours = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(rights); i++) {
		if (theirs & rights[i].theirs)
			ours |= rights[i].ours;
	}
	return ours;
}

/* A list of KLMs. Those without a length only fill it up. */
static int mlx5_wqe_read_list(struct mlx5_wqe_reader *reader, u32 count,
			      struct pinion_wqe_range *range)
{
	const u8 *klm;
	u32 num = 0;

	while (count-- && (klm = mlx5_wqe_next(reader, SEGMENT))) {
		u32 length = get_unaligned_be32(klm + KLM_BYTES);

		if (!length)
			continue;
		range[num++] = (struct pinion_wqe_range){
			.length = length,
			.key = get_unaligned_be32(klm + KLM_KEY),
			.addr = get_unaligned_be64(klm + KLM_ADDRESS),
		};
	}
	return num;
}

static int mlx5_wqe_read_round(struct mlx5_wqe_reader *reader, u32 count,
			       struct pinion_wqe_range *range)
{
	const u8 *entry;
	u32 num = 0;

	while (count-- && (entry = mlx5_wqe_next(reader, SEGMENT)))
		range[num++] = (struct pinion_wqe_range){
			.length = get_unaligned_be16(entry + ROUND_BYTES),
			.stride = get_unaligned_be16(entry + ROUND_STRIDE),
			.key = get_unaligned_be32(entry + KLM_KEY),
			.addr = get_unaligned_be64(entry + KLM_ADDRESS),
		};
	return num;
}

static enum pinion_syndrome mlx5_wqe_read_ranges(struct mlx5_wqe_reader *reader, u32 octwords,
						 const struct pinion_mlx5_room *room,
						 struct pinion_sq_wqe *to)
{
	struct pinion_wqe_range *range = (struct pinion_wqe_range *)(to + 1);
	const u8 *first = reader->at;

	if (octwords * SEGMENT > reader->end - first)
		return PINION_SYN_BAD_WQE;
	if (octwords * sizeof(*range) > room->max_inline)
		return PINION_SYN_LENGTH;
	to->layout.times = 1;
	if (get_unaligned_be32(first + ROUND_MARK) != IS_ROUND) {
		to->layout.num = mlx5_wqe_read_list(reader, octwords, range);
	} else {
		mlx5_wqe_next(reader, SEGMENT);
		if (get_unaligned_be16(first + ROUND_COUNT) >= octwords)
			return PINION_SYN_BAD_WQE;
		to->layout.times = get_unaligned_be32(first + ROUND_TIMES);
		to->layout.num = mlx5_wqe_read_round(reader,
						     get_unaligned_be16(first + ROUND_COUNT),
						     range);
	}
	to->layout.flags |= PINION_LAYOUT_RANGES;
	to->flags |= PINION_WQE_INLINE;
	to->inline_length = to->layout.num * sizeof(*range);
	return 0;
}

/* Changes a key's ranges, its access rights, or both. */
static enum pinion_syndrome mlx5_wqe_read_layout(struct mlx5_wqe_reader *reader, const u8 *umr,
						 const u8 *mkey, u32 key,
						 const struct pinion_mlx5_room *room,
						 struct pinion_sq_wqe *to)
{
	u32 octwords = get_unaligned_be16(umr + UMR_OCTWORDS);
	u64 mask = get_unaligned_be64(umr + UMR_MASK);

	/* Length and ranges are changed together, and so are all of the rights. */
	if (mask & ~UMR_OF_LAYOUTS || !(mask & UMR_FREE) || !(mask & UMR_LENGTHS) != !octwords ||
	    (mask & UMR_RIGHTS && ~mask & UMR_RIGHTS))
		return PINION_SYN_BAD_WQE;
	to->opcode = PINION_OP_LAYOUT;
	to->layout.key = key;
	to->layout.new_key = mask & UMR_KEY ? mkey[MKEY_KEY + 3] : key;
	if (mask & UMR_RIGHTS) {
		to->layout.flags |= PINION_LAYOUT_ACCESS;
		to->layout.access = mlx5_wqe_rights(mkey[MKEY_RIGHTS]);
	}
	if (!octwords)
		return 0;
	to->layout.length = get_unaligned_be64(mkey + MKEY_BYTES);
	return mlx5_wqe_read_ranges(reader, octwords, room, to);
}

static enum pinion_syndrome mlx5_wqe_read_window(struct mlx5_wqe_reader *reader, const u8 *mkey,
						 u32 key, struct pinion_sq_wqe *to)
{
	const u8 *klm;
	u64 start;

	to->bind.mw_rkey = key;
	to->bind.new_rkey = (key & ~0xffU) | mkey[MKEY_KEY + 3];
	if (mkey[MKEY_FREE] & MKEY_IS_FREE)
		return 0;
	klm = mlx5_wqe_next(reader, KLM_LENGTH);
	/* One piece. Its count is not checked, since libraries fill it differently. */
	if (!klm || get_unaligned_be32(klm + KLM_BYTES) != get_unaligned_be64(mkey + MKEY_BYTES))
		return PINION_SYN_BAD_WQE;
	to->bind.addr = get_unaligned_be64(klm + KLM_ADDRESS);
	to->bind.length = get_unaligned_be64(mkey + MKEY_BYTES);
	to->bind.mr_lkey = get_unaligned_be32(klm + KLM_KEY);
	to->bind.access = mlx5_wqe_rights(mkey[MKEY_RIGHTS]);
	start = get_unaligned_be64(mkey + MKEY_START);
	if (start == to->bind.addr)
		return 0;
	/* The window starts at its memory's address, or is zero-based. */
	to->bind.access |= IB_UVERBS_ACCESS_ZERO_BASED;
	return start ? PINION_SYN_BAD_WQE : 0;
}

/*
 * Supported UMRs: those by which verbs bind and invalidate windows, and those that set the ranges
 * or rights of a layout.
 */
static enum pinion_syndrome mlx5_wqe_read_umr(struct mlx5_wqe_reader *reader, u32 key,
					      const struct pinion_mlx5_room *room,
					      struct pinion_sq_wqe *to)
{
	const u8 *umr = mlx5_wqe_next(reader, UMR_LENGTH);
	const u8 *mkey = mlx5_wqe_next(reader, MKEY_LENGTH);

	if (!umr || !mkey || !(umr[UMR_FLAGS] & UMR_INLINE) ||
	    get_unaligned_be64(umr + UMR_MASK) & ~UMR_OF_WINDOWS)
		return PINION_SYN_BAD_WQE;
	if (mkey[MKEY_FREE] & MKEY_IS_FREE && umr[UMR_FLAGS] & UMR_CHECK_QPN) {
		to->opcode = PINION_OP_LOCAL_INV;
		to->ex = key;
		return 0;
	}
	/* Only for windows the start address is set each time. */
	if (!(mkey[MKEY_FREE] & MKEY_IS_FREE) && !(get_unaligned_be64(umr + UMR_MASK) & UMR_START))
		return mlx5_wqe_read_layout(reader, umr, mkey, key, room, to);
	return mlx5_wqe_read_window(reader, mkey, key, to);
}

/* Three segments: one for a result, which is ignored; the source; the sink. */
static enum pinion_syndrome mlx5_wqe_read_copy(struct mlx5_wqe_reader *reader,
					       const struct pinion_mlx5_room *room,
					       struct pinion_sq_wqe *to)
{
	struct pinion_sge *ends = (struct pinion_sge *)(to + 1);
	const u8 *result = mlx5_wqe_next(reader, SEGMENT);
	const u8 *from = mlx5_wqe_next(reader, SEGMENT);
	const u8 *sink = mlx5_wqe_next(reader, SEGMENT);

	if (!result || !from || !sink)
		return PINION_SYN_BAD_WQE;
	if (2 * sizeof(*ends) > room->max_inline)
		return PINION_SYN_LENGTH;
	mlx5_wqe_read_sge(from, &ends[0]);
	mlx5_wqe_read_sge(sink, &ends[1]);
	to->flags |= PINION_WQE_INLINE;
	to->inline_length = 2 * sizeof(*ends);
	if (ends[0].length != ends[1].length)
		return PINION_SYN_BAD_WQE;
	return ends[0].length > BIT(PINION_MLX5_LOG_MAX_COPY) ? PINION_SYN_LENGTH : 0;
}

static enum pinion_syndrome mlx5_wqe_read_shared(struct mlx5_wqe_reader *reader,
						 struct pinion_sq_wqe *to)
{
	const u8 *segment = mlx5_wqe_next(reader, SEGMENT);

	if (!segment)
		return PINION_SYN_BAD_WQE;
	to->xrc_srqn = get_unaligned_be32(segment);
	return 0;
}

enum pinion_syndrome pinion_mlx5_wqe_parse(const u8 *wqe, const struct pinion_mlx5_slot *slot,
					   const struct pinion_mlx5_room *room,
					   struct pinion_sq_wqe *to)
{
	struct mlx5_wqe_reader reader = {
		.at = wqe,
		.end = wqe + (wqe[CTRL_COUNT] & COUNT_MASK) * SEGMENT,
	};
	const struct mlx5_wqe_kind *kind;
	int err;

	*to = (struct pinion_sq_wqe){ .wr_id = slot->index };
	err = mlx5_wqe_read_ctrl(&reader, slot, &kind, to);
	if (!err && kind->parts & IS_NOTHING)
		return 0;
	if (!err && kind->parts & IS_LOCAL)
		return mlx5_wqe_read_umr(&reader, get_unaligned_be32(wqe + CTRL_IMM), room, to);
	if (!err && kind->parts & IS_COPY)
		return mlx5_wqe_read_copy(&reader, room, to);
	/* Requests for remote memory have no address segment. The executor refuses them for UD. */
	if (!err && room->datagrams && !kind->parts)
		err = mlx5_wqe_read_datagram(&reader, to);
	if (!err && room->xrc)
		err = mlx5_wqe_read_shared(&reader, to);
	if (!err)
		err = mlx5_wqe_read_target(&reader, kind->parts, to);
	if (!err)
		err = mlx5_wqe_read_payload(&reader, room, to);
	return err;
}

void pinion_mlx5_wqe_av(const u8 *wqe, struct pinion_mlx5_av *av)
{
	const u8 *from = wqe + SEGMENT;
	u32 grh = get_unaligned_be32(from + AV_GRH);

	*av = (struct pinion_mlx5_av){
		.sgid_index = grh >> AV_SGID_SHIFT,
		.traffic_class = from[AV_CLASS],
		.hop_limit = from[AV_HOPS],
		/* On Ethernet the priority, 3 bits. */
		.sl = from[AV_RATE_SL] >> 1 & 7,
		.flow_label = grh & AV_FLOW,
	};
	memcpy(av->dgid, from + AV_DGID, sizeof(av->dgid));
	memcpy(av->dmac, from + AV_DMAC, sizeof(av->dmac));
}

u16 pinion_mlx5_recv_next(const u8 *wqe)
{
	return get_unaligned_be16(wqe + LINK_NEXT);
}

u32 pinion_mlx5_recv_parse(const u8 *wqe, u32 num, struct pinion_sge *sge)
{
	u32 i;

	for (i = 0; i < num; i++, wqe += SEGMENT) {
		if (get_unaligned_be32(wqe + 4) == END_OF_LIST)
			break;
		mlx5_wqe_read_sge(wqe, &sge[i]);
	}
	return i;
}
