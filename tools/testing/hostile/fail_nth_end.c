// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Destruction of each object with its first, second, ... allocation or copy failing: the object
 * is destroyed or stays usable, and exit of a process with all of them, or the end of their open
 * device in a process that lives on, leaves nothing (items N22 to N25 and N42). Needs a kernel with
 * fault injection.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dmabuf.h"
#include "sweep.h"
#include "window.h"
#include "xrc.h"

static struct link link_;

#define END(call)                       \
	static int end_##call(void *it) \
	{                               \
		return ibv_##call(it);  \
	}

END(destroy_qp)
END(destroy_cq)
END(destroy_srq)
END(destroy_ah)
END(dealloc_pd)
END(dealloc_mw)
END(close_xrcd)
END(free_dm)
END(dereg_mr)

static struct ibv_cq *cq;

static void *new_qp(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 50,
			 .max_recv_wr = 50,
			 .max_send_sge = 3,
			 .max_recv_sge = 3 },
	};

	return ibv_create_qp(dev.pd, &init);
}

/* A member of a group; leaving the group is an end, too. */
static const union ibv_gid group = {
	.raw = { [10] = 0xff, 0xff, 239, 3, 3, 4 }
};

static void *new_member(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD, .scq = cq, .rcq = cq };
	struct end end;

	end_make(&end, &cfg);
	end_init(&end);
	CHECK_EQ(ibv_attach_mcast(end.qp, &group, 0), 0);
	return end.qp;
}

static int leave(void *qp)
{
	return ibv_detach_mcast(qp, &group, 0);
}

/* The queue pair is kept for the next time. */
static void *enter(void)
{
	static struct ibv_qp *qp;

	if (!qp) {
		qp = new_member();
		return qp;
	}
	CHECK_EQ(ibv_attach_mcast(qp, &group, 0), 0);
	return qp;
}

/*
 * If the second call fails, the first is undone: then all is as before. But the queue pair may be gone
 * although that call has failed, where the fault comes after its end.
 */
static int end_member(void *qp)
{
	int err, again;

	ibv_detach_mcast(qp, &group, 0);
	err = ibv_destroy_qp(qp);
	if (err) {
		again = ibv_attach_mcast(qp, &group, 0);
		CHECK(!again || again == ENOENT);
	}
	return err;
}

static void *new_cq(void)
{
	return ibv_create_cq(dev.ctx, 500, NULL, NULL, 0);
}

static void *new_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { 100, 3, 0 } };

	return ibv_create_srq(dev.pd, &init);
}

static void *new_xrcd(void)
{
	return xrcd_open(dev.ctx, -1);
}

static struct ibv_xrcd *xrcd;

static void *new_xsrq(void)
{
	if (!xrcd)
		xrcd = MUST(new_xrcd());
	return xsrq_create(xrcd, cq);
}

static void *new_ah(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = dev.gid, .sgid_index = dev.gid_index },
	};

	return ibv_create_ah(dev.pd, &attr);
}

/* Each allocation of destroying queues: they end, at once or with the next try. */
static void n22_queues(void)
{
	static const struct ending kinds[] = {
		{ "QP", new_qp, end_destroy_qp, 2, "qp" },
		{ "QP of a group", new_member, end_member, 3, "qp" },
		{ "group", enter, leave, 1, NULL },
		{ "CQ", new_cq, end_destroy_cq, 2, "cq" },
		{ "SRQ", new_srq, end_destroy_srq, 2, "srq" },
		{ "SRQ of XRC", new_xsrq, end_destroy_srq, 2, "srq" },
		{ "AH", new_ah, end_destroy_ah, 1, NULL },
	};

	cq = MUST(ibv_create_cq(dev.ctx, 200, NULL, NULL, 0));
	sweeps_begin(&link_);
	sweep_ends(kinds, ARRAY_SIZE(kinds));
	sweeps_end(&link_);
}

static void *new_pd(void)
{
	return ibv_alloc_pd(dev.ctx);
}

static struct region bindable;

static void *new_bound(void)
{
	struct ibv_mw *mw = window_new(IBV_MW_TYPE_1);

	expect(window_bind(&link_.a, mw,
			   window_part(&bindable, 0, 100, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	return mw;
}

static void *new_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 100000 };

	return ibv_alloc_dm(dev.ctx, &attr);
}

/* The same for domains, windows and device memory. */
static void n23_domains(void)
{
	static const struct ending kinds[] = {
		{ "PD", new_pd, end_dealloc_pd, 1, NULL },
		{ "XRCD", new_xrcd, end_close_xrcd, 1, NULL },
		{ "MW", new_bound, end_dealloc_mw, 1, NULL },
		{ "DM", new_dm, end_free_dm, 2, NULL },
	};

	bindable = region_new(9000, 1, BINDABLE);
	sweeps_begin(&link_);
	sweep_ends(kinds, ARRAY_SIZE(kinds));
	sweeps_end(&link_);
}

static struct buf *buf;
static struct dmabuf dmabuf;

static void *new_pinned(void)
{
	return ibv_reg_mr(dev.pd, buf->data, buf->length, ALL_ACCESS);
}

static struct ibv_mr *new_odp(void *addr, size_t length)
{
	struct ibv_mr *mr;
	struct ibv_sge sge;

	mr = MUST(ibv_reg_mr(dev.pd, addr, length, ODP_ALL));
	/* Fetch its pages. */
	sge = (struct ibv_sge){ (uintptr_t)buf->data, 100000, mr->lkey };
	CHECK_EQ(ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
		 0);
	return mr;
}

static void *new_explicit(void)
{
	return new_odp(buf->data, buf->length);
}

static void *new_implicit(void)
{
	return new_odp(NULL, SIZE_MAX);
}

static struct ibv_dm *dm;

static void *new_dm_mr(void)
{
	if (!dm)
		dm = MUST(new_dm());
	return ibv_reg_dm_mr(dev.pd, dm, 8, 90000,
			     ALL_ACCESS | IBV_ACCESS_ZERO_BASED);
}

static void *new_dmabuf_mr(void)
{
	return ibv_reg_dmabuf_mr(dev.pd, 100, 100001, 100, dmabuf.fd,
				 ALL_ACCESS);
}

/* Any exporter; false if there is none. */
static bool some_dmabuf(void)
{
	size_t i;

	for (i = 0; i < DMABUF_KINDS; i++) {
		if (!dmabuf_there(&dmabuf_kinds[i]))
			continue;
		dmabuf = dmabuf_new(&dmabuf_kinds[i], 40 * PAGE);
		return true;
	}
	return false;
}

/* The same for regions of each kind. */
static void n24_regions(void)
{
	static const struct ending kinds[] = {
		{ "pinned MR", new_pinned, end_dereg_mr, 1, NULL },
		{ "explicit on-demand MR", new_explicit, end_dereg_mr, 1,
		  NULL },
		{ "implicit on-demand MR", new_implicit, end_dereg_mr, 1,
		  NULL },
		{ "DM MR", new_dm_mr, end_dereg_mr, 1, NULL },
	};
	static const struct ending of_dmabuf = { "dma-buf MR", new_dmabuf_mr,
						 end_dereg_mr, 1, NULL };

	need_odp();
	buf = buf_new(600000, 77);
	if (!some_dmabuf())
		dmabuf.fd = -1;
	sweeps_begin(&link_);
	sweep_ends(kinds, ARRAY_SIZE(kinds));
	if (dmabuf.fd >= 0)
		sweep_end(&of_dmabuf);
	sweeps_end(&link_);
}

/* Creates one object of each kind, in use, in a context of its own. */
static int load(void)
{
	struct link link;

	dev.ctx = device_another();
	dev.pd = MUST(ibv_alloc_pd(dev.ctx));
	xrcd = NULL;
	dm = NULL;
	cq = MUST(new_cq());
	link_make(&link, NULL);
	link_ = link;
	MUST(new_member());
	MUST(new_srq());
	MUST(new_xsrq());
	MUST(new_ah());
	bindable = region_new(9000, 1, BINDABLE);
	MUST(new_bound());
	MUST(new_pinned());
	MUST(new_explicit());
	MUST(new_implicit());
	MUST(new_dm_mr());
	if (dmabuf.fd >= 0)
		MUST(new_dmabuf_mr());
	return 0;
}

/* The same for the exit of a process that has all of them. */
static void n25_process(void)
{
	need_odp();
	buf = buf_new(600000, 77);
	if (!some_dmabuf())
		dmabuf.fd = -1;
	sweeps_begin(&link_);
	sweep(&(struct op){
		.name = "exit", .attempt = load, .at_least = 2, .exits = true });
	sweeps_end(&link_);
}

/* The memory of open devices that is mapped here: their rings and doorbell pages. */
struct mappings {
	struct {
		uintptr_t from, to;
	} each[256];
	size_t num;
};

static void mappings_read(struct mappings *maps)
{
	FILE *file = MUST(fopen("/proc/self/maps", "re"));
	uintptr_t from, to;
	char line[512];

	maps->num = 0;
	while (fgets(line, sizeof(line), file)) {
		if (!strstr(line, "/dev/infiniband/uverbs"))
			continue;
		CHECK_EQ(sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to), 2);
		CHECK(maps->num < ARRAY_SIZE(maps->each));
		maps->each[maps->num].from = from;
		maps->each[maps->num++].to = to;
	}
	fclose(file);
}

static bool mappings_have(const struct mappings *maps, uintptr_t from)
{
	size_t i;

	for (i = 0; i < maps->num; i++) {
		if (maps->each[i].from == from)
			return true;
	}
	return false;
}

/* Each mapping is a reference to the open device. */
static void unmap_but(const struct mappings *kept)
{
	struct mappings maps;
	size_t i, num = 0;

	mappings_read(&maps);
	for (i = 0; i < maps.num; i++) {
		if (mappings_have(kept, maps.each[i].from))
			continue;
		num++;
		CHECK_EQ(munmap((void *)maps.each[i].from,
				maps.each[i].to - maps.each[i].from),
			 0);
	}
	/* At least the rings of four completion queues and queue pairs. */
	CHECK(num >= 4);
}

/* Its file is the last reference to an open device with an object of each kind. */
static int loaded;

/* What is of the library is lost: it could only be freed with the objects. */
static void load_another(void)
{
	struct ibv_context *ctx = dev.ctx;
	struct ibv_pd *pd = dev.pd;
	struct link link = link_;
	struct mappings kept;

	if (bindable.buf)
		buf_free(bindable.buf);
	mappings_read(&kept);
	load();
	loaded = dev.ctx->cmd_fd;
	CHECK_EQ(close(dev.ctx->async_fd), 0);
	unmap_but(&kept);
	dev.ctx = ctx;
	dev.pd = pd;
	link_ = link;
}

/*
 * The end of all objects is in close(), before it returns. It asks for no memory so far. What an eventfd
 * asks for shows that faults are hit here.
 */
static int close_loaded(void)
{
	int event = eventfd(0, EFD_CLOEXEC);
	int err = event < 0 ? errno : 0;

	CHECK_EQ(close(loaded), 0);
	if (event >= 0)
		CHECK_EQ(close(event), 0);
	return err;
}

/*
 * A process closes an open device with an object of each kind, with each allocation failing: close()
 * succeeds, and nothing is left, although the process lives on.
 */
static void n42_close(void)
{
	need_odp();
	buf = buf_new(600000, 77);
	if (!some_dmabuf())
		dmabuf.fd = -1;
	sweeps_begin(&link_);
	sweep(&(struct op){ .name = "close",
			    .prepare = load_another,
			    .attempt = close_loaded,
			    .at_least = 2 });
	sweeps_end(&link_);
}

static const struct test tests[] = {
	LONG_TEST(n22_queues, "N22 the end of queues", 300),
	LONG_TEST(n23_domains, "N23 the end of domains, windows, memory", 300),
	LONG_TEST(n24_regions, "N24 the end of regions", 300),
	LONG_TEST(n25_process, "N25 the end of a process with all of them",
		  300),
	LONG_TEST(n42_close, "N42 the end of an open device with all of them",
		  300),
};

HARNESS_MAIN("the end of each object with failing allocations", tests)
