/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Umems and the keys made of them, by the calls of <infiniband/mlx5dv.h>: the tests are
 * programs for libmlx5 and know nothing of the library that serves them.
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

/* Skips the test if the device is not served. */
void dv_begin(void);
/* Also if a umem cannot have its rings. */
void dv_begin_queues(void);

/* The number commands know a domain by. */
uint32_t dv_pdn(struct ibv_pd *pd);

/* NULL and errno, like the calls themselves. */
umem_t dv_umem(void *addr, size_t size, uint32_t access, uint64_t pages);
obj_t dv_try_key(const struct prm_mkey *mkey, uint32_t *key);
/* The test fails without. */
obj_t dv_key(const struct prm_mkey *mkey, uint32_t *key);

/* The command is refused, and its answer says why: @syndrome, if the device is ours. */
void dv_key_refused(const struct prm_mkey *mkey, uint32_t syndrome);
void dv_refused(int err, const void *out, uint32_t syndrome);

/* All of @buf behind a new key over @umem, which is of all of it. */
obj_t dv_region(struct buf *buf, umem_t umem, struct region *region);

#endif /* PINION_TEST_DV_KEYS_H */
