// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Programs that do not link to libmlx5 but look up its functions at run time, as NCCL does,
 * which needs three of them (item C14). pinion-run makes them find ours.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dmabuf.h"
#include "keys.h"

/* Some headers lack this flag. */
enum { DATA_DIRECT = 1 };

static struct {
	bool (*is_supported)(struct ibv_device *device);
	int (*get_data_direct_sysfs_path)(struct ibv_context *context,
					  char *buf, size_t length);
	struct ibv_mr *(*reg_dmabuf_mr)(struct ibv_pd *pd, uint64_t offset,
					size_t length, uint64_t iova, int fd,
					int access, int mlx5_access);
	void *create_qp;
} mlx5dv;

/* RTLD_DEFAULT would search the whole program; this searches @library and its dependencies. */
static void look_in(void *library)
{
	mlx5dv.is_supported =
		dlvsym(library, "mlx5dv_is_supported", "MLX5_1.8");
	mlx5dv.get_data_direct_sysfs_path = dlvsym(
		library, "mlx5dv_get_data_direct_sysfs_path", "MLX5_1.25");
	mlx5dv.reg_dmabuf_mr =
		dlvsym(library, "mlx5dv_reg_dmabuf_mr", "MLX5_1.25");
	mlx5dv.create_qp = dlvsym(library, "mlx5dv_create_qp", "MLX5_1.3");
	CHECK(mlx5dv.is_supported && mlx5dv.get_data_direct_sysfs_path &&
	      mlx5dv.reg_dmabuf_mr);
	/* A function that only libmlx5 has. */
	CHECK(mlx5dv.create_qp);
}

static void begin(const char *name)
{
	const char *preload = getenv("LD_PRELOAD");

	if (!dev.pinion)
		skip("this one is not served");
	if (!preload || !strstr(preload, "/libmlx5.so.1"))
		skip("not run by pinion-run, or beside no libmlx5");
	look_in(MUST(dlopen(name, RTLD_NOW | RTLD_LOCAL)));
}

static void data_direct(const struct dmabuf *dmabuf, size_t length)
{
	struct region local = region_new(length, 0, ALL_ACCESS);
	struct ibv_mr *mr;
	struct link link;

	link_make(&link, NULL);
	mr = MUST(mlx5dv.reg_dmabuf_mr(dev.pd, 0, length, 0, dmabuf->fd,
				       ALL_ACCESS, DATA_DIRECT));
	expect(rdma(&link.a, IBV_WR_RDMA_WRITE, sge_of(&local, 0, length), 0,
		    mr->rkey),
	       IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	region_free(&local);
	link_free(&link);
}

/* A program that loads libmlx5 by name gets functions that serve the device. */
static void c14_serves(const void *name)
{
	struct stat there;
	char path[256], sys[300];

	begin(name);
	CHECK(mlx5dv.is_supported(dev.ctx->device));
	CHECK_EQ(mlx5dv.get_data_direct_sysfs_path(dev.ctx, path, sizeof(path)),
		 0);
	snprintf(sys, sizeof(sys), "/sys%s", path);
	CHECK_EQ(stat(sys, &there), 0);
	/* On a pinion device the errors are ours: EBADF for what is not a dma-buf. */
	MUST_NOT(mlx5dv.reg_dmabuf_mr(dev.pd, 0, PAGE, 0, 12345, 0,
				      DATA_DIRECT),
		 EBADF);
}

/* So registered, a dma-buf is a region by data direct. */
static void c14_region(void)
{
	struct dmabuf dmabuf;
	int i = 0;

	begin("libmlx5.so.1");
	while (i < DMABUF_KINDS && !dmabuf_there(&dmabuf_kinds[i]))
		i++;
	if (i == DMABUF_KINDS)
		skip("no exporter of dma-bufs");
	dmabuf = dmabuf_new(&dmabuf_kinds[i], 4 * PAGE);
	data_direct(&dmabuf, 4 * PAGE);
	dmabuf_free(&dmabuf);
}

static const struct test tests[] = {
	TEST_WITH(c14_serves, "libmlx5.so.1", "C14-looked-for-as-libmlx5.so.1"),
	TEST_WITH(c14_serves, "libmlx5.so", "C14-looked-for-as-libmlx5.so"),
	TEST(c14_region, "C14-a-region-by-data-direct"),
};

HARNESS_MAIN("libmlx5 that is looked for", tests)
