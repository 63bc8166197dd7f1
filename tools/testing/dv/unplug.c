// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A device is removed while pinned memory of mlx5dv is in use: a region with data direct, a key
 * over a umem of this process or of a dma-buf (items C10, D13); or while a thread stores to a
 * doorbell page (VT6). Traffic ends, nothing stays pinned, and the device can be added again.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "dmabuf.h"
#include "keys.h"
#include "pins.h"
#include "unplug.h"

static struct dmabuf dmabuf;
static umem_t umem;
static obj_t obj;

static void key_over(struct region *target, struct buf *buf, umem_t memory)
{
	umem = MUST(memory);
	obj = dv_region(buf, umem, target);
}

static void make_umem(struct region *target)
{
	struct buf *buf = buf_new(UNPLUG_LENGTH, 0);

	key_over(target, buf,
		 dv_umem(buf->data, UNPLUG_LENGTH, UMEM_ACCESS, ~0ULL));
}

static void end_umem(struct region *target)
{
	(void)target;
	CHECK_EQ(vm_pin(0), 0);
	mlx5dv_devx_obj_destroy(obj);
	mlx5dv_devx_umem_dereg(umem);
}

static void make_dmabuf_umem(struct region *target)
{
	struct mlx5dv_devx_umem_in in = {
		.size = UNPLUG_LENGTH,
		.access = UMEM_ACCESS,
		.pgsz_bitmap = PAGE,
		.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
	};

	dmabuf = dmabuf_own(UNPLUG_LENGTH, 0);
	in.dmabuf_fd = dmabuf.fd;
	key_over(target, dmabuf_view(&dmabuf, 0, UNPLUG_LENGTH),
		 mlx5dv_devx_umem_reg_ex(dev.ctx, &in));
}

static void end_dmabuf_umem(struct region *target)
{
	dmabuf_check_unused(&dmabuf);
	end_umem(target);
}

/* The device goes while a key of a umem is used. */
static void d13_umem(void)
{
	dv_begin();
	unplug(&(struct unplug_kind){ make_umem, NULL, end_umem });
}

/* The device goes while a key of a dma-buf's umem is used. */
static void d13_dmabuf(void)
{
	dv_begin();
	need_exporter();
	unplug(&(struct unplug_kind){ make_dmabuf_umem, NULL,
				      end_dmabuf_umem });
}

#ifdef HAVE_DMABUF_MR
static void make_direct(struct region *target)
{
	struct ibv_mr *mr;

	dmabuf = dmabuf_own(UNPLUG_LENGTH, 0);
	mr = MUST(mlx5dv_reg_dmabuf_mr(dev.pd, 0, UNPLUG_LENGTH, 0, dmabuf.fd,
				       ALL_ACCESS,
				       MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT));
	*target = region_of(dmabuf_view(&dmabuf, 0, UNPLUG_LENGTH), mr, 0);
}

static void end_direct(struct region *target)
{
	dmabuf_check_unused(&dmabuf);
	ibv_dereg_mr(target->mr);
}

/* The device goes while a region by data direct is used, and all can be freed afterwards. */
static void c10_direct(void)
{
	dv_begin();
	need_exporter();
	unplug(&(struct unplug_kind){ make_direct, NULL, end_direct });
}
#endif

/* A doorbell page, mapped or not, and a place in it. */
enum { BELL_AT = 0x600 };

static struct mlx5dv_devx_uar *uar;

static void make_page(struct region *target)
{
	*target = region_new(UNPLUG_LENGTH, 0, ALL_ACCESS);
	uar = MUST(mlx5dv_devx_alloc_uar(dev.ctx, MLX5DV_UAR_ALLOC_TYPE_NC));
}

static void store(struct region *target)
{
	uint64_t *at = (uint64_t *)((uint8_t *)uar->base_addr + BELL_AT);
	uint64_t value = rnd();

	(void)target;
	if (rnd_below(2))
		CHECK_EQ(madvise(uar->base_addr, PAGE, MADV_DONTNEED), 0);
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
	CHECK_EQ(__atomic_load_n(at, __ATOMIC_ACQUIRE), value);
}

static void end_page(struct region *target)
{
	store(target);
	mlx5dv_devx_free_uar(uar);
	ibv_dereg_mr(target->mr);
}

/* The device goes while a doorbell page is stored to: no signal, and it can be freed. */
static void vt6_page(void)
{
	dv_begin();
	unplug(&(struct unplug_kind){ make_page, store, end_page });
}

static const struct test tests[] = {
#ifdef HAVE_DMABUF_MR
	LONG_TEST(c10_direct, "C10-the-device-goes-data-direct", 90),
#endif
	LONG_TEST(d13_umem, "D13-the-device-goes-umems", 90),
	LONG_TEST(d13_dmabuf, "D13-the-device-goes-umems-of-dma-bufs", 90),
	LONG_TEST(vt6_page, "VT6 a doorbell page of a device that goes", 90),
};

HARNESS_MAIN("Devices removed under what mlx5dv made", tests)
