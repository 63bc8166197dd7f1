/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Events in mlx5's format: 64 bytes with the type of the event and the number of a queue.
 */
#ifndef PINION_LOGIC_MLX5_EQE_H
#define PINION_LOGIC_MLX5_EQE_H

#include <linux/types.h>

#define PINION_MLX5_EQE		64

enum pinion_mlx5_event_type {
	PINION_MLX5_COMPLETION		= 0x00,
	PINION_MLX5_COMM_EST		= 0x02,
	PINION_MLX5_SQ_DRAINED		= 0x03,
	PINION_MLX5_CQ_ERROR		= 0x04,
	PINION_MLX5_QP_FATAL		= 0x05,
	PINION_MLX5_QP_REQUEST		= 0x10,
	PINION_MLX5_QP_ACCESS		= 0x11,
	PINION_MLX5_LAST_WQE		= 0x13,
	PINION_MLX5_SRQ_LIMIT		= 0x14,
	PINION_MLX5_NO_EVENT		= 0xff,
};

/* Kinds of queues that events are about. */
enum pinion_mlx5_event_of {
	PINION_MLX5_OF_CQ,
	PINION_MLX5_OF_QP,
	PINION_MLX5_OF_SRQ,
};

/* Is there an event @type for this kind of queue? */
bool pinion_mlx5_event_is_of(u16 type, enum pinion_mlx5_event_of of);

/* Write an event of @type for queue @number. */
void pinion_mlx5_eqe_fill(u8 to[PINION_MLX5_EQE], u8 type, u32 number);

#endif
