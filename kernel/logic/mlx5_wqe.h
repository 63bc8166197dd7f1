/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests in mlx5's format: one or more blocks of 64 bytes, made of segments of 16 bytes.
 * They are converted to our format, and then checked like any other request. Unless stated
 * otherwise the functions read a private copy, not the ring.
 */
#ifndef PINION_LOGIC_MLX5_WQE_H
#define PINION_LOGIC_MLX5_WQE_H

#include <linux/types.h>
#include <rdma/pinion-abi.h>

#define PINION_MLX5_BLOCK	64
/* A request has at most 63 segments. */
#define PINION_MLX5_MAX_BLOCKS	16

/* Ranges of a layout: a request has 8 other segments before them. */
#define PINION_MLX5_MAX_RANGES	56

/* A COPY has at most 2^PINION_MLX5_LOG_MAX_COPY bytes. */
#define PINION_MLX5_LOG_MAX_COPY	20

/* Where a request was found. Its control segment must say the same. */
struct pinion_mlx5_slot {
	u32 qpn;
	u16 index;		/* free-running index of its first block */
};

/* Limits and service of the queue pair. */
struct pinion_mlx5_room {
	u32 max_sge;
	u32 max_inline;
	bool datagrams;		/* requests have an address segment */
	bool xrc;		/* requests have a segment with the shared queue's number */
};

/* The address of a datagram. */
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
 * The number of blocks of the request that begins at @block, as its control segment says. 0 is not
 * valid: the next request cannot be found then.
 */
u32 pinion_mlx5_wqe_blocks(const u8 *block);

/* Copy @count blocks from @index on out of a ring of @size blocks, a power of two >= @count. */
void pinion_mlx5_wqe_copy(u8 *to, const u8 *ring, u32 size, u32 index, u32 count);

/*
 * Convert @wqe, of pinion_mlx5_wqe_blocks() blocks, to *@to and the list or inline data behind
 * that. Return: 0 or an enum pinion_syndrome.
 */
enum pinion_syndrome pinion_mlx5_wqe_parse(const u8 *wqe, const struct pinion_mlx5_slot *slot,
					   const struct pinion_mlx5_room *room,
					   struct pinion_sq_wqe *to);

/*
 * The producer index of a doorbell, which is the first 8 bytes of the last request. Return: @none
 * if it is not a doorbell of @qpn.
 */
u16 pinion_mlx5_bell(u64 bell, u32 qpn, u16 none);

/* The address of the datagram @wqe, which pinion_mlx5_wqe_parse() has accepted. */
void pinion_mlx5_wqe_av(const u8 *wqe, struct pinion_mlx5_av *av);

/*
 * A request of a shared receive queue begins with a segment that has the 16-bit index of the next
 * request's slot. Only linked lists use it, but it is there in cyclic queues, too.
 */
#define PINION_MLX5_LINK	16
u16 pinion_mlx5_recv_next(const u8 *wqe);

/*
 * Convert the @num data segments of a receive request to @sge; a segment with a special key ends
 * the list. Return: the number of entries.
 */
u32 pinion_mlx5_recv_parse(const u8 *wqe, u32 num, struct pinion_sge *sge);

/* mlx5's opcode, as in completions, for one of ours; 0: none. */
u8 pinion_mlx5_opcode(u8 opcode);

#endif
