// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The calls of mlx5dv on a device of another driver: with libpinion-mlx5dv they fail as with
 * libmlx5 alone (items C9, D16). If a stand-in for libmlx5 serves the device, each call and each
 * answer is passed on unchanged (C13).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "../standin/mlx5/mlx5.h"
#include "keys.h"

static struct standin *standin;

/* Loaded before libibverbs looks for drivers, so that this library is found first. */
static void __attribute__((constructor)) find_standin(void)
{
	void *library = dlopen("libmlx5.so.1", RTLD_LAZY);

	standin = library ? dlsym(library, STANDIN) : NULL;
}

static void begin(void)
{
	if (dev.pinion)
		skip("this one is served");
	if (standin)
		skip("libmlx5 is a stand-in");
}

/* The stand-in was called exactly once since the last check, by this call with these arguments. */
#define PASSED(what, ...)                                       \
	do {                                                    \
		const uint64_t arg[7] = { __VA_ARGS__ };        \
		CHECK_EQ(standin->calls, ++calls);              \
		CHECK(!strcmp(standin->name, what));            \
		CHECK(!memcmp(standin->arg, arg, sizeof(arg))); \
	} while (0)
#define WORD(x) ((uint64_t)(x))

static unsigned int calls;

static void c13_regions(void)
{
	struct mlx5dv_context context = {};
	struct mlx5dv_context_attr attr = {};
	struct ibv_device *device = dev.ctx->device;
	char path[8];

	CHECK(mlx5dv_is_supported(device));
	PASSED("is_supported", WORD(device));
	CHECK_EQ(mlx5dv_query_device(dev.ctx, &context), STANDIN_NUMBER);
	PASSED("query_device", WORD(dev.ctx), WORD(&context));
	CHECK((void *)mlx5dv_open_device(device, &attr) == STANDIN_POINTER);
	PASSED("open_device", WORD(device), WORD(&attr));
	CHECK((void *)mlx5dv_reg_dmabuf_mr(dev.pd, 1, 2, 3, 4, 5, 6) ==
	      STANDIN_POINTER);
	PASSED("reg_dmabuf_mr", WORD(dev.pd), 1, 2, 3, 4, 5, 6);
	CHECK_EQ(mlx5dv_get_data_direct_sysfs_path(dev.ctx, path, 8),
		 STANDIN_NUMBER);
	PASSED("get_data_direct_sysfs_path", WORD(dev.ctx), WORD(path), 8);
}

static void c13_objects(void)
{
	obj_t obj = STANDIN_POINTER;
	uint8_t in[16], out[20];
	struct mlx5dv_pd pd;
	struct mlx5dv_obj domain = { .pd = { dev.pd, &pd } };

	CHECK_EQ(mlx5dv_init_obj(&domain, MLX5DV_OBJ_PD), STANDIN_NUMBER);
	PASSED("init_obj", WORD(&domain), MLX5DV_OBJ_PD);
	CHECK(mlx5dv_devx_obj_create(dev.ctx, in, 1, out, 2) == obj);
	PASSED("devx_obj_create", WORD(dev.ctx), WORD(in), 1, WORD(out), 2);
	CHECK_EQ(mlx5dv_devx_obj_query(obj, in, 3, out, 4), STANDIN_NUMBER);
	PASSED("devx_obj_query", WORD(obj), WORD(in), 3, WORD(out), 4);
	CHECK_EQ(mlx5dv_devx_obj_modify(obj, in, 5, out, 6), STANDIN_NUMBER);
	PASSED("devx_obj_modify", WORD(obj), WORD(in), 5, WORD(out), 6);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), STANDIN_NUMBER);
	PASSED("devx_obj_destroy", WORD(obj));
	CHECK_EQ(mlx5dv_devx_general_cmd(dev.ctx, in, 7, out, 8),
		 STANDIN_NUMBER);
	PASSED("devx_general_cmd", WORD(dev.ctx), WORD(in), 7, WORD(out), 8);
}

static void c13_umems(void)
{
	struct mlx5dv_devx_umem_in in = { .comp_mask = ~0ULL };
	umem_t umem = STANDIN_POINTER;

	CHECK(mlx5dv_devx_umem_reg(dev.ctx, in.addr, 5, 6) == umem);
	PASSED("devx_umem_reg", WORD(dev.ctx), WORD(in.addr), 5, 6);
	CHECK(mlx5dv_devx_umem_reg_ex(dev.ctx, &in) == umem);
	PASSED("devx_umem_reg_ex", WORD(dev.ctx), WORD(&in));
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), STANDIN_NUMBER);
	PASSED("devx_umem_dereg", WORD(umem));
}

static void c13_uars(void)
{
	struct mlx5dv_devx_uar *uar = STANDIN_POINTER;

	CHECK(mlx5dv_devx_alloc_uar(dev.ctx, 5) == uar);
	PASSED("devx_alloc_uar", WORD(dev.ctx), 5);
#ifdef HAVE_EXPORT
	CHECK_EQ(mlx5dv_devx_uar_export_dmabuf_fd(uar), STANDIN_NUMBER);
	PASSED("devx_uar_export_dmabuf_fd", WORD(uar));
#endif
	mlx5dv_devx_free_uar(uar);
	PASSED("devx_free_uar", WORD(uar));
}

/*
 * Of each kind of object libmlx5 says how long its exported form is, also of kinds that our headers
 * do not know. Only what ours need more is added, and nothing behind the program's struct is written.
 */
static void c13_export_sizes(void)
{
#ifdef HAVE_EXPORT
	struct {
		struct standin_export_sizes is;
		uint32_t behind;
	} sizes;
	size_t len;

	if (!standin)
		skip("needs a stand-in for libmlx5, and a device of any driver");
	for (len = 0; len <= sizeof(sizes.is); len += sizeof(uint32_t)) {
		context("%zu bytes", len);
		memset(&sizes, 0x5a, sizeof(sizes));
		_mlx5dv_get_export_sizes((void *)&sizes.is, len);
		CHECK_EQ(sizes.is.var, len < 4 ? 0x5a5a5a5a : STANDIN_VAR);
		CHECK_EQ(sizes.is.umem, len < 8 ? 0x5a5a5a5a : 8);
		CHECK_EQ(sizes.is.obj, len < 12 ? 0x5a5a5a5a : STANDIN_OBJ);
		CHECK_EQ(sizes.is.newer, len < 16 ? 0x5a5a5a5a : STANDIN_NEWER);
		CHECK_EQ(sizes.behind, 0x5a5a5a5a);
	}
#else
	skip("needs a stand-in for libmlx5, and a device of any driver");
#endif
}

/* Calls for a device of libmlx5 are passed on to it. */
static void c13_passed_on(void)
{
	if (dev.pinion || !standin)
		skip("needs a stand-in for libmlx5, and a device of its");
	c13_regions();
	c13_objects();
	c13_umems();
	c13_uars();
}

/* Calls on a pinion device never reach the stand-in. */
static void c13_kept(void)
{
	struct buf *buf = buf_new(4096, 0);
	struct region region;
	umem_t umem;
	obj_t obj;

	if (!dev.pinion || !standin)
		skip("needs a stand-in for libmlx5, and a device of ours");
	umem = MUST(dv_umem(buf->data, 4096, UMEM_ACCESS, ~0ULL));
	obj = dv_region(buf, umem, &region);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), EBUSY);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	CHECK_EQ(standin->calls, 0);
}

/* On other devices calls for regions and contexts are EOPNOTSUPP. */
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

/* On other devices umems are EOPNOTSUPP. */
static void d16_umems(void)
{
	struct buf *buf = buf_new(4096, 0);

	begin();
	MUST_NOT(mlx5dv_devx_umem_reg(dev.ctx, buf->data, 4096, 0), EOPNOTSUPP);
	MUST_NOT(dv_umem(buf->data, 4096, 0, ~0ULL), EOPNOTSUPP);
}

/* On other devices commands are EOPNOTSUPP. */
static void d16_commands(void)
{
	uint8_t in[16] = {}, out[16];
	struct mlx5dv_pd pd;
	struct mlx5dv_obj obj = { .pd = { dev.pd, &pd } };

	begin();
	MUST_NOT(mlx5dv_devx_obj_create(dev.ctx, in, 16, out, 16), EOPNOTSUPP);
	CHECK_EQ(mlx5dv_devx_general_cmd(dev.ctx, in, 16, out, 16), EOPNOTSUPP);
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), EOPNOTSUPP);
	MUST_NOT(mlx5dv_devx_alloc_uar(dev.ctx, 0), EOPNOTSUPP);
}

static const struct test tests[] = {
	TEST(c9_regions, "C9-regions-and-contexts"),
	TEST(c13_passed_on, "C13-what-is-for-libmlx5-is-passed-on"),
	TEST(c13_export_sizes, "C13-export-sizes"),
	TEST(c13_kept, "C13-what-is-ours-is-not"),
	TEST(d16_umems, "D16-umems"),
	TEST(d16_commands, "D16-commands"),
};

HARNESS_MAIN("mlx5dv on other devices", tests)
