/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The last call of a stand-in for libmlx5, and its answer.
 */
#ifndef PINION_STANDIN_MLX5_H
#define PINION_STANDIN_MLX5_H

#include <stdint.h>

struct standin {
	unsigned int calls;
	const char *name; /* of the last call, without mlx5dv_ */
	uint64_t arg[7];
};

/* The symbol that tests look up. */
#define STANDIN "pinion_standin_mlx5"

enum { STANDIN_NUMBER = 4242 };
/* The pointer that calls return; must not be dereferenced. */
#define STANDIN_POINTER ((void *)0x5a5a0000)

#endif /* PINION_STANDIN_MLX5_H */
