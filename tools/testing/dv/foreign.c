// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The calls of mlx5dv on a device that is neither mlx5's nor ours: what libmlx5 says to
 * such a device, through the library as without it (items C9, D16).
 */
#include <stdio.h>
#include <string.h>

#include "keys.h"

static void begin(void)
{
	if (dev.pinion)
		skip("this one is served");
}

static void c9_regions(void)
{
	char path[100];

	begin();
	CHECK(!mlx5dv_is_supported(dev.ctx->device));
	MUST_NOT(mlx5dv_open_device(dev.ctx->device,
				    &(struct mlx5dv_context_attr){}),
		 EOPNOTSUPP);
	MUST_NOT(mlx5dv_reg_dmabuf_mr(dev.pd, 0, 4096, 0, -1, 0, 0),
		 EOPNOTSUPP);
	CHECK_EQ(mlx5dv_get_data_direct_sysfs_path(dev.ctx, path, sizeof(path)),
		 EOPNOTSUPP);
}

static void d16_umems(void)
{
	struct buf *buf = buf_new(4096, 0);

	begin();
	MUST_NOT(mlx5dv_devx_umem_reg(dev.ctx, buf->data, 4096, 0), EOPNOTSUPP);
	MUST_NOT(dv_umem(buf->data, 4096, 0, ~0ULL), EOPNOTSUPP);
}

static void d16_commands(void)
{
	uint8_t in[16] = {}, out[16];
	struct mlx5dv_pd pd;
	struct mlx5dv_obj obj = { .pd = { dev.pd, &pd } };

	begin();
	MUST_NOT(mlx5dv_devx_obj_create(dev.ctx, in, 16, out, 16), EOPNOTSUPP);
	CHECK_EQ(mlx5dv_devx_general_cmd(dev.ctx, in, 16, out, 16), EOPNOTSUPP);
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), EOPNOTSUPP);
}

static const struct test tests[] = {
	TEST(c9_regions, "C9-regions-and-contexts"),
	TEST(d16_umems, "D16-umems"),
	TEST(d16_commands, "D16-commands"),
};

HARNESS_MAIN("mlx5dv on other devices", tests)
