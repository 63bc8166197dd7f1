// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mlx5dv_devx_umem_reg(3), _reg_ex and _dereg, item by item (D1 to D20, those about
 * memory of a process).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/pinion-abi.h>

#include "dmabuf.h"
#include "keys.h"
#include "memory.h"
#include "pins.h"
#include "raw.h"

enum { LEN = 300000, MIB = 1 << 20 };

/* Each umem has a number of its own, and pins its memory until dereg. */
static void d1_reg(void)
{
	struct buf *buf = buf_new(LEN, 77);
	umem_t umem[50];
	int i, j;

	dv_begin();
	for (i = 0; i < 50; i++) {
		umem[i] = MUST(mlx5dv_devx_umem_reg(dev.ctx, buf->data + i,
						    LEN - i,
						    i & 1 ? UMEM_ACCESS : 0));
		CHECK(umem[i]->umem_id);
		for (j = 0; j < i; j++)
			CHECK(umem[j]->umem_id != umem[i]->umem_id);
	}
	for (i = 0; i < 50; i++)
		CHECK_EQ(mlx5dv_devx_umem_dereg(umem[i]), 0);
	CHECK_EQ(vm_pin(0), 0);
}

/* A umem from a structure. */
static void d2_reg_ex(void)
{
	struct buf *buf = buf_new(LEN, 77);
	umem_t umem;

	dv_begin();
	umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
	CHECK(umem->umem_id);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
}

/* After dereg no key can be made of the umem's number. */
static void d3_dereg(void)
{
	struct buf *buf = buf_new(LEN, 0);
	struct prm_mkey mkey = { .base = 0x10000, .length = 100 };
	uint32_t key;
	umem_t umem;

	dv_begin();
	umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
	mkey.pdn = dv_pdn(dev.pd);
	mkey.umem_id = umem->umem_id;
	CHECK_EQ(mlx5dv_devx_obj_destroy(dv_key(&mkey, &key)), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	dv_key_refused(&mkey, PRM_NO_UMEM);
}

/*
 * Page sizes that are accepted for memory in system pages: PAGE always; larger ones up to @most
 * if pages happen to be contiguous; no others.
 */
static void sizes_of(uint8_t *addr, size_t size, uint64_t most)
{
	uint64_t bit;

	for (bit = 1; bit; bit <<= 1) {
		umem_t umem;

		context("page size %#llx of %zu bytes", (unsigned long long)bit,
			size);
		umem = dv_umem(addr, size, UMEM_ACCESS, bit);
		if (!umem)
			CHECK_EQ(errno, EINVAL);
		if (bit == PAGE)
			CHECK(umem);
		if (bit < PAGE || bit > most)
			CHECK(!umem);
		if (umem)
			CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	}
	context("%s", "");
	MUST_NOT(dv_umem(addr, size, UMEM_ACCESS, 0), EINVAL);
	MUST_NOT(dv_umem(addr, size, UMEM_ACCESS, 4095), EINVAL);
	CHECK_EQ(mlx5dv_devx_umem_dereg(
			 MUST(dv_umem(addr, size, UMEM_ACCESS, ~0ULL))),
		 0);
	CHECK_EQ(vm_pin(0), 0);
}

/* Memory whose pages are hardly ever contiguous. */
static uint8_t *scattered(size_t size)
{
	uint8_t *map = mmap(NULL, size * 4, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t pages = size / PAGE, i;

	CHECK(map != MAP_FAILED);
	madvise(map, size * 4, MADV_NOHUGEPAGE);
	for (i = 0; i < pages; i++) {
		/* Touch two places by turns, so that pages of one place are not contiguous. */
		map[size + (i * 7919 % pages) * PAGE] = 1;
		map[(i * 7919 % pages) * PAGE] = 1;
	}
	return map;
}

/* A umem needs a page size that is listed and fits its memory. */
static void d4_page_sizes(void)
{
	uint8_t *map;

	dv_begin();
	map = scattered(MIB / 4);
	sizes_of(map, 2 * PAGE, 2 * PAGE);
	sizes_of(map + 100, MIB / 4 - 100, PAGE);
	sizes_of(map, MIB / 4, PAGE);
	/* Part of one page. */
	sizes_of(map + 5, 100, PAGE);
}

/* Of huge pages a umem with their size only can be made. */
static void d4_huge_pages(void)
{
	struct buf *buf = memory_new(&memory_hugetlb, 4 * MIB, 0);

	dv_begin();
	CHECK_EQ(mlx5dv_devx_umem_dereg(MUST(
			 dv_umem(buf->data, 4 * MIB, UMEM_ACCESS, 2 * MIB))),
		 0);
	MUST_NOT(dv_umem(buf->data, 2 * PAGE, UMEM_ACCESS, 2 * MIB), EINVAL);
	/* D5: only the listed size is used, wherever the memory begins and ends in a page. */
	CHECK_EQ(mlx5dv_devx_umem_dereg(MUST(dv_umem(
			 buf->data + 5000, 3 * MIB + 7, UMEM_ACCESS, 2 * MIB))),
		 0);
	memory_free(&memory_hugetlb, buf);
}

/* A key may not have larger pages than its umem. */
static void d5_size_is_listed(void)
{
	struct prm_mkey mkey = { .base = 0, .length = 4096 };
	uint32_t key;
	umem_t umem;
	obj_t obj;

	dv_begin();
	mkey.pdn = dv_pdn(dev.pd);
	umem = MUST(dv_umem(scattered(MIB), MIB, UMEM_ACCESS, ~0ULL));
	mkey.umem_id = umem->umem_id;
	for (mkey.log_page = 1; mkey.log_page < 64; mkey.log_page++) {
		context("pages of 2^%u", mkey.log_page);
		obj = dv_try_key(&mkey, &key);
		CHECK_EQ(!!obj, mkey.log_page == 12);
		if (obj)
			CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
		else
			CHECK_EQ(errno, EREMOTEIO);
	}
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
}

/* The call of an older program, without the attribute for page sizes. */
static int reg_without_sizes(void *addr, uint64_t size, uint32_t *handle)
{
	uint64_t address = (uintptr_t)addr;
	struct ib_uverbs_attr *attr;
	uint32_t access = 0, id;
	struct raw raw;
	int err;

	raw_begin(&raw, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG);
	attr = raw_handle(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, 0);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, &address, 8);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, &size, 8);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, &access, 4);
	raw_out(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &id, 4);
	err = raw_call(dev.ctx->cmd_fd, &raw);
	*handle = attr->data;
	return err;
}

/* The older call, which names no page sizes, takes any memory. */
static void d6_legacy(void)
{
	uint32_t handle;
	struct raw raw;
	umem_t umem;

	dv_begin();
	umem = MUST(mlx5dv_devx_umem_reg(dev.ctx, scattered(MIB), MIB, 0));
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	CHECK_EQ(reg_without_sizes(scattered(MIB), MIB, &handle), 0);
	raw_begin(&raw, MLX5_IB_OBJECT_DEVX_UMEM,
		  MLX5_IB_METHOD_DEVX_UMEM_DEREG);
	raw_handle(&raw, MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, handle);
	CHECK_EQ(raw_call(dev.ctx->cmd_fd, &raw), 0);
	CHECK_EQ(vm_pin(0), 0);
}

/* The older call uses the largest page size that is possible. */
static void d6_huge(void)
{
	struct buf *buf = memory_new(&memory_hugetlb, 4 * MIB, 0);
	struct prm_mkey mkey = {
		.rights = PRM_LR | PRM_RR,
		.length = 4 * MIB,
		.log_page = 21,
	};
	uint32_t key;
	umem_t umem;

	dv_begin();
	umem = MUST(mlx5dv_devx_umem_reg(dev.ctx, buf->data, 4 * MIB, 0));
	mkey.pdn = dv_pdn(dev.pd);
	mkey.umem_id = umem->umem_id;
	CHECK_EQ(mlx5dv_devx_obj_destroy(dv_key(&mkey, &key)), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	memory_free(&memory_hugetlb, buf);
}

/* Unknown bits are refused; a dma-buf needs a valid file. */
static void d7_comp_mask(void)
{
	struct buf *buf = buf_new(LEN, 0);
	struct mlx5dv_devx_umem_in in = {
		.addr = buf->data,
		.size = LEN,
		.pgsz_bitmap = ~0ULL,
		.dmabuf_fd = -1, /* ignored without MLX5DV_UMEM_MASK_DMABUF */
	};

	dv_begin();
	CHECK_EQ(mlx5dv_devx_umem_dereg(
			 MUST(mlx5dv_devx_umem_reg_ex(dev.ctx, &in))),
		 0);
	for (in.comp_mask = 2; in.comp_mask; in.comp_mask <<= 1)
		MUST_NOT(mlx5dv_devx_umem_reg_ex(dev.ctx, &in), EOPNOTSUPP);
	in.comp_mask = MLX5DV_UMEM_MASK_DMABUF;
	MUST_NOT(mlx5dv_devx_umem_reg_ex(dev.ctx, &in), EBADF);
}

/* Each access flag: rights of umems are permitted, others are refused. */
static void d11_access(void)
{
	struct buf *buf = buf_new(LEN, 0);
	uint32_t access;

	dv_begin();
	for (access = 1; access; access <<= 1) {
		uint32_t with = access == IBV_ACCESS_REMOTE_WRITE ?
					access | IBV_ACCESS_LOCAL_WRITE :
					access;

		context("access %#x", access);
		if (access & (UMEM_ACCESS | IBV_ACCESS_RELAXED_ORDERING))
			CHECK_EQ(mlx5dv_devx_umem_dereg(MUST(
					 dv_umem(buf->data, LEN, with, ~0ULL))),
				 0);
		else
			MUST_NOT(dv_umem(buf->data, LEN, with, ~0ULL), EINVAL);
	}
	context("%s", "");
	MUST_NOT(dv_umem(buf->data, LEN, IBV_ACCESS_REMOTE_WRITE, ~0ULL),
		 EINVAL);
}

/* Ranges that wrap, are empty, read-only or unmapped are refused, and pin nothing. */
static void d12_memory(void)
{
	uint8_t *map = mmap(NULL, 10 * PAGE, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	dv_begin();
	CHECK(map != MAP_FAILED);
	MUST_NOT(dv_umem(map, 0, 0, ~0ULL), EINVAL);
	MUST_NOT(dv_umem(map + 5, 0, 0, ~0ULL), EINVAL);
	MUST_NOT(dv_umem(map, SIZE_MAX, 0, ~0ULL), EINVAL);
	/* The end is before the start, but rounded to pages it is one page behind. */
	MUST_NOT(dv_umem(map + 5, SIZE_MAX, 0, ~0ULL), EINVAL);
	MUST_NOT(dv_umem((void *)-4096L, 8192, 0, ~0ULL), EINVAL);
	MUST_NOT(dv_umem(NULL, 4096, 0, ~0ULL), EFAULT);
	MUST_NOT(dv_umem(map, 10 * PAGE, IBV_ACCESS_LOCAL_WRITE, ~0ULL),
		 EFAULT);
	CHECK_EQ(
		mlx5dv_devx_umem_dereg(MUST(dv_umem(map, 10 * PAGE, 0, ~0ULL))),
		0);
	CHECK_EQ(munmap(map + 5 * PAGE, PAGE), 0);
	MUST_NOT(dv_umem(map, 10 * PAGE, 0, ~0ULL), EFAULT);
	CHECK_EQ(vm_pin(0), 0);
}

/* Umems are subject to RLIMIT_MEMLOCK. */
static void d12_limit(void)
{
	struct rlimit limit = { 20 * PAGE, 20 * PAGE };
	struct buf *buf = buf_new(100 * PAGE, 0);
	umem_t umem;

	dv_begin();
	need_root();
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	CHECK_EQ(setuid(65534), 0);
	MUST_NOT(dv_umem(buf->data, 21 * PAGE, 0, ~0ULL), ENOMEM);
	umem = MUST(dv_umem(buf->data, 20 * PAGE, 0, ~0ULL));
	MUST_NOT(dv_umem(buf->data, 1, 0, ~0ULL), ENOMEM);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
}

/* VmPin has the pages of each umem until dereg. */
static void d13_pins(void)
{
	struct buf *buf = buf_new(10 * PAGE, 100);
	umem_t a, b;

	dv_begin();
	a = MUST(dv_umem(buf->data, 10 * PAGE, 0, ~0ULL));
	CHECK_EQ(vm_pin(0), 44);
	b = MUST(dv_umem(buf->data, PAGE, UMEM_ACCESS, ~0ULL));
	CHECK_EQ(vm_pin(0), 52);
	CHECK_EQ(mlx5dv_devx_umem_dereg(a), 0);
	CHECK_EQ(vm_pin(0), 8);
	CHECK_EQ(mlx5dv_devx_umem_dereg(b), 0);
	CHECK_EQ(vm_pin(0), 0);
}

/* Leaves objects and umems for the kernel to clean up, in any dependency. */
static void leave_it(void *arg)
{
	struct ibv_context *ctx = device_another();
	struct buf *buf = buf_new(LEN, 5);
	struct region region;

	(void)arg;
	dev.pd = MUST(ibv_alloc_pd(ctx));
	dev.ctx = ctx;
	dv_region(buf, MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL)),
		  &region);
	_exit(0);
}

/* A process exits with umems, of which the harness finds nothing. */
static void d13_exit(void)
{
	dv_begin();
	reap_ok(spawn(leave_it, NULL));
}

/* Calls that fail set errno and leave nothing. */
static void d17_errno(void)
{
	struct buf *buf = buf_new(LEN, 0);

	dv_begin();
	/* Failed calls leak nothing. */
	for (int i = 0; i < 50; i++)
		MUST_NOT(dv_umem(buf->data, LEN, 0, 1), EINVAL);
	CHECK_EQ(vm_pin(0), 0);
}

/* These replace the functions of libibverbs: count calls, and fail if told to. */
static int dontfork_calls, dofork_calls, dontfork_fails;

int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

int ibv_dontfork_range(void *base, size_t size)
{
	(void)base, (void)size;
	dontfork_calls++;
	if (!dontfork_fails)
		return 0;
	errno = dontfork_fails;
	return -1;
}

int ibv_dofork_range(void *base, size_t size)
{
	(void)base, (void)size;
	dofork_calls++;
	return 0;
}

#define CHECK_FORKS(dontfork, dofork)                 \
	do {                                          \
		CHECK_EQ(dontfork_calls, (dontfork)); \
		CHECK_EQ(dofork_calls, (dofork));     \
	} while (0)

/* ibv_dontfork_range() is called for memory of umems, and undone when it ends or fails. */
static void d17_fork(void)
{
	struct buf *buf = buf_new(LEN, 0);
	umem_t umem;

	dv_begin();
	umem = MUST(dv_umem(buf->data, LEN, 0, ~0ULL));
	CHECK_FORKS(1, 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	CHECK_FORKS(1, 1);
	MUST_NOT(dv_umem(buf->data, LEN, 0, 1), EINVAL);
	CHECK_FORKS(2, 2);
	dontfork_fails = EFAULT;
	MUST_NOT(dv_umem(buf->data, LEN, 0, ~0ULL), EFAULT);
	CHECK_FORKS(3, 2);
	CHECK_EQ(vm_pin(0), 0);
}

/* For a dma-buf the address is an offset, and no memory of this process is exempted from fork. */
static void d10_fork(void)
{
	struct mlx5dv_devx_umem_in in = {
		.size = 4 * PAGE,
		.pgsz_bitmap = PAGE,
		.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
	};
	umem_t umem;
	int i;

	dv_begin();
	dontfork_fails = EFAULT;
	for (i = 0; i < DMABUF_KINDS; i++) {
		if (!dmabuf_there(&dmabuf_kinds[i]))
			continue;
		in.dmabuf_fd = dmabuf_new(&dmabuf_kinds[i], in.size).fd;
		umem = MUST(mlx5dv_devx_umem_reg_ex(dev.ctx, &in));
		CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	}
	if (!in.dmabuf_fd)
		skip("no exporter of dma-bufs");
	CHECK_FORKS(0, 0);
}

/* A umem that is exported and imported has the same number. */
static void d19_export(void)
{
#ifdef HAVE_EXPORT
	struct buf *buf = buf_new(LEN, 0);
	struct mlx5dv_export_sizes sizes;
	umem_t umem, again;
	uint8_t data[256];

	dv_begin();
	mlx5dv_get_export_sizes(&sizes);
	CHECK(sizes.devx_umem_attrs_size &&
	      sizes.devx_umem_attrs_size <= sizeof(data));
	umem = MUST(dv_umem(buf->data, LEN, 0, ~0ULL));
	CHECK_EQ(mlx5dv_devx_umem_export(umem, data), 0);
	again = MUST(mlx5dv_devx_umem_import(dev.ctx, data));
	CHECK(again != umem);
	CHECK_EQ(again->umem_id, umem->umem_id);
	mlx5dv_devx_umem_unimport(again);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	CHECK_EQ(vm_pin(0), 0);
#else
	skip("this libmlx5 exports nothing");
#endif
}

/* Numbers of umems and domains mean nothing in another context. */
static void d20_other_context(void)
{
	struct ibv_context *mine = dev.ctx, *other = device_another();
	struct buf *buf = buf_new(LEN, 0);
	struct prm_mkey mkey = { .base = 0, .length = 100 };
	struct ibv_pd *pd = MUST(ibv_alloc_pd(other));
	uint32_t key, pdn;
	umem_t umem;
	obj_t obj;

	dv_begin();
	umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
	pdn = dv_pdn(dev.pd);
	dev.ctx = other;
	mkey.umem_id = umem->umem_id;
	mkey.pdn = dv_pdn(pd);
	dv_key_refused(&mkey, PRM_NO_UMEM);
	dev.ctx = mine;
	dv_key_refused(&mkey, PRM_NO_PD);
	mkey.pdn = pdn;
	obj = dv_key(&mkey, &key);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(other), 0);
}

static const struct test tests[] = {
	TEST(d1_reg, "D1-an-object-with-an-id-of-its-own"),
	TEST(d2_reg_ex, "D2-the-same-from-a-structure"),
	TEST(d3_dereg, "D3-after-dereg-the-id-means-nothing"),
	TEST(d4_page_sizes, "D4-no-listed-page-size-fits"),
	TEST(d4_huge_pages, "D4-D5-only-huge-pages"),
	TEST(d5_size_is_listed, "D5-the-size-is-one-of-those-listed"),
	TEST(d6_legacy, "D6-the-older-call"),
	TEST(d6_huge, "D6-the-older-call-on-huge-pages"),
	TEST(d7_comp_mask, "D7-D8-comp-mask"),
	TEST(d11_access, "D11-access"),
	TEST(d12_memory, "D12-memory-that-cannot-be-pinned"),
	TEST(d12_limit, "D12-the-limit-on-pinned-memory"),
	TEST(d13_pins, "D13-pins-are-counted"),
	TEST(d13_exit, "D13-exit-releases-everything"),
	TEST(d10_fork, "D10-a-dma-buf-is-no-memory-to-keep-from-fork"),
	TEST(d17_fork, "D17-memory-is-kept-from-fork-while-registered"),
	TEST(d17_errno, "D17-failure-sets-errno-and-leaves-nothing"),
	TEST(d19_export, "D19-export-and-import"),
	TEST(d20_other_context, "D20-ids-are-good-for-one-context"),
};

HARNESS_MAIN("umems of mlx5dv", tests)
