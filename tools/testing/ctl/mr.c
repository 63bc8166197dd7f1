// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * pinionctl mr list and mr show: each value for each kind of region is right (items CT1 to
 * CT19).
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "dmabuf.h"
#include "tool.h"
#include "window.h"

static const char *show(uint32_t key)
{
	return tool_says("mr show %s key %#x", device_name(), key);
}

/* Check the values that every device has. */
static void common(const char *out, const struct ibv_mr *mr)
{
	CHECK_EQ(tool_number(out, "lkey"), mr->lkey);
	CHECK_EQ(tool_number(out, "rkey"), mr->rkey);
	CHECK_EQ(tool_number(out, "length"), mr->length);
	CHECK_EQ(tool_number(out, "pid"), getpid());
	tool_is(out, "comm", program_invocation_short_name);
}

static void is_one_of_ours(void)
{
	need_root();
	if (!dev.pinion)
		skip("other drivers tell less");
}

static uint64_t blocks_of(uint64_t address, uint64_t length, uint64_t size)
{
	return (address + length - 1) / size - address / size + 1;
}

/* Check that the table has as many blocks as the memory needs, whatever their size. */
static void table_holds(const char *out, const void *memory, size_t length)
{
	uint64_t size = tool_number(out, "block_size");

	CHECK(size >= PAGE && !(size & (size - 1)));
	CHECK(tool_number(out, "entries") >=
	      blocks_of((uintptr_t)memory, length, size));
	CHECK(tool_number(out, "entries") <= blocks_of(0, length, size) + 1);
	CHECK(tool_number(out, "table_bytes") >=
	      8 * tool_number(out, "entries"));
}

/* Each row of a pinned region against the region. */
static void ct1_pinned(void)
{
	struct region r;
	const char *out;

	is_one_of_ours();
	r = region_new(3 * PAGE, 123, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	out = show(r.lkey);
	common(out, r.mr);
	tool_is(out, "kind", "pinned");
	tool_is(out, "state", "valid");
	tool_is(out, "gate", "open");
	tool_is(out, "access",
		"local_write,remote_write,remote_read,remote_atomic,mw_bind");
	CHECK_EQ(tool_number(out, "address"), (uintptr_t)r.buf->data);
	CHECK_EQ(tool_number(out, "iova"), (uintptr_t)r.buf->data);
	CHECK_EQ(tool_number(out, "pinned_pages"), 4);
	CHECK_EQ(tool_number(out, "windows"), 0);
	CHECK_EQ(tool_number(out, "generation"), 0);
	table_holds(out, r.buf->data, 3 * PAGE);
	CHECK(!tool_value(out, "exporter"));
	CHECK(!tool_value(out, "page_faults"));
	region_free(&r);
	CHECK_EQ(tool("mr show %s key %#x", device_name(), r.lkey).status, 1);
}

/* Address, iova and rights of regions with an iova, zero-based, and without rights. */
static void ct2_iova(void)
{
	struct buf *buf = buf_new(100, 7);
	struct ibv_mr *mr;
	const char *out;

	is_one_of_ours();
	mr = MUST(ibv_reg_mr_iova(dev.pd, buf->data, 100, 0x123450007,
				  IBV_ACCESS_LOCAL_WRITE));
	out = show(mr->lkey);
	CHECK_EQ(tool_number(out, "address"), (uintptr_t)buf->data);
	CHECK_EQ(tool_number(out, "iova"), 0x123450007);
	CHECK_EQ(tool_number(out, "entries"), 1);
	CHECK_EQ(tool_number(out, "pinned_pages"), 1);
	tool_is(out, "access", "local_write");
	ibv_dereg_mr(mr);
	mr = MUST(ibv_reg_mr(dev.pd, buf->data, 100, IBV_ACCESS_ZERO_BASED));
	out = show(mr->lkey);
	CHECK_EQ(tool_number(out, "address"), (uintptr_t)buf->data);
	CHECK_EQ(tool_number(out, "iova"), 0);
	tool_is(out, "access", "zero_based");
	ibv_dereg_mr(mr);
	mr = MUST(ibv_reg_mr(dev.pd, buf->data, 100, 0));
	tool_is(show(mr->lkey), "access", "none");
	ibv_dereg_mr(mr);
}

/* The rows follow a change of memory and rights, and the generation counts it. */
static void ct3_rereg(void)
{
	struct region r;
	struct buf *other = buf_new(5 * PAGE, 0);
	const char *out;

	is_one_of_ours();
	r = region_new(PAGE, 0, ALL_ACCESS);
	region_rereg(&r,
		     IBV_REREG_MR_CHANGE_TRANSLATION |
			     IBV_REREG_MR_CHANGE_ACCESS,
		     NULL, other, IBV_ACCESS_LOCAL_WRITE);
	out = show(r.lkey);
	common(out, r.mr);
	CHECK_EQ(tool_number(out, "address"), (uintptr_t)other->data);
	CHECK_EQ(tool_number(out, "pinned_pages"), 5);
	CHECK_EQ(tool_number(out, "generation"), 1);
	tool_is(out, "access", "local_write");
	table_holds(out, other->data, 5 * PAGE);
	region_free(&r);
}

/* The number of bound windows. */
static void ct4_windows(void)
{
	struct link link;
	struct region r;
	struct ibv_mw *mw;

	is_one_of_ours();
	r = region_new(2 * PAGE, 0, BINDABLE);
	link_make(&link, NULL);
	mw = window_new(IBV_MW_TYPE_1);
	CHECK_EQ(tool_number(show(r.lkey), "windows"), 0);
	CHECK_EQ(window_bind(&link.a, mw, window_part(&r, 0, PAGE, REMOTE_ALL))
			 .status,
		 IBV_WC_SUCCESS);
	CHECK_EQ(tool_number(show(r.lkey), "windows"), 1);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(tool_number(show(r.lkey), "windows"), 0);
}

/* Each row of a region on demand, before and after pages come and go. */
static void ct5_on_demand(void)
{
	struct ibv_sge sge;
	struct region r;
	const char *out;

	is_one_of_ours();
	need_odp();
	r = region_new(10 * PAGE, 0, ODP_ALL);
	out = show(r.lkey);
	common(out, r.mr);
	tool_is(out, "kind", "on-demand");
	CHECK_EQ(tool_number(out, "address"), (uintptr_t)r.buf->data);
	CHECK_EQ(tool_number(out, "block_size"), PAGE);
	CHECK_EQ(tool_number(out, "entries"), 0);
	CHECK_EQ(tool_number(out, "pinned_pages"), 0);
	CHECK_EQ(tool_number(out, "children"), 0);

	buf_fill(r.buf);
	sge = (struct ibv_sge){ .addr = (uintptr_t)r.buf->data + 2 * PAGE,
				.length = 3 * PAGE,
				.lkey = r.lkey };
	CHECK_EQ(ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
		 0);
	out = show(r.lkey);
	CHECK_EQ(tool_number(out, "entries"), 3);
	CHECK_EQ(tool_number(out, "page_prefetch"), 3);
	CHECK(tool_number(out, "children"));
	CHECK(tool_number(out, "table_bytes") >= 80);

	buf_drop(r.buf, 3 * PAGE, PAGE);
	out = show(r.lkey);
	CHECK_EQ(tool_number(out, "entries"), 2);
	CHECK_EQ(tool_number(out, "page_invalidations"), 1);
}

/* Each row of an implicit region. */
static void ct6_implicit(void)
{
	struct ibv_mr *mr;
	const char *out;

	is_one_of_ours();
	need_odp();
	mr = MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX,
			     ALL_ACCESS | IBV_ACCESS_ON_DEMAND));
	out = show(mr->lkey);
	tool_is(out, "kind", "on-demand");
	CHECK_EQ(tool_number(out, "address"), 0);
	CHECK_EQ(tool_number(out, "entries"), 0);
	CHECK_EQ(tool_number(out, "length"), SIZE_MAX);
}

/* Each row of a region of a dma-buf, before and after it moves. */
static void ct7_dmabuf(void)
{
	struct dmabuf buf;
	struct region r;
	const char *out;

	is_one_of_ours();
	need_exporter();
	buf = dmabuf_own(8 * PAGE, 0);
	r = dmabuf_region(&buf, PAGE, 4 * PAGE, 0x10001000, ALL_ACCESS);
	out = show(r.lkey);
	common(out, r.mr);
	tool_is(out, "kind", "dma-buf");
	CHECK_EQ(tool_number(out, "address"), PAGE);
	CHECK_EQ(tool_number(out, "iova"), 0x10001000);
	CHECK(strstr(tool_value(out, "exporter"), "exporter"));
	/* The buffer may not be mapped before the first access. */
	CHECK(!strcmp(tool_value(out, "mapped"), "yes") ||
	      !tool_number(out, "entries"));
	CHECK_EQ(dmabuf_move(&buf, 0), 0);
	out = show(r.lkey);
	tool_is(out, "mapped", "no");
	CHECK_EQ(tool_number(out, "entries"), 0);
	CHECK_EQ(tool_number(out, "page_invalidations") > 0, 1);
}

/* Each row of a region of device memory. */
static void ct8_device(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 8192 };
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	const char *out;

	is_one_of_ours();
	dm = MUST(ibv_alloc_dm(dev.ctx, &attr));
	mr = MUST(ibv_reg_dm_mr(dev.pd, dm, 4096, 4096,
				ALL_ACCESS | IBV_ACCESS_ZERO_BASED));
	out = show(mr->lkey);
	tool_is(out, "kind", "device");
	CHECK_EQ(tool_number(out, "length"), 4096);
	CHECK_EQ(tool_number(out, "pinned_pages"), 0);
	CHECK_EQ(tool_number(out, "iova"), 0);
	CHECK(tool_number(out, "entries"));
}

/* Without rights, keys and addresses are not shown. */
static void ct9_no_rights(void *arg)
{
	const uint32_t *mrn = arg;
	const char *out;

	CHECK_EQ(setresuid(65534, 65534, 65534), 0);
	out = tool_says("mr show %s mrn %u", device_name(), *mrn);
	CHECK_EQ(tool_number(out, "length"), 3 * PAGE);
	CHECK(!tool_value(out, "lkey"));
	CHECK(!tool_value(out, "rkey"));
	CHECK(!tool_value(out, "address"));
	CHECK(!tool_value(out, "iova"));
	CHECK(!tool_value(out, "entries"));
	CHECK_EQ(tool("mr check %s", device_name()).status, 2);
	CHECK_EQ(tool("mr map %s 0x100", device_name()).status, 2);
}

/* Without rights a user is told no keys and no addresses. */
static void ct9_others(void)
{
	struct region r;
	uint32_t mrn;
	const char *out;

	is_one_of_ours();
	r = region_new(3 * PAGE, 0, ALL_ACCESS);
	out = show(r.lkey);
	CHECK_EQ(sscanf(out, "%*s mrn %u", &mrn), 1);
	reap_ok(spawn(ct9_no_rights, &mrn));
}

/* mr list prints all regions, or those that are asked for. */
static void ct10_list(void)
{
	enum { MANY = 40 };
	struct region r[MANY];
	char key[16];
	const char *out;
	int i;

	need_root();
	for (i = 0; i < MANY; i++)
		r[i] = region_new(100 + i, i, i % 2 ? ALL_ACCESS : 0);
	out = tool_says("mr list %s pid %d", device_name(), getpid());
	CHECK_EQ(tool_lines(out), MANY + 1);
	for (i = 0; i < MANY; i++) {
		snprintf(key, sizeof(key), " %#x ", r[i].lkey);
		if (!strstr(out, key))
			FAIL("no %s in: %s", key, out);
	}
	if (dev.pinion)
		CHECK_EQ(tool_lines(tool_says("mr list %s pid %d kind pinned",
					      device_name(), getpid())),
			 MANY + 1);
	CHECK_EQ(tool_lines(tool_says("mr list %s length 107", device_name())),
		 2);
	for (i = 0; i < MANY; i++)
		region_free(&r[i]);
	CHECK_EQ(tool("mr list %s pid %d", device_name(), getpid()).status, 1);
}

/* List so many regions that netlink needs several messages. */
static void ct11_very_many(void)
{
	enum { MANY = 3000 };
	struct buf *buf = buf_new(PAGE, 0);
	const char *out;
	int i;

	is_one_of_ours();
	for (i = 0; i < MANY; i++)
		MUST(ibv_reg_mr(dev.pd, buf->data, 1 + i % PAGE, 0));
	out = tool_says("mr list %s pid %d kind pinned", device_name(),
			getpid());
	CHECK_EQ(tool_lines(out), MANY + 1);
}

/* Wrong calls end with exit status 2. */
static void ct12_wrong(void)
{
	CHECK_EQ(tool("mr list nobody").status, 2);
	CHECK_EQ(tool("mr what").status, 2);
	CHECK_EQ(tool("what").status, 2);
	CHECK_EQ(tool("--what").status, 2);
	CHECK_EQ(tool("%s", "").status, 2);
	CHECK_EQ(tool("mr map").status, 2);
	CHECK_EQ(tool("mr map %s 0", device_name()).status, 2);
	CHECK_EQ(tool("mr map %s 12x", device_name()).status, 2);
	CHECK_EQ(tool("mr list >/dev/full").status, 2);
	CHECK_EQ(tool("--watch=0 dev").status, 2);
}

/* dev prints each device, or those that are asked for. */
static void ct13_dev(void)
{
	struct said all = tool("dev");
	const char *out;

	CHECK_EQ(all.status, 0);
	CHECK(strstr(all.out, device_name()));
	out = tool_says("dev %s state ACTIVE", device_name());
	CHECK_EQ(tool_lines(out), 2);
	CHECK_EQ(tool("dev %s state DOWN", device_name()).status, 1);
}

static const struct test tests[] = {
	TEST(ct1_pinned, "CT1 show-pinned"),
	TEST(ct2_iova, "CT2 show-iova-and-zero-based"),
	TEST(ct3_rereg, "CT3 show-rereg"),
	TEST(ct4_windows, "CT4 show-windows"),
	TEST(ct5_on_demand, "CT5 show-on-demand"),
	TEST(ct6_implicit, "CT6 show-implicit"),
	TEST(ct7_dmabuf, "CT7 show-dmabuf"),
	TEST(ct8_device, "CT8 show-device-memory"),
	TEST(ct9_others, "CT9 show-without-rights"),
	TEST(ct10_list, "CT10 list"),
	TEST(ct11_very_many, "CT11 list-very-many"),
	TEST(ct12_wrong, "CT12 wrong-calls"),
	TEST(ct13_dev, "CT13 dev"),
};

HARNESS_MAIN("pinionctl: devices and regions", tests)
