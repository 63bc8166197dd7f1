/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests as mlx5's queues have them: blocks of 64 bytes, of which each request takes
 * as many as it needs, in segments of 16 bytes. They become requests of our own kind, which
 * are then checked like any other. Asked of a private copy, never of the ring.
 */
#ifndef PINION_LOGIC_MLX5_WQE_H
#define PINION_LOGIC_MLX5_WQE_H

#include <linux/types.h>
#include <rdma/pinion-abi.h>

#define PINION_MLX5_BLOCK	64
/* 63 segments are the most that a request can say it has. */
#define PINION_MLX5_MAX_BLOCKS	16

/* Where its user says a request is, which has to be where it was found. */
struct pinion_mlx5_slot {
	u32 qpn;
	u16 index;		/* of its first block, counted on and on */
};

/* What there is room for behind the head of our own request. */
struct pinion_mlx5_room {
	u32 max_sge;
	u32 max_inline;
	bool datagrams;		/* each says where it goes */
	bool xrc;		/* or to which shared queue */
};

/* Where a datagram goes. */
struct pinion_mlx5_av {
	u8 dgid[16];
	u8 dmac[6];
	u8 sgid_index;
	u8 traffic_class;
	u8 hop_limit;
	u8 sl;
	u32 flow_label;
};

/*
 * How many blocks the request takes that begins in @block, by its control segment. 0: none,
 * so there is no next one either, and only an error can follow.
 */
u32 pinion_mlx5_wqe_blocks(const u8 *block);

/* Blocks @index on of a ring of @size, a power of two, as one piece; @count is at most it. */
void pinion_mlx5_wqe_copy(u8 *to, const u8 *ring, u32 size, u32 index, u32 count);

/*
 * @wqe, a request of pinion_mlx5_wqe_blocks(), as ours in *@to with its tail. Return: 0 or an
 * enum pinion_syndrome.
 */
int pinion_mlx5_wqe_parse(const u8 *wqe, const struct pinion_mlx5_slot *slot,
			  const struct pinion_mlx5_room *room, struct pinion_sq_wqe *to);

/*
 * Up to where is posted, as a doorbell says: the first words of the last request. @none, if it is
 * no doorbell of @qpn's.
 */
u16 pinion_mlx5_bell(u64 bell, u32 qpn, u16 none);

/* Where the datagram @wqe goes, which could be parsed. */
void pinion_mlx5_wqe_av(const u8 *wqe, struct pinion_mlx5_av *av);

/*
 * Of a shared receive queue each request begins with a segment of its own, and says which is the
 * next: of 16 bits.
 */
#define PINION_MLX5_LINK	16
u16 pinion_mlx5_recv_next(const u8 *wqe);

/*
 * One of a receive queue: @num data segments, of which the first without a key is the end,
 * into @sge. Return: how many there are.
 */
u32 pinion_mlx5_recv_parse(const u8 *wqe, u32 num, struct pinion_sge *sge);

/* The opcode that completions tell, of one of ours. */
u8 pinion_mlx5_opcode(u8 opcode);

#endif
