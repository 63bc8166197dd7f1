// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Each call of mlx5dv with its first, second, ... allocation or copy failing. Needs a
 * kernel with fault injection (items D17 and N15 to N19).
 */
#include <string.h>

#include "dmabuf.h"
#include "keys.h"
#include "resources.h"
#include "sweep.h"

enum { LEN = 600000 };

static struct buf *buf;
static umem_t umem;
static obj_t obj;
static struct prm_mkey mkey;
static struct prm_klm klms[3];

static void begin(void)
{
	dv_begin();
	buf = buf_new(LEN, 77);
	umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
	mkey = (struct prm_mkey){
		.pdn = dv_pdn(dev.pd),
		.base = 77,
		.length = LEN,
		.umem_id = umem->umem_id,
	};
	fault_prepare();
}

/* After all this the device works as before. */
static void end(void)
{
	struct region region, local = region_new(LEN, 0, ALL_ACCESS);
	struct link link;

	link_make(&link, NULL);
	obj = dv_region(buf, umem, &region);
	exchange(&link, &local, &region);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
}

static umem_t made;

static int reg(void)
{
	made = mlx5dv_devx_umem_reg(dev.ctx, buf->data, LEN, UMEM_ACCESS);
	return made ? 0 : errno;
}

static void dereg(void)
{
	CHECK_EQ(mlx5dv_devx_umem_dereg(made), 0);
}

static void n15_umem(void)
{
	begin();
	sweep(&(struct op){ "umem", reg, dereg });
	end();
}

static int create(void)
{
	uint32_t key;

	obj = dv_try_key(&mkey, &key);
	return obj ? 0 : errno;
}

static void destroy(void)
{
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
}

static void n16_key(void)
{
	begin();
	sweep(&(struct op){ "key of a umem", create, destroy });
	end();
}

static void n17_pieces(void)
{
	struct region region;
	int i;

	begin();
	region = region_reg(dev.pd, buf, ALL_ACCESS);
	for (i = 0; i < 3; i++)
		klms[i] = (struct prm_klm){ 5000, region.lkey,
					    region.base + i * 7000 };
	mkey.mode = PRM_KLM;
	mkey.length = 15000;
	mkey.klms = klms;
	mkey.num_klms = 3;
	sweep(&(struct op){ "key of pieces", create, destroy });
	CHECK_EQ(ibv_dereg_mr(region.mr), 0);
	end();
}

static int create_pd(void)
{
	uint8_t in[16], out[16];

	prm_head(in, PRM_ALLOC_PD, 0);
	obj = mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out, sizeof(out));
	return obj ? 0 : errno;
}

static int caps(void)
{
	uint8_t in[16], out[512];

	prm_head(in, PRM_QUERY_HCA_CAP, 0);
	return mlx5dv_devx_general_cmd(dev.ctx, in, sizeof(in), out,
				       sizeof(out));
}

static void n18_pd(void)
{
	begin();
	sweep(&(struct op){ "PD", create_pd, destroy });
	sweep(&(struct op){ "capabilities", caps, NULL });
	end();
}

static int fd;

static int reg_dmabuf(void)
{
	struct mlx5dv_devx_umem_in in = {
		.size = 64 * PAGE,
		.access = UMEM_ACCESS,
		.pgsz_bitmap = 4096,
		.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
		.dmabuf_fd = fd,
	};

	made = mlx5dv_devx_umem_reg_ex(dev.ctx, &in);
	return made ? 0 : errno;
}

#ifdef HAVE_DMABUF_MR
static struct ibv_mr *mr;

static int reg_direct(void)
{
	mr = mlx5dv_reg_dmabuf_mr(dev.pd, 0, 64 * PAGE, 0, fd,
				  IBV_ACCESS_LOCAL_WRITE,
				  MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT);
	return mr ? 0 : errno;
}

static void dereg_direct(void)
{
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}
#endif

static void n19_dmabuf(void)
{
	int i;

	for (i = 0; i < DMABUF_KINDS; i++)
		if (dmabuf_there(&dmabuf_kinds[i]))
			break;
	if (i == DMABUF_KINDS)
		skip("no exporter of dma-bufs");
	fd = dmabuf_new(&dmabuf_kinds[i], 64 * PAGE).fd;
	begin();
	sweep(&(struct op){ "umem of a dma-buf", reg_dmabuf, dereg });
#ifdef HAVE_DMABUF_MR
	sweep(&(struct op){ "data direct", reg_direct, dereg_direct });
#endif
	end();
}

static const struct test tests[] = {
	LONG_TEST(n15_umem, "N15-umem", 300),
	LONG_TEST(n16_key, "N16-key-of-a-umem", 300),
	LONG_TEST(n17_pieces, "N17-key-of-pieces", 300),
	LONG_TEST(n18_pd, "N18-PD-and-capabilities", 300),
	LONG_TEST(n19_dmabuf, "N19-dma-bufs", 300),
};

HARNESS_MAIN("faults in calls of mlx5dv", tests)
