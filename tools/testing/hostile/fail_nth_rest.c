// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rarer calls with their first, second, ... allocation or copy failing: XRC, changes of a
 * region's kind, mappings, imports, queries, adding and removing the device, and counters (items N26
 * to N31, N41). Needs a kernel with fault injection.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command.h"
#include "link.h"
#include "netlink.h"
#include "pins.h"
#include "raw.h"
#include "rdma_tool.h"
#include "resources.h"
#include "rings.h"
#include "sweep.h"
#include "xrc.h"

static struct link link_;
static void *made;

#define POINTER(call) ((made = (call)) ? 0 : errno)

static void destroy_qp(void)
{
	CHECK_EQ(ibv_destroy_qp(made), 0);
}

/* ------------------------------------------------- XRC, and rarer states */

static struct ibv_xrcd *xrcd;
static struct ibv_cq *cq;

static int create_xrc_send(void)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_SEND,
		.send_cq = cq,
		.cap = { .max_send_wr = 10, .max_send_sge = 3 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = dev.pd,
	};

	return POINTER(ibv_create_qp_ex(dev.ctx, &init));
}

static int create_xrc_recv(void)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
	};

	return POINTER(ibv_create_qp_ex(dev.ctx, &init));
}

static int create_xsrq(void)
{
	return POINTER(xsrq_create(xrcd, cq));
}

static void destroy_srq(void)
{
	CHECK_EQ(ibv_destroy_srq(made), 0);
}

static struct ibv_context *other;
static struct ibv_xrcd *others_xrcd;
static uint32_t qp_num;

static int open_qp(void)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = qp_num,
		.xrcd = others_xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	return POINTER(ibv_open_qp(other, &attr));
}

/* Each allocation of XRC queue pairs and queues. */
static void n26_xrc(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_RECV };
	int file = memfd_create("xrcd", 0);
	struct end target;

	need_xrc();
	xrcd = cfg.xrcd = MUST(xrcd_open(dev.ctx, file));
	cq = MUST(ibv_create_cq(dev.ctx, 64, NULL, NULL, 0));
	end_make(&target, &cfg);
	qp_num = target.qp->qp_num;
	other = device_another();
	others_xrcd = MUST(xrcd_open(other, file));
	sweeps_begin(&link_);
	sweep(&(struct op){ "XRC initiator", create_xrc_send, destroy_qp,
			    .at_least = 12, .lasting = 1, SWEEP_NO_RESTRACK });
	sweep(&(struct op){ "XRC target", create_xrc_recv, destroy_qp,
			    .at_least = 8, .lasting = 1, SWEEP_NO_RESTRACK });
	sweep(&(struct op){ "XRC SRQ", create_xsrq, destroy_srq, .at_least = 11,
			    .lasting = 1 });
	sweep(&(struct op){ "open QP", open_qp, destroy_qp, .at_least = 3,
			    .lasting = 1 });
	sweeps_end(&link_);
}

static int to_sqd(void)
{
	return end_set_state(&link_.a, IBV_QPS_SQD);
}

static int to_rts(void)
{
	return end_set_state(&link_.a, IBV_QPS_RTS);
}

static void back_to_rts(void)
{
	CHECK_EQ(to_rts(), 0);
}

static void back_to_sqd(void)
{
	CHECK_EQ(to_sqd(), 0);
}

static int to_reset(void)
{
	return end_set_state(&link_.a, IBV_QPS_RESET);
}

static void connect_again(void)
{
	struct peer peer = end_peer(&link_.b);

	end_init(&link_.a);
	CHECK_EQ(end_to_rtr(&link_.a, &peer), 0);
	CHECK_EQ(end_to_rts(&link_.a), 0);
}

/* Each allocation of changes to and from SQD and RESET. */
static void n27_states(void)
{
	sweeps_begin(&link_);
	sweep(&(struct op){ "to SQD", to_sqd, back_to_rts, .at_least = 3 });
	CHECK_EQ(to_sqd(), 0);
	sweep(&(struct op){ "SQD to RTS", to_rts, back_to_sqd, .at_least = 3 });
	CHECK_EQ(to_rts(), 0);
	sweep(&(struct op){ "to RESET", to_reset, connect_again,
			    .at_least = 3 });
	sweeps_end(&link_);
}

/* ------------------------------------- regions that change their kind */

enum { LEN = 100001, IOVA = 0x7000000 };

static struct region all, changed;

/* KiB pinned while the region is pinned, and while it is on demand. */
static long pins_with, pins_without;

/*
 * If copying the answer fails, there is an error although the region has changed. The number of
 * pinned pages tells which it was.
 */
static int rereg(int access)
{
	bool demand = access & IBV_ACCESS_ON_DEMAND;
	int err;

	err = ibv_rereg_mr(changed.mr,
			   IBV_REREG_MR_CHANGE_TRANSLATION |
				   IBV_REREG_MR_CHANGE_ACCESS,
			   NULL, changed.buf->data, LEN, access);
	if (!err)
		return 0;
	if (err != IBV_REREG_MR_ERR_CMD)
		return -1;
	err = errno;
	fault_disarm();
	return vm_pin(0) == (demand ? pins_without : pins_with) ? 0 : err;
}

static int to_demand(void)
{
	return rereg(ODP_ALL);
}

static int to_pinned(void)
{
	return rereg(ALL_ACCESS);
}

static void back_to_pinned(void)
{
	exchange(&link_, &all, &changed);
	CHECK_EQ(to_pinned(), 0);
	exchange(&link_, &all, &changed);
}

static void back_to_demand(void)
{
	exchange(&link_, &all, &changed);
	CHECK_EQ(to_demand(), 0);
	exchange(&link_, &all, &changed);
}

/* Alternates between two iovas. */
static int rereg_iova(void)
{
	static int round;
	struct ib_uverbs_rereg_mr cmd = {
		.mr_handle = changed.mr->handle,
		.flags = IBV_REREG_MR_CHANGE_TRANSLATION,
		.start = (uintptr_t)changed.buf->data,
		.hca_va = ((round & 1 ? IOVA : 3 * IOVA) & -PAGE) +
			  (uintptr_t)changed.buf->data % PAGE,
		.length = LEN,
	};
	int err = raw_rereg_mr(dev.ctx->cmd_fd, &cmd);

	if (err)
		return err;
	changed.base = cmd.hca_va;
	round++;
	return 0;
}

/* Messages can use it at its current iova. */
static void use_iova(void)
{
	exchange(&link_, &all, &changed);
}

static long pages_of(const struct buf *buf)
{
	uintptr_t first = (uintptr_t)buf->data / PAGE;

	return ((uintptr_t)buf->data + buf->length - 1) / PAGE - first + 1;
}

/* Each allocation of changing a region to another kind, or another iova. */
static void n28_rereg(void)
{
	need_odp();
	all = region_new(LEN, 3, ALL_ACCESS);
	changed = region_new(LEN, 77, ALL_ACCESS);
	sweeps_begin(&link_);
	pins_with = vm_pin(0);
	pins_without = pins_with - pages_of(changed.buf) * (PAGE / 1024);
	sweep(&(struct op){ "pinned to on demand", to_demand, back_to_pinned,
			    .at_least = 6, .lasting = 1 });
	CHECK_EQ(to_demand(), 0);
	sweep(&(struct op){ "on demand to pinned", to_pinned, back_to_demand,
			    .at_least = 6, .lasting = 1 });
	CHECK_EQ(ibv_dereg_mr(changed.mr), 0);
	changed.mr = MUST(ibv_reg_mr_iova(
		dev.pd, changed.buf->data, LEN,
		IOVA + (uintptr_t)changed.buf->data % PAGE, ALL_ACCESS));
	changed = region_of(changed.buf, changed.mr,
			    IOVA + (uintptr_t)changed.buf->data % PAGE);
	exchange(&link_, &all, &changed);
	sweep(&(struct op){ "another iova", rereg_iova, use_iova, .at_least = 6,
			    .lasting = 1 });
	CHECK_EQ(ibv_dereg_mr(changed.mr), 0);
	sweeps_end(&link_);
}

/* ---------------------------------------------------- mappings and imports */

static struct ring ring;
static int fd;

static int map_ring(void)
{
	made = mmap(NULL, ring.length, PROT_READ | PROT_WRITE, MAP_SHARED,
		    dev.ctx->cmd_fd, ring.offset);
	return made == MAP_FAILED ? errno : 0;
}

/* Moves the mapping: the old place is unmapped, and the new one has the ring. */
static int move_ring(void)
{
	void *moved = mremap(made, ring.length, ring.length,
			     MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);

	if (moved == MAP_FAILED)
		return errno;
	munmap(moved, ring.length);
	return 0;
}

static void unmap_ring(void)
{
	CHECK_EQ(munmap(made, ring.length), 0);
}

static struct ibv_mr *mr;

struct imported {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
};

static struct imported imported;

static void unimport(void)
{
	if (imported.mr)
		ibv_unimport_mr(imported.mr);
	if (imported.pd)
		ibv_unimport_pd(imported.pd);
	if (imported.ctx)
		CHECK_EQ(ibv_close_device(imported.ctx), 0);
	imported = (struct imported){};
}

static int import(void)
{
	int err;

	fd = dup(dev.ctx->cmd_fd);
	if (fd < 0)
		return errno;
	imported.ctx = ibv_import_device(fd);
	if (!imported.ctx) {
		err = errno;
		close(fd);
		return err;
	}
	imported.pd = ibv_import_pd(imported.ctx, dev.pd->handle);
	if (imported.pd)
		imported.mr = ibv_import_mr(imported.pd, mr->handle);
	if (imported.mr)
		return 0;
	err = errno;
	unimport();
	return err;
}

#ifdef HAVE_DM_EXPORT
static void dereg_mr(void)
{
	CHECK_EQ(ibv_dereg_mr(made), 0);
}

static struct ibv_dm *dm;

static int export_dm(void)
{
	fd = ibv_dm_export_dmabuf_fd(dm);
	return fd < 0 ? errno : 0;
}

static void close_fd(void)
{
	CHECK_EQ(close(fd), 0);
}

static struct ibv_pd *there;

static int reg_exported(void)
{
	return POINTER(
		ibv_reg_dmabuf_mr(there, 4196, 20000, 4196, fd, ALL_ACCESS));
}

/* Each allocation of exporting device memory, and of registering what was exported. */
static void n29_export(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 65536 };
	struct ibv_context *ctx;

	if (!dev.pinion)
		skip("other devices export none");
	sweeps_begin(&link_);
	ctx = device_beside();
	dm = MUST(ibv_alloc_dm(dev.ctx, &attr));
	sweep(&(struct op){ "export of DM", export_dm, close_fd, .at_least = 4,
			    .lasting = 1 });
	CHECK_EQ(export_dm(), 0);
	/* On another device if there is one. */
	there = MUST(ibv_alloc_pd(ctx ?: dev.ctx));
	sweep(&(struct op){ "MR of exported DM", reg_exported, dereg_mr,
			    .at_least = 10, .lasting = 1 });
	close_fd();
	sweeps_end(&link_);
}
#else
static void n29_export(void)
{
	skip("this libibverbs exports no device memory");
}
#endif

/* Each allocation of mapping rings and importing. */
static void n29_mappings(void)
{
	struct ring rings[16];

	if (!dev.pinion)
		skip("only pinion has these rings");
	sweeps_begin(&link_);
	CHECK(rings_list(rings, ARRAY_SIZE(rings)) > 0);
	ring = rings[0];
	sweep(&(struct op){ "map", map_ring, unmap_ring, .at_least = 1,
			    .lasting = 1 });
	CHECK_EQ(map_ring(), 0);
	move_ring();
	unmap_ring();
	mr = MUST(ibv_reg_mr(dev.pd, buf_new(PAGE, 0)->data, PAGE, ALL_ACCESS));
	sweep(&(struct op){ "import", import, unimport, .at_least = 30 });
	sweeps_end(&link_);
}

/* ---------------------------------------------------------------- queries */

static int query_device(void)
{
	struct ibv_device_attr_ex attr;

	return ibv_query_device_ex(dev.ctx, NULL, &attr);
}

static int query_port(void)
{
	struct ibv_port_attr attr;

	return ibv_query_port(dev.ctx, 1, &attr);
}

static int query_gids(void)
{
	struct ibv_gid_entry entries[64];

	return ibv_query_gid_table(dev.ctx, entries, ARRAY_SIZE(entries), 0) <
			       0 ?
		       EIO :
		       0;
}

static struct ibv_srq *srq;

static int query_srq(void)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(srq, &attr);
}

/* Objects with driver details in the list: link_, and these. */
static int list(void)
{
	struct mr_info infos[64];

	return resources_mrs(infos, ARRAY_SIZE(infos)) < 0 ? EIO : 0;
}

/* There is link_ to describe. Attributes that failed are left out, without an error. */
static int describe(void)
{
	return resources_describe() > 0 ? 0 : EIO;
}

static int statistics(void)
{
	uint64_t value;

	return resources_mr_counter(mr->rkey, "page_faults", &value) ? 0 : EIO;
}

static int read_all(const char *path)
{
	char text[4096];
	int file = open(path, O_RDONLY), err = 0;
	ssize_t got;

	if (file < 0)
		return errno;
	while ((got = read(file, text, sizeof(text))) > 0)
		;
	if (got < 0)
		err = errno;
	close(file);
	return err;
}

static int read_counter(void)
{
	char path[128];

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/hw_counters/doorbells",
		 device_name());
	/* The kernel caches the counters for a while. */
	usleep(20000);
	return read_all(path);
}

static int read_keys(void)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/pinion/%s/keys",
		 device_name());
	return read_all(path);
}

/* Each allocation of queries, listings, statistics and files of debugfs. */
static void n30_questions(void)
{
	struct ibv_srq_init_attr init = { .attr = { 10, 3, 0 } };

	need_root();
	need_odp();
	if (!dev.pinion)
		skip("not all of them are asked of others");
	srq = MUST(ibv_create_srq(dev.pd, &init));
	mr = MUST(ibv_reg_mr(dev.pd, buf_new(PAGE, 0)->data, PAGE, ODP_ALL));
	sweeps_begin(&link_);
	sweep(&(struct op){ "query device", query_device, NULL,
			    .at_least = 3 });
	sweep(&(struct op){ "query port", query_port, NULL, .at_least = 1 });
	sweep(&(struct op){ "query GIDs", query_gids, NULL, .at_least = 2 });
	sweep(&(struct op){ "query SRQ", query_srq, NULL, .at_least = 2 });
	sweep(&(struct op){ "regions", list, NULL, .at_least = 22 });
	sweep(&(struct op){ "queues", describe, NULL, .at_least = 40 });
	sweep(&(struct op){ "statistics of a region", statistics, NULL,
			    .at_least = 40 });
	sweep(&(struct op){ "counter", read_counter, NULL, .at_least = 4 });
	sweep(&(struct op){ "keys", read_keys, NULL, .at_least = 3 });
	sweeps_end(&link_);
}

/* ------------------------------------------------------------ the device */

/* Calls between the module and an allocation that is made for it. */
enum { NEAR = 2 };

#define NETDEV "fault-net"
#define NAME "fault0"

/* Of links, as rdma(8) has it. */
static const char *type;

static bool exists(void)
{
	return !access("/sys/class/infiniband/" NAME, F_OK);
}

static int add_link(void)
{
	struct nlmsghdr *request =
		netlink_request(RDMA_NLDEV_CMD_NEWLINK, NLM_F_ACK);
	int err;

	mnl_attr_put_strz(request, RDMA_NLDEV_ATTR_DEV_NAME, NAME);
	mnl_attr_put_strz(request, RDMA_NLDEV_ATTR_LINK_TYPE, type);
	mnl_attr_put_strz(request, RDMA_NLDEV_ATTR_NDEV_NAME, NETDEV);
	err = netlink_call(request, NULL, NULL);
	fault_disarm();
	/* Only the answer may have failed. */
	return err && exists() ? 0 : err;
}

static uint32_t index_;

static uint32_t index_of(const char *device)
{
	/* "3: fault0: node_type ca ..." */
	const char *said = rdma_says("dev show %s", device);

	CHECK(strstr(said, device));
	return strtoul(said, NULL, 10);
}

static int del_link(void)
{
	struct nlmsghdr *request =
		netlink_request(RDMA_NLDEV_CMD_DELLINK, NLM_F_ACK);
	int err;

	mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_DEV_INDEX, index_);
	err = netlink_call(request, NULL, NULL);
	return err && !exists() ? 0 : err;
}

/* Also if it was added and only the answer failed. */
static void remove_link(void)
{
	if (exists())
		must_run("rdma link del " NAME);
	CHECK(!exists());
}

static void add_again(void)
{
	if (exists())
		return;
	must_run("rdma link add " NAME " type %s netdev " NETDEV, type);
	index_ = index_of(NAME);
}

/*
 * How many parents the devices have that stay. They are in no list of objects, so the sweep counts them
 * itself.
 */
static int parents;

static bool parents_are_gone(char *text, size_t size)
{
	int are = device_parents();

	snprintf(text, size, "%d parents of devices, were %d", are, parents);
	return are == parents;
}

/*
 * Each allocation of adding and removing a device of this type. In a short run only some of them for types
 * other than the first, which have most in common with it.
 */
static void n31_links(const void *of)
{
	bool some;

	type = of;
	some = in_short() && strcmp(type, "pinion");
	need_root();
	if (!dev.pinion)
		skip("not ours to add");
	need_command("ip");
	need_command("rdma");
	if (system("ip link del " NETDEV " 2>/dev/null"))
		note("a new network device");
	must_run("ip link add " NETDEV " type veth peer name fault-peer && "
		 "ip link set " NETDEV " up && ip link set fault-peer up && "
		 "ip addr add 10.0.78.1/24 dev " NETDEV);
	sweeps_begin(&link_);
	parents = device_parents();
	/* It has thousands of allocations, mostly in other code: sample the faults. */
	if (!some)
		sweep_some(&(struct op){ "link add", add_link, remove_link,
					 .at_least = 1000,
					 .clean = parents_are_gone },
			   in_short() ? 800 : 200);
	CHECK(!exists());
	/* But all of the module's own. */
	fault_only_in_module("pinion", NEAR);
	sweep_some(&(struct op){ "the module's part of link add", add_link,
				 remove_link, .at_least = 20, .lasting = 3,
				 .clean = parents_are_gone },
		   some ? 4 : 1);
	fault_anywhere();
	add_again();
	sweep_some(&(struct op){ "link del", del_link, add_again,
				 .at_least = 14 },
		   !in_short() ? 1 :
		   some	       ? 6 :
				 4);
	add_again();
	remove_link();
	must_run("ip link del " NETDEV);
	sweeps_end(&link_);
}

/* ------------------------------------------------- counters of queue pairs */

/* What rdma(8) says of all counters. */
static const char *counters(void)
{
	return rdma_says("statistic qp show link %s/1", device_name());
}

static bool is_counted(void)
{
	char list[32];

	snprintf(list, sizeof(list), "LQPN: <%u>", link_.a.qp->qp_num);
	return strstr(counters(), list);
}

/* Binds the queue pair to a new counter. */
static int count(void)
{
	struct nlmsghdr *request =
		netlink_request(RDMA_NLDEV_CMD_STAT_SET, NLM_F_ACK);
	int err;

	mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_DEV_INDEX, index_);
	mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_STAT_MODE,
			 RDMA_COUNTER_MODE_MANUAL);
	mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_STAT_RES,
			 RDMA_NLDEV_ATTR_RES_QP);
	mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_RES_LQPN, link_.a.qp->qp_num);
	err = netlink_call(request, NULL, NULL);
	fault_disarm();
	/* Only the answer may have failed. */
	return err && is_counted() ? 0 : err;
}

static void uncount(void)
{
	const char *at = strstr(counters(), " cntn ");

	CHECK(at);
	CHECK_EQ(rdma_does("statistic qp unbind link %s/1 cntn %lu lqpn %u",
			   device_name(), strtoul(at + 6, NULL, 10),
			   link_.a.qp->qp_num),
		 0);
	CHECK(!is_counted());
}

/*
 * Each allocation of binding a queue pair to a counter fails once: either it is bound, or nothing is
 * left.
 */
static void n41_counters(void)
{
	if (!dev.pinion)
		skip("others count as they like");
	sweeps_begin(&link_);
	need_rdma_tool();
	if (rdma_does("statistic qp set link %s/1 auto off", device_name()))
		skip("this rdma cannot bind queue pairs");
	index_ = index_of(device_name());
	sweep(&(struct op){ "counter", count, uncount, .at_least = 13,
			    .lasting = 1, SWEEP_NO_RESTRACK });
	sweeps_end(&link_);
}

static const struct test tests[] = {
	LONG_TEST(n26_xrc, "N26 XRC", 300),
	LONG_TEST(n27_states, "N27 rarer states", 300),
	LONG_TEST(n28_rereg, "N28 rereg to another kind", 300),
	LONG_TEST(n29_mappings, "N29 mappings, imports", 300),
	LONG_TEST(n29_export, "N29 exports of device memory", 300),
	LONG_TEST(n30_questions, "N30 questions", 300),
	LONG_TEST_WITH(n31_links, "pinion", "N31 devices that come and go",
		       300),
	LONG_TEST_WITH(n31_links, "pinion-mlx5",
		       "N31 the same of those that speak mlx5's ABI", 300),
	LONG_TEST_WITH(n31_links, "pinion-wire",
		       "N31 the same of those with packets", 300),
	LONG_TEST_WITH(n31_links, "pinion-auto",
		       "N31 the same of those with packets for other hosts",
		       300),
	LONG_TEST(n41_counters, "N41 counters of queue pairs", 300),
};

HARNESS_MAIN("rare calls with failing allocations", tests)
