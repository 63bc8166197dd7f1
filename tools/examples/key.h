/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Makes a key for a umem by a DEVX command, so that the device can access memory that has no key of
 * its own. Works with <infiniband/mlx5dv.h>, too.
 */
#ifndef PINION_EXAMPLE_KEY_H
#define PINION_EXAMPLE_KEY_H

#include <endian.h>
#include <pinion/mlx5dv.h>
#include <string.h>

enum { CREATE_MKEY = 0x200, MKEY_LENGTH = 0x110 };

static void key_put32(uint8_t *to, size_t at, uint32_t value)
{
	value = htobe32(value);
	memcpy(to + at, &value, sizeof(value));
}

static void key_put64(uint8_t *to, size_t at, uint64_t value)
{
	value = htobe64(value);
	memcpy(to + at, &value, sizeof(value));
}

/* For all of @umem, whose first byte is @address: all rights, for any queue pair of @pd. */
static struct mlx5dv_devx_obj *key_make(struct ibv_pd *pd,
					struct mlx5dv_devx_umem *umem,
					uint64_t address, uint64_t length,
					uint32_t *rkey)
{
	uint8_t in[MKEY_LENGTH] = {}, out[16] = {};
	struct mlx5dv_pd domain = {};
	struct mlx5dv_obj ask = { .pd = { pd, &domain } };
	struct mlx5dv_devx_obj *key;

	if (mlx5dv_init_obj(&ask, MLX5DV_OBJ_PD))
		return NULL;
	key_put32(in, 0x00, CREATE_MKEY << 16);
	key_put32(in, 0x0c, 1U << 30); /* the pages are those of a umem */
	key_put32(in, 0x10, 0x7d00); /* all rights; translation by pages */
	key_put32(in, 0x14, 0xffffff00);
	key_put32(in, 0x1c, domain.pdn);
	key_put64(in, 0x20, address);
	key_put64(in, 0x28, length);
	key_put32(in, 0x64, umem->umem_id);
	key = mlx5dv_devx_obj_create(pd->context, in, sizeof(in), out,
				     sizeof(out));
	if (key) {
		memcpy(rkey, out + 8, sizeof(*rkey));
		*rkey = be32toh(*rkey) << 8;
	}
	return key;
}

#endif /* PINION_EXAMPLE_KEY_H */
