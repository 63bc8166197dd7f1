/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a stand-in for libmlx5 was asked last, and what it answers.
 */
#ifndef PINION_STANDIN_MLX5_H
#define PINION_STANDIN_MLX5_H

#include <stdint.h>

struct standin {
	unsigned int calls;
	const char *name; /* of the last one, without mlx5dv_ */
	uint64_t arg[7];
};

/* The symbol by which a test finds it. */
#define STANDIN "pinion_standin_mlx5"

enum { STANDIN_NUMBER = 4242 };
/* Pointers: an address that nobody looks behind. */
#define STANDIN_POINTER ((void *)0x5a5a0000)

#endif /* PINION_STANDIN_MLX5_H */
