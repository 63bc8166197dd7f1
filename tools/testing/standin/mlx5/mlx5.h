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

/* It exports objects of one more kind than the headers know. */
struct standin_export_sizes {
	uint32_t var, umem, obj, newer;
};

enum {
	STANDIN_VAR = 12,
	STANDIN_UMEM = 2,
	STANDIN_OBJ = 16,
	STANDIN_NEWER = 20
};

#endif /* PINION_STANDIN_MLX5_H */
