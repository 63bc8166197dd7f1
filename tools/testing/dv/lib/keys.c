// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Makes umems and keys for tests.
 */
#include "keys.h"

void dv_begin(void)
{
	if (!mlx5dv_is_supported(dev.ctx->device))
		skip("mlx5dv does not know this device");
}

void dv_begin_queues(void)
{
	dv_begin();
	if (!dev.pinion)
		skip("only pinion has these rings");
}

uint32_t dv_pdn(struct ibv_pd *pd)
{
	struct mlx5dv_pd out = {};
	struct mlx5dv_obj obj = { .pd = { pd, &out } };

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	return out.pdn;
}

umem_t dv_umem(void *addr, size_t size, uint32_t access, uint64_t pages)
{
	struct mlx5dv_devx_umem_in in = {
		.addr = addr,
		.size = size,
		.access = access,
		.pgsz_bitmap = pages,
	};

	return mlx5dv_devx_umem_reg_ex(dev.ctx, &in);
}

obj_t dv_try_key(const struct prm_mkey *mkey, uint32_t *key)
{
	uint8_t in[PRM_MKEY + PRM_MAX_KLMS * 16], out[PRM_HEAD] = {};
	size_t length = prm_create_mkey(in, mkey);
	obj_t obj;

	obj = mlx5dv_devx_obj_create(dev.ctx, in, length, out, sizeof(out));
	if (obj) {
		CHECK_EQ(prm_status(out), 0);
		*key = prm_number(out) << 8 | mkey->tag;
	}
	return obj;
}

/* The errno EREMOTEIO means that the answer has a status: mlx5dv_devx_obj_create(3). */
void dv_refused(int err, const void *out, uint32_t syndrome)
{
	CHECK_EQ(err, EREMOTEIO);
	CHECK(prm_status(out));
	if (dev.pinion)
		CHECK_EQ(prm_syndrome(out), syndrome);
}

void dv_key_refused(const struct prm_mkey *mkey, uint32_t syndrome)
{
	uint8_t in[PRM_MKEY + PRM_MAX_KLMS * 16], out[PRM_HEAD] = {};
	size_t length = prm_create_mkey(in, mkey);

	errno = 0;
	CHECK(!mlx5dv_devx_obj_create(dev.ctx, in, length, out, sizeof(out)));
	dv_refused(errno, out, syndrome);
}

obj_t dv_key(const struct prm_mkey *mkey, uint32_t *key)
{
	return MUST(dv_try_key(mkey, key));
}

obj_t dv_region(struct buf *buf, umem_t umem, struct region *region)
{
	struct prm_mkey mkey = {
		.pdn = dv_pdn(dev.pd),
		.tag = rnd(),
		.base = (uintptr_t)buf->data,
		.length = buf->length,
		.umem_id = umem->umem_id,
	};
	uint32_t key;
	obj_t obj = dv_key(&mkey, &key);

	*region = (struct region){
		.buf = buf,
		.base = mkey.base,
		.lkey = key,
		.rkey = key,
	};
	return obj;
}
