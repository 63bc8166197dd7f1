// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mlx5dv_reg_dmabuf_mr(3), mlx5dv_get_data_direct_sysfs_path(3), and umems of dma-bufs,
 * item by item (C1 to C12, D8 and D9).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dmabuf.h"
#include "keys.h"
#include "orders.h"
#include "pins.h"

enum {
	SIZE = 96 * 4096,
	AT = 3 * 4096 + 1234,
	LEN = 200011,
	WRITABLE = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
};

/* Runs the function for each kind of exporter there is; skips if there is none. */
static void each_kind(const void *with)
{
	void (*body)(struct dmabuf_kind *kind) = with;
	int i, seen = 0;

	dv_begin();
	for (i = 0; i < DMABUF_KINDS; i++) {
		if (!dmabuf_there(&dmabuf_kinds[i]))
			continue;
		context("%s", dmabuf_kinds[i].name);
		body(&dmabuf_kinds[i]);
		seen++;
	}
	context("%s", "");
	if (!seen)
		skip("no exporter of dma-bufs");
}

static umem_t umem_of(int fd, uint64_t offset, size_t size, uint32_t access)
{
	struct mlx5dv_devx_umem_in in = {
		.addr = (void *)(uintptr_t)offset,
		.size = size,
		.access = access,
		.pgsz_bitmap = 4096,
		.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
		.dmabuf_fd = fd,
	};

	return mlx5dv_devx_umem_reg_ex(dev.ctx, &in);
}

static void umem_traffic(struct dmabuf_kind *kind)
{
	struct dmabuf dmabuf = dmabuf_new(kind, SIZE);
	struct region other = region_new(LEN, 5, ALL_ACCESS), region;
	struct prm_mkey mkey = { .base = AT % PAGE, .length = LEN };
	struct link link;
	uint32_t key;
	umem_t umem;
	obj_t obj;

	link_make(&link, NULL);
	umem = MUST(umem_of(dmabuf.fd, AT, LEN, UMEM_ACCESS));
	mkey.pdn = dv_pdn(dev.pd);
	mkey.umem_id = umem->umem_id;
	obj = dv_key(&mkey, &key);
	region = (struct region){ .buf = dmabuf_view(&dmabuf, AT, LEN),
				  .base = mkey.base,
				  .lkey = key,
				  .rkey = key };
	exchange(&link, &other, &region);
	exchange(&link, &region, &other);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), EBUSY);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	region_free(&other);
	link_free(&link);
}

static void umem_bounds(struct dmabuf_kind *kind)
{
	struct dmabuf dmabuf = dmabuf_new(kind, SIZE);
	umem_t umem;

	umem = MUST(umem_of(dmabuf.fd, 0, SIZE, 0));
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	MUST_NOT(umem_of(dmabuf.fd, 0, SIZE + 1, 0), EINVAL);
	MUST_NOT(umem_of(dmabuf.fd, SIZE, 1, 0), EINVAL);
	MUST_NOT(umem_of(dmabuf.fd, -4096ULL, 8192, 0), EINVAL);
	MUST_NOT(umem_of(dmabuf.fd, 0, 0, 0), EINVAL);
	MUST_NOT(umem_of(dmabuf.fd, 0, SIZE, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	CHECK_EQ(vm_pin(0), 0);
}

/* Umems outside of a dma-buf, and of files that are none, are refused. */
static void d8_bounds(void)
{
	each_kind(umem_bounds);
	MUST_NOT(umem_of(memfd_create("memory", 0), 0, 4096, 0), EINVAL);
	MUST_NOT(umem_of(12345, 0, 4096, 0), EBADF);
	MUST_NOT(umem_of(-1, 0, 4096, 0), EBADF);
	MUST_NOT(umem_of(-2, 0, 4096, 0), EBADF);
}

/* A umem pins its dma-buf once, and errors of the exporter are returned and leave nothing. */
static void d9_pinned(void)
{
	static const int errors[] = { ENOSPC, EBUSY, ENOMEM, EAGAIN };
	struct dmabuf dmabuf;
	size_t i;
	umem_t umem;
	int step;

	dv_begin();
	need_exporter();
	dmabuf = dmabuf_own(SIZE, 0);
	umem = MUST(umem_of(dmabuf.fd, 0, SIZE, UMEM_ACCESS));
	CHECK_EQ(dmabuf_pins(&dmabuf), 1 + dmabuf_pins_mapped());
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	dmabuf_check_unused(&dmabuf);
	/*
	 * If the buffer cannot be pinned, creating a umem fails with the errno of the exporter,
	 * also if we give that errno another meaning elsewhere.
	 */
	for (step = 0; step < EXPORTER_STEPS; step++) {
		for (i = 0; i < ARRAY_SIZE(errors); i++) {
			context("step %d, errno %d", step, errors[i]);
			dmabuf_fail(&dmabuf, step, errors[i]);
			MUST_NOT(umem_of(dmabuf.fd, 0, SIZE, UMEM_ACCESS),
				 errors[i]);
			dmabuf_fail(&dmabuf, step, 0);
			dmabuf_check_unused(&dmabuf);
		}
	}
	context("%s", "");
	umem = MUST(umem_of(dmabuf.fd, 0, SIZE, UMEM_ACCESS));
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	dmabuf = dmabuf_own(SIZE, EXPORTER_NO_PIN);
	MUST_NOT(umem_of(dmabuf.fd, 0, SIZE, UMEM_ACCESS), EOPNOTSUPP);
	dmabuf_check_unused(&dmabuf);
	dmabuf = dmabuf_own(SIZE, EXPORTER_NO_PAGES);
	MUST_NOT(umem_of(dmabuf.fd, 0, SIZE, UMEM_ACCESS), EOPNOTSUPP);
	dmabuf_check_unused(&dmabuf);
	dmabuf = dmabuf_own(SIZE, EXPORTER_NO_CPU);
	MUST_NOT(umem_of(dmabuf.fd, 0, SIZE, UMEM_ACCESS), EOPNOTSUPP);
	dmabuf_check_unused(&dmabuf);
	dmabuf = dmabuf_own(SIZE, EXPORTER_SHORT);
	MUST_NOT(umem_of(dmabuf.fd, 0, SIZE, UMEM_ACCESS), EINVAL);
	dmabuf_check_unused(&dmabuf);
}

#ifdef HAVE_DMABUF_MR
static void region_traffic(struct dmabuf_kind *kind)
{
	struct dmabuf dmabuf = dmabuf_new(kind, SIZE);
	struct region other = region_new(LEN, 5, ALL_ACCESS), region;
	struct link link;
	struct ibv_mr *mr;
	int direct;

	link_make(&link, NULL);
	for (direct = 0; direct < 2; direct++) {
		uint64_t at = direct ? 4096 : AT;

		context("%s, data direct %d", kind->name, direct);
		mr = MUST(mlx5dv_reg_dmabuf_mr(dev.pd, at, LEN, at, dmabuf.fd,
					       WRITABLE, direct));
		CHECK_EQ((uintptr_t)mr->addr, at);
		CHECK_EQ(mr->length, LEN);
		CHECK(mr->pd == dev.pd && mr->context == dev.ctx);
		region = region_of(dmabuf_view(&dmabuf, at, LEN), mr, at);
		exchange(&link, &other, &region);
		exchange(&link, &region, &other);
		errno = 0;
		CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				      NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
		CHECK_EQ(errno, EINVAL);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	}
	region_free(&other);
	link_free(&link);
}

/* Flags other than the five that a dma-buf region may have are refused (C7). */
static void access_flags(int fd, int direct)
{
	const uint32_t fine = WRITABLE | IBV_ACCESS_RELAXED_ORDERING;
	uint32_t bit;

	for (bit = 1; bit; bit <<= 1) {
		context("data direct %d, access %#x", direct, bit);
		if (bit & ~fine)
			MUST_NOT(mlx5dv_reg_dmabuf_mr(dev.pd, 0, SIZE, 0, fd,
						      bit, direct),
				 EINVAL);
		else
			CHECK_EQ(
				ibv_dereg_mr(MUST(mlx5dv_reg_dmabuf_mr(
					dev.pd, 0, SIZE, 0, fd,
					bit | IBV_ACCESS_LOCAL_WRITE, direct))),
				0);
	}
	MUST_NOT(mlx5dv_reg_dmabuf_mr(dev.pd, 0, SIZE, 0, fd,
				      IBV_ACCESS_REMOTE_WRITE, direct),
		 EINVAL);
}

static void region_flags(struct dmabuf_kind *kind)
{
	struct dmabuf dmabuf = dmabuf_new(kind, SIZE);
	unsigned int flag;
	int direct;

	for (flag = 2; flag; flag <<= 1)
		MUST_NOT(mlx5dv_reg_dmabuf_mr(dev.pd, 0, SIZE, 0, dmabuf.fd, 0,
					      flag),
			 EINVAL);
	for (direct = 0; direct < 2; direct++) {
		access_flags(dmabuf.fd, direct);
		context("%s, data direct %d", kind->name, direct);
		MUST_NOT(mlx5dv_reg_dmabuf_mr(dev.pd, 5, 100, 6, dmabuf.fd, 0,
					      direct),
			 EINVAL);
		MUST_NOT(mlx5dv_reg_dmabuf_mr(dev.pd, 0, SIZE + 1, 0, dmabuf.fd,
					      0, direct),
			 EINVAL);
		MUST_NOT(mlx5dv_reg_dmabuf_mr(dev.pd, -4096ULL, 8192, 0,
					      dmabuf.fd, 0, direct),
			 EINVAL);
		MUST_NOT(mlx5dv_reg_dmabuf_mr(dev.pd, 0, 0, 0, dmabuf.fd, 0,
					      direct),
			 EINVAL);
		MUST_NOT(mlx5dv_reg_dmabuf_mr(dev.pd, 0, SIZE, 0, 12345, 0,
					      direct),
			 EBADF);
		MUST_NOT(mlx5dv_reg_dmabuf_mr(dev.pd, 0, SIZE, 0, -1, 0,
					      direct),
			 EBADF);
		MUST_NOT(mlx5dv_reg_dmabuf_mr(dev.pd, 0, SIZE, 0,
					      memfd_create("memory", 0), 0,
					      direct),
			 EINVAL);
	}
	/* The offset in the page may differ, but not with data direct (C6). */
	MUST_NOT(mlx5dv_reg_dmabuf_mr(dev.pd, 5, 100, 5, dmabuf.fd, 0, 1),
		 EOPNOTSUPP);
	CHECK_EQ(ibv_dereg_mr(MUST(mlx5dv_reg_dmabuf_mr(dev.pd, 5, 100, 5,
							dmabuf.fd, 0, 0))),
		 0);
}

/* A plain region is not pinned more than once mapped; one with data direct is pinned once. */
static void c10_pinned(void)
{
	struct dmabuf dmabuf;
	struct ibv_mr *mr;

	dv_begin();
	need_exporter();
	dmabuf = dmabuf_own(SIZE, 0);
	mr = MUST(mlx5dv_reg_dmabuf_mr(dev.pd, 0, SIZE, 0, dmabuf.fd, WRITABLE,
				       0));
	CHECK_EQ(dmabuf_pins(&dmabuf), dmabuf_pins_mapped());
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	dmabuf_check_unused(&dmabuf);
	mr = MUST(mlx5dv_reg_dmabuf_mr(dev.pd, 0, SIZE, 0, dmabuf.fd, WRITABLE,
				       1));
	CHECK_EQ(dmabuf_pins(&dmabuf), 1 + dmabuf_pins_mapped());
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	dmabuf_check_unused(&dmabuf);
	dmabuf_fail(&dmabuf, EXPORTER_PIN, ENOSPC);
	MUST_NOT(mlx5dv_reg_dmabuf_mr(dev.pd, 0, SIZE, 0, dmabuf.fd, 0, 1),
		 ENOSPC);
	dmabuf_check_unused(&dmabuf);
}

static struct region region_pinned(struct dmabuf *dmabuf)
{
	return region_of(dmabuf_view(dmabuf, 0, LEN),
			 MUST(mlx5dv_reg_dmabuf_mr(dev.pd, 0, LEN, 0,
						   dmabuf->fd, WRITABLE, 1)),
			 0);
}

/* A pinned buffer can be revoked; nothing touches it afterwards. */
static void c10_revoked(void)
{
	struct region other, region;
	struct dmabuf dmabuf;
	struct link link;

	dv_begin();
	need_exporter();
	dmabuf = dmabuf_own(SIZE, EXPORTER_REVOCABLE);
	other = region_new(LEN, 5, ALL_ACCESS);
	link_make(&link, NULL);
	region = region_pinned(&dmabuf);
	exchange(&link, &other, &region);
	exchange(&link, &region, &other);
	CHECK_EQ(dmabuf_pins(&dmabuf), 1 + dmabuf_pins_mapped());
	dmabuf_revoke(&dmabuf);
	CHECK_EQ(dmabuf_pins(&dmabuf), 0);
	expect(rdma(&link.a, IBV_WR_RDMA_WRITE, sge_of(&other, 0, LEN), 0,
		    region.rkey),
	       IBV_WC_REM_ACCESS_ERR);
	link_renew(&link);
	expect(rdma(&link.a, IBV_WR_RDMA_READ, sge_of(&region, 0, LEN),
		    other.base, other.rkey),
	       IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(dmabuf_stat(&dmabuf).touched, 0);
	CHECK_EQ(dmabuf_stat(&dmabuf).late, 0);
	/* The region still exists after the revocation, and can be deregistered. */
	CHECK_EQ(ibv_dereg_mr(region.mr), 0);
	dmabuf_check_unused(&dmabuf);
}

/* Pages of a pinned buffer could not come again, so no order of root takes them away. */
static void c10_not_by_order(void)
{
	struct region other, region;
	struct dmabuf dmabuf;
	struct link link;

	dv_begin();
	need_exporter();
	orders_begin();
	dmabuf = dmabuf_own(SIZE, 0);
	other = region_new(LEN, 5, ALL_ACCESS);
	link_make(&link, NULL);
	region = region_pinned(&dmabuf);
	CHECK_EQ(orders_invalidate("%u", region.rkey), EOPNOTSUPP);
	exchange(&link, &other, &region);
	order("invalidate number %u", region.rkey);
	exchange(&link, &other, &region);
	exchange(&link, &region, &other);
	orders_over(0);
	CHECK_EQ(ibv_dereg_mr(region.mr), 0);
	dmabuf_check_unused(&dmabuf);
}

/* The path of the data direct device exists, and is returned only if there is room for it. */
static void c12_path(void)
{
	char path[4096] = "", sys[4200];
	struct stat info;
	size_t length;

	dv_begin();
	CHECK_EQ(mlx5dv_get_data_direct_sysfs_path(dev.ctx, path, sizeof(path)),
		 0);
	snprintf(sys, sizeof(sys), "/sys%s", path);
	CHECK_EQ(stat(sys, &info), 0);
	for (length = 0; length <= strlen(path); length++)
		CHECK_EQ(mlx5dv_get_data_direct_sysfs_path(dev.ctx, sys,
							   length),
			 ENOSPC);
	CHECK_EQ(mlx5dv_get_data_direct_sysfs_path(dev.ctx, sys, length), 0);
	CHECK(!strcmp(sys, path));
}
#endif

static const struct test tests[] = {
#ifdef HAVE_DMABUF_MR
	TEST_WITH(each_kind, region_traffic,
		  "C1-C3-C8-C11-regions-of-both-kinds"),
	TEST_WITH(each_kind, region_flags, "C4-C5-C6-C7-flags-and-bounds"),
	TEST(c10_pinned, "C2-C10-one-moves-the-other-is-pinned"),
	TEST(c10_revoked, "C10-one-that-is-pinned-is-taken-away"),
	TEST(c10_not_by_order, "C10-nor-by-order"),
	TEST(c12_path, "C12-where-the-other-device-is"),
#endif
	TEST_WITH(each_kind, umem_traffic, "D8-umems-of-dma-bufs"),
	TEST(d8_bounds, "D8-bounds-and-descriptors"),
	TEST(d9_pinned, "D9-pinned-exactly-once"),
};

ORDERS_MAIN("dma-bufs by mlx5dv", tests)
