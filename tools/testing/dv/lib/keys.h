/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Umems and keys made of them, by calls of <infiniband/mlx5dv.h>. The tests are programs for
 * libmlx5, and use nothing of libpinion-mlx5dv.
 */
#ifndef PINION_TEST_DV_KEYS_H
#define PINION_TEST_DV_KEYS_H

#ifdef OWN_HEADER
#include <pinion/mlx5dv.h>
#define HAVE_DMABUF_MR
#else
#include <infiniband/mlx5dv.h>
#endif

#include "link.h"
#include "prm.h"

typedef struct mlx5dv_devx_umem *umem_t;
typedef struct mlx5dv_devx_obj *obj_t;

enum {
	UMEM_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		      IBV_ACCESS_REMOTE_READ,
};

/* Skips the test if the device does not support mlx5dv. */
void dv_begin(void);
/* Skips also if rings cannot be in umems. */
void dv_begin_queues(void);

/* The number of the domain in commands. */
uint32_t dv_pdn(struct ibv_pd *pd);

/* Return NULL and set errno, like the calls themselves. */
umem_t dv_umem(void *addr, size_t size, uint32_t access, uint64_t pages);
obj_t dv_try_key(const struct prm_mkey *mkey, uint32_t *key);
/* Fails the test on errors. */
obj_t dv_key(const struct prm_mkey *mkey, uint32_t *key);

/* The command is refused; on pinion the answer has the syndrome @syndrome. */
void dv_key_refused(const struct prm_mkey *mkey, uint32_t syndrome);
void dv_refused(int err, const void *out, uint32_t syndrome);

/* A new key over all of @umem, which covers @buf. */
obj_t dv_region(struct buf *buf, umem_t umem, struct region *region);

#endif /* PINION_TEST_DV_KEYS_H */
