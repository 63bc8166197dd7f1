// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A device is removed while regions whose pages can vanish are in use: on-demand regions and
 * regions of dma-bufs (items A50 and A72). Traffic ends, the memory may still change, the
 * exporter keeps nothing, and the device can be added again.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "dmabuf.h"
#include "unplug.h"

static void make_on_demand(struct region *target, bool implicit)
{
	struct buf *buf = buf_new(UNPLUG_LENGTH, 0);
	struct ibv_mr *mr;

	if (implicit)
		mr = ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL);
	else
		mr = ibv_reg_mr(dev.pd, buf->data, UNPLUG_LENGTH, ODP_ALL);
	*target = region_of(buf, MUST(mr), (uintptr_t)buf->data);
}

static void make_explicit(struct region *target)
{
	make_on_demand(target, false);
}

static void make_implicit(struct region *target)
{
	make_on_demand(target, true);
}

static void change_pages(struct region *target)
{
	struct ibv_sge sge = sge_of(target, 0, UNPLUG_LENGTH);

	buf_drop(target->buf, 0, UNPLUG_LENGTH / 2);
	/* The hint may be executed after the pages or the region are gone. */
	ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1);
}

static void end_on_demand(struct region *target)
{
	buf_fill(target->buf);
	usleep(20000);
	buf_check(target->buf);
	ibv_dereg_mr(target->mr);
}

static struct dmabuf dmabuf;

static void make_dmabuf(struct region *target)
{
	dmabuf = dmabuf_own(UNPLUG_LENGTH, 0);
	*target = dmabuf_region(&dmabuf, 0, UNPLUG_LENGTH, 0, ALL_ACCESS);
}

static void change_dmabuf(struct region *target)
{
	(void)target;
	dmabuf_move(&dmabuf, 0);
}

static void end_dmabuf(struct region *target)
{
	dmabuf_check_unused(&dmabuf);
	ibv_dereg_mr(target->mr);
}

/* The device goes under traffic with an explicit region whose pages change. */
static void a50_explicit(void)
{
	need_odp();
	unplug(&(struct unplug_kind){ make_explicit, change_pages,
				      end_on_demand });
}

/* The device goes under traffic with an implicit region whose pages change. */
static void a50_implicit(void)
{
	need_odp();
	unplug(&(struct unplug_kind){ make_implicit, change_pages,
				      end_on_demand });
}

/* The device goes under traffic with a dma-buf that moves. */
static void a72_dmabuf(void)
{
	need_exporter();
	unplug(&(struct unplug_kind){ make_dmabuf, change_dmabuf, end_dmabuf });
}

static const struct test tests[] = {
	LONG_TEST(a50_explicit, "A50 the device goes, explicit", 90),
	LONG_TEST(a50_implicit, "A50 the device goes, implicit", 90),
	LONG_TEST(a72_dmabuf, "A72 the device goes, dma-bufs", 90),
};

HARNESS_MAIN("Devices removed under regions that change", tests)
