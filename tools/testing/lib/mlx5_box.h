/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A device that speaks mlx5's ABI, of this test's own, on the netdev lo. It is called by hand (raw.h).
 */
#ifndef PINION_TEST_MLX5_BOX_H
#define PINION_TEST_MLX5_BOX_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/mlx5-abi.h>

#define MLX5_BOX "mlx5_box"

/*
 * Makes it, or skips the test; it is removed at the end. From now on calls carry the id of mlx5's
 * driver. Returns the path of its uverbs file.
 */
const char *mlx5_box_make(void);
void mlx5_box_remove(void);

extern const struct mlx5_ib_alloc_ucontext_req_v2 mlx5_box_opens;

/* Makes the context of an open file. Return: 0 or an errno. */
int mlx5_box_context(int fd, const void *in, size_t in_length, void *out,
		     size_t out_length);
/* Makes a protection domain in an open context, and returns its handle. */
uint32_t mlx5_box_pd(int fd);

#endif /* PINION_TEST_MLX5_BOX_H */
