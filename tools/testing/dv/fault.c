// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Each call of mlx5dv with its first, second, ... allocation or copy failing. Needs a
 * kernel with fault injection (items D17 and VN15 to VN24).
 */
#include <string.h>
#include <unistd.h>

#include "dmabuf.h"
#include "keys.h"
#include "own.h"
#include "raw_queue.h"
#include "sweep.h"

enum { LEN = 600000 };

static struct buf *buf;
static umem_t umem;
static obj_t obj;
static struct prm_mkey mkey;
static struct prm_klm klms[3];

static void begin(void)
{
	dv_begin();
	buf = buf_new(LEN, 77);
	umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
	mkey = (struct prm_mkey){
		.pdn = dv_pdn(dev.pd),
		.base = 77,
		.length = LEN,
		.umem_id = umem->umem_id,
	};
	fault_prepare();
}

/* Afterwards the device works as before. */
static void end(void)
{
	struct region region, local = region_new(LEN, 0, ALL_ACCESS);
	struct link link;

	link_make(&link, NULL);
	obj = dv_region(buf, umem, &region);
	exchange(&link, &local, &region);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
}

static umem_t made;

static int reg(void)
{
	made = mlx5dv_devx_umem_reg(dev.ctx, buf->data, LEN, UMEM_ACCESS);
	return made ? 0 : errno;
}

static void dereg(void)
{
	CHECK_EQ(mlx5dv_devx_umem_dereg(made), 0);
}

/* Each allocation of a umem fails once: nothing is left, and the next try succeeds. */
static void vn15_umem(void)
{
	begin();
	/* Free the only umem, so that the table of umems has to be created, too. */
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	sweep(&(struct op){ "umem", reg, dereg, .at_least = 10, .lasting = 1 });
	umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
	end();
}

static int create(void)
{
	uint32_t key;

	obj = dv_try_key(&mkey, &key);
	return obj ? 0 : errno;
}

static void destroy(void)
{
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
}

/* The same for a key of a umem. */
static void vn16_key(void)
{
	begin();
	sweep(&(struct op){ "key of a umem", create, destroy, .at_least = 5,
			    .lasting = 1 });
	end();
}

/* The same for a key of pieces. */
static void vn17_pieces(void)
{
	struct region region;
	int i;

	begin();
	region = region_reg(dev.pd, buf, ALL_ACCESS);
	for (i = 0; i < 3; i++)
		klms[i] = (struct prm_klm){ 5000, region.lkey,
					    region.base + i * 7000 };
	mkey.mode = PRM_KLM;
	mkey.length = 15000;
	mkey.klms = klms;
	mkey.num_klms = 3;
	sweep(&(struct op){ "key of pieces", create, destroy, .at_least = 6,
			    .lasting = 1 });
	CHECK_EQ(ibv_dereg_mr(region.mr), 0);
	end();
}

static int create_pd(void)
{
	uint8_t in[16], out[16];

	prm_head(in, PRM_ALLOC_PD, 0);
	obj = mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out, sizeof(out));
	return obj ? 0 : errno;
}

static int caps(void)
{
	uint8_t in[16], out[512];

	prm_head(in, PRM_QUERY_HCA_CAP, 0);
	return mlx5dv_devx_general_cmd(dev.ctx, in, sizeof(in), out,
				       sizeof(out));
}

/* So many entries has a node of an xarray, and so many bits one of an ida. */
enum { SLOTS = 64, BITS = 1024 };

/*
 * The same for domains and capabilities. All numbers below BITS are taken, and all of them are in the table
 * of domains that commands can name: so each more needs memory for its number, and for its entry there.
 */
static void vn18_pd(void)
{
	struct ibv_pd *pd;

	begin();
	do
		pd = MUST(ibv_alloc_pd(dev.ctx));
	while (dv_pdn(pd) < BITS - 1);
	sweep(&(struct op){ "PD", create_pd, destroy, .at_least = 5,
			    .lasting = 1 });
	sweep(&(struct op){ "capabilities", caps, NULL, .at_least = 4,
			    .lasting = 1 });
	end();
}

static int fd;

static int reg_dmabuf(void)
{
	struct mlx5dv_devx_umem_in in = {
		.size = 64 * PAGE,
		.access = UMEM_ACCESS,
		.pgsz_bitmap = 4096,
		.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
		.dmabuf_fd = fd,
	};

	made = mlx5dv_devx_umem_reg_ex(dev.ctx, &in);
	return made ? 0 : errno;
}

#ifdef HAVE_DMABUF_MR
static struct ibv_mr *mr;

static int reg_direct(void)
{
	mr = mlx5dv_reg_dmabuf_mr(dev.pd, 0, 64 * PAGE, 0, fd,
				  IBV_ACCESS_LOCAL_WRITE,
				  MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT);
	return mr ? 0 : errno;
}

static void dereg_direct(void)
{
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}
#endif

/* The same for umems and regions of dma-bufs. */
static void vn19_dmabuf(void)
{
	int i;

	for (i = 0; i < DMABUF_KINDS; i++)
		if (dmabuf_there(&dmabuf_kinds[i]))
			break;
	if (i == DMABUF_KINDS)
		skip("no exporter of dma-bufs");
	fd = dmabuf_new(&dmabuf_kinds[i], 64 * PAGE).fd;
	begin();
	sweep(&(struct op){ "umem of a dma-buf", reg_dmabuf, dereg,
			    .at_least = 10, .lasting = 1 });
#ifdef HAVE_DMABUF_MR
	sweep(&(struct op){ "data direct", reg_direct, dereg_direct,
			    .at_least = 13, .lasting = 1 });
#endif
	end();
}

/* Queues with rings in our memory: a umem for each ring. */
static struct own own;
static struct ibv_pd *domain;
static struct ibv_cq *cq, *plain_cq;
static struct ibv_qp *qp;
static struct ibv_srq *srq;

static int create_cq(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 100,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = domain,
	};
	struct ibv_cq_ex *ex = ibv_create_cq_ex(dev.ctx, &attr);

	cq = ex ? ibv_cq_ex_to_cq(ex) : NULL;
	return cq ? 0 : errno;
}

static void destroy_cq(void)
{
	CHECK_EQ(ibv_destroy_cq(cq), 0);
}

static int create_qp(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = plain_cq,
		.recv_cq = plain_cq,
		.cap = { .max_send_wr = 100, .max_recv_wr = 100 },
		.qp_type = IBV_QPT_RC,
	};

	qp = ibv_create_qp(domain, &init);
	return qp ? 0 : errno;
}

static void destroy_qp(void)
{
	CHECK_EQ(ibv_destroy_qp(qp), 0);
}

static int create_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 100,
						    .max_sge = 3 } };

	srq = ibv_create_srq(domain, &init);
	return srq ? 0 : errno;
}

static void destroy_srq(void)
{
	CHECK_EQ(ibv_destroy_srq(srq), 0);
}

static struct raw_queue raw;
static obj_t raw_cq;
static uint32_t raw_cqn;

static int create_raw_cq(void)
{
	struct prm_cq asked = {
		.umem_id = raw.umem->umem_id,
		.record_umem_id = raw.umem->umem_id,
		.eqn = 1,
		.record = 256,
		.log_size = 0,
	};
	uint8_t in[PRM_CQ], out[PRM_HEAD] = {};

	prm_create_cq(in, &asked);
	raw_cq = mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out,
					sizeof(out));
	raw_cqn = prm_number(out);
	return raw_cq ? 0 : errno;
}

static void destroy_raw_cq(void)
{
	CHECK_EQ(mlx5dv_devx_obj_destroy(raw_cq), 0);
}

static int create_raw_qp(void)
{
	uint8_t out[PRM_HEAD];

	obj = raw_try_qp(&raw, out);
	return obj ? 0 : errno;
}

static int change_raw_qp(void)
{
	struct prm_path path = { .remote_qpn = raw.qpn };
	uint8_t out[PRM_HEAD];

	return raw_change(&raw, PRM_RST2INIT_QP, &path, out);
}

static void reset_raw_qp(void)
{
	struct prm_path path = {};
	uint8_t out[PRM_HEAD];

	CHECK_EQ(raw_change(&raw, PRM_2RST_QP, &path, out), 0);
}

/* The same for queues by command and changes of their state. */
static void vn22_raw(void)
{
	obj_t others[SLOTS];
	uint8_t out[PRM_HEAD];
	int i = 0;

	begin();
	raw_places(&raw, false);
	/* The last number of a node is taken, so each more needs another node. */
	do {
		CHECK(i < SLOTS);
		CHECK_EQ(create_raw_cq(), 0);
		others[i++] = raw_cq;
	} while (raw_cqn < SLOTS - 1);
	sweep(&(struct op){ "raw CQ", create_raw_cq, destroy_raw_cq,
			    .at_least = 10, .lasting = 1 });
	while (i)
		CHECK_EQ(mlx5dv_devx_obj_destroy(others[--i]), 0);
	sweep(&(struct op){ "raw QP", create_raw_qp, destroy, .at_least = 15,
			    .lasting = 1 });
	raw.qp = MUST(raw_try_qp(&raw, out));
	raw.qpn = prm_number(out);
	sweep(&(struct op){ "state of a raw QP", change_raw_qp, reset_raw_qp,
			    .at_least = 2, .lasting = 1 });
	raw_free(&raw);
	end();
}

static struct raw_pool pool;

static int create_pool(void)
{
	uint8_t out[PRM_HEAD];

	obj = raw_try_pool(&pool, out);
	return obj ? 0 : errno;
}

static struct mlx5dv_devx_event_channel *channel;

static int create_channel(void)
{
	channel = mlx5dv_devx_create_event_channel(dev.ctx, 0);
	return channel ? 0 : errno;
}

static void destroy_channel(void)
{
	mlx5dv_devx_destroy_event_channel(channel);
}

/* Subscribes to two event types: both or neither. */
static int subscribe(void)
{
	uint16_t types[] = { 0, 4 };

	return mlx5dv_devx_subscribe_devx_event(channel, raw.cq, sizeof(types),
						types, 1);
}

static void unsubscribe(void)
{
	destroy_channel();
	CHECK_EQ(create_channel(), 0);
}

static struct mlx5dv_devx_cmd_comp *comp;

static int create_comp(void)
{
	comp = mlx5dv_devx_create_cmd_comp(dev.ctx);
	return comp ? 0 : errno;
}

static void destroy_comp(void)
{
	mlx5dv_devx_destroy_cmd_comp(comp);
}

static int query(void)
{
	uint8_t in[PRM_HEAD];

	prm_head(in, PRM_QUERY_CQ, raw.cqn);
	return mlx5dv_devx_obj_query_async(raw.cq, in, sizeof(in), PRM_CQ_OUT,
					   7, comp);
}

static void take_answer(void)
{
	struct {
		uint64_t wr_id;
		uint8_t out[PRM_CQ_OUT];
	} answer;

	CHECK_EQ(mlx5dv_devx_get_async_cmd_comp(comp, (void *)&answer,
						sizeof(answer)),
		 0);
	CHECK_EQ(answer.wr_id, 7);
}

/* The same for shared receives, channels, subscriptions and answers. */
static void vn23_raw_events(void)
{
	begin();
	raw_places(&raw, false);
	raw_pool_places(&pool, false);
	sweep(&(struct op){ "shared receives", create_pool, destroy,
			    .at_least = 8, .lasting = 1 });
	sweep(&(struct op){ "channel", create_channel, destroy_channel,
			    .at_least = 3, .lasting = 1 });
	CHECK_EQ(create_channel(), 0);
	sweep(&(struct op){ "subscription", subscribe, unsubscribe,
			    .at_least = 3, .lasting = 1 });
	destroy_channel();
	sweep(&(struct op){ "file of answers", create_comp, destroy_comp,
			    .at_least = 3, .lasting = 1 });
	CHECK_EQ(create_comp(), 0);
	sweep(&(struct op){ "query", query, take_answer, .at_least = 2,
			    .lasting = 1 });
	destroy_comp();
	raw_free(&raw);
	CHECK_EQ(mlx5dv_devx_umem_dereg(pool.umem), 0);
	end();
}

/* The same for queues on umems. */
static void vn20_queues(void)
{
	begin();
	domain = own_domain(&own, dev.pd);
	plain_cq = MUST(ibv_create_cq(dev.ctx, 100, NULL, NULL, 0));
	sweep(&(struct op){ "CQ on a umem", create_cq, destroy_cq,
			    .at_least = 11, .lasting = 1 });
	own_check(&own);
	sweep(&(struct op){ "QP on umems", create_qp, destroy_qp,
			    .at_least = 25, .lasting = 1, SWEEP_NO_RESTRACK });
	own_check(&own);
	sweep(&(struct op){ "SRQ on a umem", create_srq, destroy_srq,
			    .at_least = 14, .lasting = 1 });
	own_check(&own);
	CHECK_EQ(ibv_destroy_cq(plain_cq), 0);
	CHECK_EQ(ibv_dealloc_pd(domain), 0);
	end();
}

static struct ibv_context *uar_context;
static struct mlx5dv_devx_uar *uar;

static int alloc_uar(void)
{
	uar = mlx5dv_devx_alloc_uar(uar_context, 1);
	return uar ? 0 : errno;
}

static void free_uar(void)
{
	mlx5dv_devx_free_uar(uar);
}

#ifdef HAVE_EXPORT
static int export_uar(void)
{
	fd = mlx5dv_devx_uar_export_dmabuf_fd(uar);
	return fd >= 0 ? 0 : errno;
}

static void close_fd(void)
{
	CHECK_EQ(close(fd), 0);
}
#endif

/* The same for doorbell pages and their dma-bufs. */
static void vn21_uar(void)
{
	struct mlx5dv_devx_uar *first;

	begin();
	/* The second page of a context makes the kernel create a table of pages. */
	uar_context = device_another();
	first = MUST(mlx5dv_devx_alloc_uar(uar_context, 1));
	sweep(&(struct op){ "UAR", alloc_uar, free_uar, .at_least = 9,
			    .lasting = 1 });
#ifdef HAVE_EXPORT
	CHECK_EQ(alloc_uar(), 0);
	sweep(&(struct op){ "UAR exported", export_uar, close_fd, .at_least = 4,
			    .lasting = 1 });
	free_uar();
#endif
	mlx5dv_devx_free_uar(first);
	CHECK_EQ(ibv_close_device(uar_context), 0);
	end();
}

/* ---------------------------------------------------------------------- ends */

#define MAKE(what, call, made)         \
	static void *make_##what(void) \
	{                              \
		CHECK_EQ(call(), 0);   \
		return made;           \
	}

MAKE(umem, reg, made)
MAKE(key, create, obj)
MAKE(pd, create_pd, obj)
MAKE(raw_cq, create_raw_cq, raw_cq)
MAKE(raw_qp, create_raw_qp, obj)
MAKE(pool, create_pool, obj)

static int end_umem(void *it)
{
	return mlx5dv_devx_umem_dereg(it);
}

static int end_obj(void *it)
{
	return mlx5dv_devx_obj_destroy(it);
}

/*
 * Each allocation of the end of what has been made by command: it ends, at once or with the next
 * try. To close a channel, or a file of answers, allocates nothing. Queues on umems and doorbell
 * pages are not here: the library, if it is not told that one has ended, keeps the memory of the one
 * and forgets the other.
 */
static void vn24_ends(void)
{
	static const struct ending ends[] = {
		{ "end of a umem", make_umem, end_umem, 1, NULL },
		{ "end of a key", make_key, end_obj, 1, ENDING_UNLISTED },
		{ "end of a PD", make_pd, end_obj, 1, ENDING_UNLISTED },
		{ "end of a raw CQ", make_raw_cq, end_obj, 1, ENDING_UNLISTED },
		{ "end of a raw QP", make_raw_qp, end_obj, 1, ENDING_UNLISTED },
		{ "end of shared receives", make_pool, end_obj, 1,
		  ENDING_UNLISTED },
	};

	begin();
	raw_places(&raw, false);
	raw_pool_places(&pool, false);
	sweep_ends(ends, ARRAY_SIZE(ends));
	raw_free(&raw);
	CHECK_EQ(mlx5dv_devx_umem_dereg(pool.umem), 0);
	end();
}

static const struct test tests[] = {
	LONG_TEST(vn15_umem, "VN15-umem", 300),
	LONG_TEST(vn16_key, "VN16-key-of-a-umem", 300),
	LONG_TEST(vn17_pieces, "VN17-key-of-pieces", 300),
	LONG_TEST(vn18_pd, "VN18-PD-and-capabilities", 300),
	LONG_TEST(vn19_dmabuf, "VN19-dma-bufs", 300),
	LONG_TEST(vn20_queues, "VN20-queues-on-umems", 300),
	LONG_TEST(vn21_uar, "VN21-doorbell-pages", 300),
	LONG_TEST(vn22_raw, "VN22-queues-by-command", 300),
	LONG_TEST(vn23_raw_events, "VN23-events-and-answers", 300),
	LONG_TEST(vn24_ends, "VN24-ends-of-what-was-made-by-command", 300),
};

HARNESS_MAIN("faults in calls of mlx5dv", tests)
