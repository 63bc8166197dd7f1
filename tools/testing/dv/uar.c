// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbell pages (UARs): pages of the device to map, to name and to export (items VU1 to
 * VU3).
 */
#include <string.h>
#include <unistd.h>

#include "dmabuf.h"
#include "keys.h"

typedef struct mlx5dv_devx_uar *uar_t;

enum { BF, NC, KINDS };
/* Defined by libmlx5 from version 45 on. */
#define NC_DEDICATED (1U << 31)

/* Doorbell pages of each kind: numbers of their own, zeros to read, and freed. */
static void vu1_alloc(void)
{
	static const char zeros[PAGE];
	static const uint32_t kinds[] = { BF, NC, NC_DEDICATED };
	uar_t uar[50];
	uint32_t bit;
	int i, j;

	dv_begin();
	for (i = 0; i < 50; i++) {
		uar[i] = MUST(mlx5dv_devx_alloc_uar(dev.ctx, kinds[i % 3]));
		CHECK(uar[i]->page_id);
		CHECK(!memcmp(uar[i]->base_addr, zeros, PAGE));
		CHECK_EQ((char *)uar[i]->reg_addr - (char *)uar[i]->base_addr,
			 0x800);
		*(volatile uint64_t *)uar[i]->reg_addr = ~0ULL;
		for (j = 0; j < i; j++)
			CHECK(uar[j]->page_id != uar[i]->page_id);
	}
	for (i = 0; i < 50; i++)
		mlx5dv_devx_free_uar(uar[i]);
	for (bit = KINDS; bit != NC_DEDICATED; bit <<= 1)
		MUST_NOT(mlx5dv_devx_alloc_uar(dev.ctx, bit), EOPNOTSUPP);
	MUST_NOT(mlx5dv_devx_alloc_uar(dev.ctx, NC_DEDICATED | NC), EOPNOTSUPP);
}

#ifdef HAVE_EXPORT
/* The page as a buffer with a model. */
static struct buf *page_of(uar_t uar)
{
	struct buf *buf = buf_of(uar->base_addr, PAGE, 0, PAGE);

	buf_fill(buf);
	return buf;
}

/* Registers the dma-buf and transfers data to and from it. */
static void traffic(struct link *link, int fd, struct buf *buf)
{
	struct region other = region_new(PAGE, 77, ALL_ACCESS), region;
	struct ibv_mr *mr =
		MUST(ibv_reg_dmabuf_mr(dev.pd, 0, PAGE, PAGE, fd, ALL_ACCESS));

	region = region_of(buf, mr, PAGE);
	exchange(link, &other, &region);
	exchange(link, &region, &other);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	region_free(&other);
}
#endif

/* A doorbell page as a dma-buf can be a region and a umem, but no longer one. */
static void vu2_export(void)
{
#ifdef HAVE_EXPORT
	struct mlx5dv_devx_umem_in in = {
		.size = PAGE,
		.access = UMEM_ACCESS,
		.pgsz_bitmap = PAGE,
		.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
	};
	struct link link;
	struct buf *buf;
	umem_t umem;
	uar_t uar;
	int fd;

	dv_begin();
	link_make(&link, NULL);
	uar = MUST(mlx5dv_devx_alloc_uar(dev.ctx, NC));
	buf = page_of(uar);
	fd = mlx5dv_devx_uar_export_dmabuf_fd(uar);
	CHECK(fd >= 0);
	traffic(&link, fd, buf);
	/* The dma-buf can be pinned as a umem; a longer one is refused. */
	in.dmabuf_fd = fd;
	umem = MUST(mlx5dv_devx_umem_reg_ex(dev.ctx, &in));
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	in.size = PAGE + 1;
	MUST_NOT(mlx5dv_devx_umem_reg_ex(dev.ctx, &in), EINVAL);
	CHECK_EQ(close(fd), 0);
	mlx5dv_devx_free_uar(uar);
#else
	skip("this libmlx5 exports nothing");
#endif
}

#ifdef HAVE_EXPORT
static uint64_t write_and_read(struct link *link, int fd, uint64_t number)
{
	struct region local = region_new(16, 0, ALL_ACCESS);
	struct ibv_mr *mr =
		MUST(ibv_reg_dmabuf_mr(dev.pd, 0, PAGE, 0, fd, ALL_ACCESS));
	struct ibv_sge sge = sge_of(&local, 0, 8);

	memcpy(local.buf->data, &number, 8);
	expect(rdma(&link->a, IBV_WR_RDMA_WRITE, sge, 8, mr->rkey),
	       IBV_WC_SUCCESS);
	memset(local.buf->data, 0, 16);
	expect(rdma(&link->a, IBV_WR_RDMA_READ, sge, 8, mr->rkey),
	       IBV_WC_SUCCESS);
	memcpy(&number, local.buf->data, 8);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	region_free(&local);
	return number;
}
#endif

/* The exported page outlives the object and its context. */
static void vu3_outlives(void)
{
#ifdef HAVE_EXPORT
	struct ibv_context *other = device_another();
	uar_t uar = mlx5dv_devx_alloc_uar(other, NC);
	struct link link;
	int fd, again;

	dv_begin();
	fd = mlx5dv_devx_uar_export_dmabuf_fd(MUST(uar));
	again = mlx5dv_devx_uar_export_dmabuf_fd(uar);
	CHECK(fd >= 0 && again >= 0 && fd != again);
	*(uint64_t *)uar->base_addr = 1;
	mlx5dv_devx_free_uar(uar);
	CHECK_EQ(ibv_close_device(other), 0);
	link_make(&link, NULL);
	CHECK_EQ(write_and_read(&link, fd, 0x1122334455667788),
		 0x1122334455667788);
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(write_and_read(&link, again, 42), 42);
	CHECK_EQ(close(again), 0);
#else
	skip("this libmlx5 exports nothing");
#endif
}

static const struct test tests[] = {
	TEST(vu1_alloc, "VU1-pages-of-any-kind"),
	TEST(vu2_export, "VU2-exported-to-this-device"),
	TEST(vu3_outlives, "VU3-what-is-exported-outlives-the-page"),
};

HARNESS_MAIN("doorbell pages of mlx5dv", tests)
