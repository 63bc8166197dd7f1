// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The provider explains its refusals: each kind leaves one line in libibverbs' log, and nothing
 * else does.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "newer.h"
#include "own.h"

static char log_path[] = "/tmp/pinion-refuse.XXXXXX";
static long read_so_far;

/* What was logged since the last call. */
static const char *logged(void)
{
	static char text[64 * 1024];
	size_t got;
	FILE *file;

	fflush(NULL);
	file = MUST(fopen(log_path, "r"));
	fseek(file, read_so_far, SEEK_SET);
	got = fread(text, 1, sizeof(text) - 1, file);
	text[got] = 0;
	read_so_far += got;
	fclose(file);
	return text;
}

/* One line with this errno and these words was logged. */
static void expect_line(int line, const char *name, const char *words)
{
	const char *text = logged(), *end = strchr(text, '\n');

	if (!end || end[1])
		failed(__FILE__, line, "not one line was logged: %s", text);
	if (!strstr(text, name) || !strstr(text, words))
		failed(__FILE__, line, "want %s and \"%s\" in: %s", name, words,
		       text);
	if (strncmp(text, ibv_get_device_name(dev.ctx->device),
		    strlen(ibv_get_device_name(dev.ctx->device))))
		failed(__FILE__, line, "no name of the device: %s", text);
}

/* A call that returns NULL, and one that returns an errno. */
#define NO_OBJECT(call, err, words)                   \
	do {                                          \
		MUST_NOT(call, err);                  \
		expect_line(__LINE__, #err, (words)); \
	} while (0)
#define NO(call, err, words)                          \
	do {                                          \
		CHECK_EQ(call, err);                  \
		expect_line(__LINE__, #err, (words)); \
	} while (0)

static void begin(void)
{
	if (!dev.pinion)
		skip("another provider");
	logged();
}

static struct ibv_cq *new_cq(void)
{
	return MUST(ibv_create_cq(dev.ctx, 16, NULL, NULL, 0));
}

static struct ibv_qp_init_attr_ex qp_attr(void)
{
	struct ibv_cq *cq = new_cq();

	return (struct ibv_qp_init_attr_ex){
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 8, 8, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = dev.pd,
	};
}

/* Queue pairs that the provider refuses: the errno, and the words in its log. */
static void queue_pairs(void)
{
	struct ibv_qp_init_attr_ex attr;

	begin();
	attr = qp_attr();
	attr.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	NO_OBJECT(ibv_create_qp_ex(dev.ctx, &attr), EOPNOTSUPP, "create_flags");
	attr.create_flags = 0;
	attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
	NO_OBJECT(ibv_create_qp_ex(dev.ctx, &attr), EOPNOTSUPP, "comp_mask");
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_TSO;
	NO_OBJECT(ibv_create_qp_ex(dev.ctx, &attr), EOPNOTSUPP,
		  "send_ops_flags");
}

/* The same for completion queues. */
static void completion_queues(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };
	struct ibv_poll_cq_attr poll = { .comp_mask = 1 };
	struct ibv_cq_ex *cq;

	begin();
	attr.wc_flags = IBV_WC_EX_WITH_CVLAN;
	NO_OBJECT(ibv_create_cq_ex(dev.ctx, &attr), EOPNOTSUPP, "wc_flags");
	attr.wc_flags = 0;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = 1 << 20;
	NO_OBJECT(ibv_create_cq_ex(dev.ctx, &attr), EOPNOTSUPP, "flags");
	attr.flags = 0;
	cq = MUST(ibv_create_cq_ex(dev.ctx, &attr));
	NO(ibv_start_poll(cq, &poll), EINVAL, "comp_mask");
}

/* The same for shared receive queues. */
static void shared_queues(void)
{
	struct ibv_srq_init_attr_ex attr = { .attr = { 16, 1, 0 },
					     .comp_mask =
						     IBV_SRQ_INIT_ATTR_TYPE,
					     .srq_type = IBV_SRQT_XRC };
	struct ibv_recv_wr wr = { .num_sge = 7 }, *bad;
	struct ibv_srq *srq;
	uint32_t number;

	begin();
	NO_OBJECT(ibv_create_srq_ex(dev.ctx, &attr), EINVAL, "no domain");
	attr.pd = dev.pd;
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	attr.srq_type = IBV_SRQT_TM;
	NO_OBJECT(ibv_create_srq_ex(dev.ctx, &attr), EOPNOTSUPP, "srq_type");
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_TM;
	NO_OBJECT(ibv_create_srq_ex(dev.ctx, &attr), EOPNOTSUPP, "comp_mask");
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	attr.srq_type = IBV_SRQT_BASIC;
	srq = MUST(ibv_create_srq_ex(dev.ctx, &attr));
	NO(ibv_get_srq_num(srq, &number), EOPNOTSUPP, "number");
	NO(ibv_post_srq_recv(srq, &wr, &bad), EINVAL, "max_sge");
}

/* The same for domains and parent domains. */
static void domains(void)
{
	struct ibv_parent_domain_init_attr attr = { .comp_mask = 1u << 20 };
	struct ibv_td_init_attr td_attr = { .comp_mask = 1 };
	struct ibv_pd *pd, *parent;
	struct ibv_td *td;

	begin();
	NO_OBJECT(ibv_alloc_td(dev.ctx, &td_attr), EOPNOTSUPP, "comp_mask");
	NO_OBJECT(ibv_alloc_parent_domain(dev.ctx, &attr), EINVAL, "domain");
	pd = MUST(ibv_alloc_pd(dev.ctx));
	attr.pd = pd;
	NO_OBJECT(ibv_alloc_parent_domain(dev.ctx, &attr), EINVAL, "comp_mask");
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	NO_OBJECT(ibv_alloc_parent_domain(dev.ctx, &attr), EINVAL, "allocator");
	attr.comp_mask = 0;
	td_attr.comp_mask = 0;
	td = MUST(ibv_alloc_td(dev.ctx, &td_attr));
	attr.td = td;
	parent = MUST(ibv_alloc_parent_domain(dev.ctx, &attr));
	NO(ibv_dealloc_td(td), EBUSY, "parent domains");
	NO(ibv_dealloc_pd(pd), EBUSY, "parent domains");
	CHECK_EQ(ibv_dealloc_pd(parent), 0);
	CHECK_EQ(ibv_dealloc_td(td), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

/* ibv_alloc_parent_domain(3): objects in it have to be destroyed first. */
static void domain_in_use(void)
{
	struct ibv_parent_domain_init_attr attr = { .pd = dev.pd };
	struct ibv_srq_init_attr srq_attr = { .attr = { 16, 1, 0 } };
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 16,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
	};
	struct qp_cfg cfg = {};
	struct ibv_pd *parent;
	struct ibv_cq_ex *cq;
	struct ibv_srq *srq;
	struct end end;

	begin();
	parent = MUST(ibv_alloc_parent_domain(dev.ctx, &attr));
	cfg.pd = parent;
	end_make(&end, &cfg);
	NO(ibv_dealloc_pd(parent), EBUSY, "queues");
	end_free(&end);
	srq = MUST(ibv_create_srq(parent, &srq_attr));
	NO(ibv_dealloc_pd(parent), EBUSY, "queues");
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	cq_attr.parent_domain = parent;
	cq = MUST(ibv_create_cq_ex(dev.ctx, &cq_attr));
	NO(ibv_dealloc_pd(parent), EBUSY, "queues");
	CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	CHECK_EQ(ibv_dealloc_pd(parent), 0);
}

/* The same for allocators that give no memory, or none that can be written. */
static void allocators(void)
{
	struct own own = { .answer = OWN_NOTHING };
	struct ibv_srq_init_attr attr = { .attr = { 16, 1, 0 } };
	struct ibv_pd *pd;

	begin();
	pd = own_domain(&own, dev.pd);
	NO_OBJECT(ibv_create_srq(pd, &attr), ENOMEM, "allocator");
	own.answer = OWN_READ_ONLY;
	CHECK(!ibv_create_srq(pd, &attr));
	CHECK(strstr(logged(), "allocator's memory"));
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

/* The same for device memory. */
static void device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096, .comp_mask = 1 };
	struct ibv_dm *dm;
	char some[8] = "";

	begin();
	NO_OBJECT(ibv_alloc_dm(dev.ctx, &attr), EOPNOTSUPP, "comp_mask");
	attr.comp_mask = 0;
	dm = MUST(ibv_alloc_dm(dev.ctx, &attr));
	NO(ibv_memcpy_to_dm(dm, 2, some, 4), EINVAL, "multiples of 4");
	NO(ibv_memcpy_from_dm(some, dm, 4096, 4), EINVAL, "4 bytes at 4096");
	CHECK_EQ(ibv_free_dm(dm), 0);
}

/* The same for ibv_reg_mr_ex(). */
static void regions(void)
{
#ifdef HAVE_REG_MR_EX
	struct ibv_mr_init_attr attr = { .length = 4096,
					 .comp_mask = 1u << 30 };

	begin();
	NO_OBJECT(ibv_reg_mr_ex(dev.pd, &attr), EOPNOTSUPP, "comp_mask");
	attr.comp_mask = IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_ADDR;
	NO_OBJECT(ibv_reg_mr_ex(dev.pd, &attr), EINVAL, "fd");
	attr.comp_mask = 0;
	NO_OBJECT(ibv_reg_mr_ex(dev.pd, &attr), EINVAL, "addr");
#else
	no_reg_mr_ex();
#endif
}

/* The same for clocks. */
static void clocks(void)
{
	struct ibv_values_ex values = { .comp_mask = 1u << 20 };

	begin();
	NO(ibv_query_rt_values_ex(dev.ctx, &values), EINVAL, "values");
}

static int post_one(struct end *end, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(end->qp, &wr, &bad);
}

/* The same for requests that cannot be posted. */
static void posted_sends(void)
{
	enum { MANY = 4096 };
	static struct ibv_send_wr many[MANY];
	struct qp_cfg cfg = { .inline_data = 16 }, ud = { .type = IBV_QPT_UD };
	struct region r = region_new(4096, 0, ALL_ACCESS);
	struct ibv_sge sges[8] = { sge_of(&r, 0, 4096) };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE }, *bad;
	struct ibv_mw_bind bind = {};
	struct end fresh, dgram;
	struct link link;
	struct peer self;
	struct ibv_mw *mw;
	int i;

	begin();
	end_make(&fresh, &cfg);
	wr.sg_list = sges;
	NO(post_one(&fresh, wr), EINVAL, "may not send yet");
	link_make(&link, &cfg);
	wr.num_sge = 1000;
	NO(post_one(&link.a, wr), EINVAL, "max_send_sge");
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_INLINE;
	NO(post_one(&link.a, wr), EINVAL, "max_inline_data");
	wr.opcode = IBV_WR_RDMA_READ;
	NO(post_one(&link.a, wr), EINVAL, "no inline data");
	wr.send_flags = 1 << 20;
	NO(post_one(&link.a, wr), EINVAL, "send_flags");
	wr.send_flags = 0;
	wr.opcode = IBV_WR_TSO;
	NO(post_one(&link.a, wr), EINVAL, "opcode");
	wr.opcode = 77;
	NO(post_one(&link.a, wr), EINVAL, "opcode 77");
	mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2));
	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = mw;
	wr.bind_mw.bind_info.length = 1;
	NO(post_one(&link.a, wr), EINVAL, "no MR");
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1));
	bind.bind_info.mw_access_flags = IBV_ACCESS_ZERO_BASED;
	bind.bind_info.mr = r.mr;
	NO(ibv_bind_mw(link.a.qp, mw, &bind), EINVAL, "zero-based");
	CHECK_EQ(ibv_dealloc_mw(mw), 0);

	for (i = 0; i < MANY; i++) {
		many[i].opcode = IBV_WR_RDMA_WRITE;
		many[i].wr.rdma.rkey = r.rkey;
		many[i].wr.rdma.remote_addr = r.base;
		many[i].next = i < MANY - 1 ? &many[i + 1] : NULL;
	}
	NO(ibv_post_send(link.a.qp, many, &bad), ENOMEM, "in use");

	end_make(&dgram, &ud);
	end_init(&dgram);
	self = end_peer(&dgram);
	end_connect(&dgram, &self);
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND };
	NO(post_one(&dgram, wr), EINVAL, "address handle");
	wr.opcode = IBV_WR_RDMA_READ;
	NO(post_one(&dgram, wr), EINVAL, "opcode");
}

static void wr_begin(struct end *end)
{
	ibv_wr_start(end->ex);
	end->ex->wr_flags = 0;
}

/* The same for requests that are built. */
static void built_sends(void)
{
	struct qp_cfg cfg = { .inline_data = 16 };
	struct region r = region_new(4096, 0, ALL_ACCESS);
	struct ibv_mw_bind_info info = { .length = 1 };
	struct ibv_sge sges[8] = { sge_of(&r, 0, 8) };
	struct ibv_mw *mw;
	struct link link;
	struct end fresh;
	int i;

	begin();
	mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2));
	end_make(&fresh, &cfg);
	wr_begin(&fresh);
	ibv_wr_send(fresh.ex);
	NO(ibv_wr_complete(fresh.ex), EINVAL, "may not send yet");
	link_make(&link, &cfg);
	wr_begin(&link.a);
	ibv_wr_send(link.a.ex);
	ibv_wr_set_sge_list(link.a.ex, 1000, sges);
	NO(ibv_wr_complete(link.a.ex), EINVAL, "max_send_sge");
	wr_begin(&link.a);
	ibv_wr_send(link.a.ex);
	ibv_wr_set_inline_data(link.a.ex, r.buf->data, 4096);
	NO(ibv_wr_complete(link.a.ex), EINVAL, "max_inline_data");
	wr_begin(&link.a);
	ibv_wr_bind_mw(link.a.ex, mw, ibv_inc_rkey(mw->rkey), &info);
	NO(ibv_wr_complete(link.a.ex), EINVAL, "no MR");
#ifdef HAVE_WR_FLUSH
	wr_begin(&link.a);
	ibv_wr_flush(link.a.ex, r.rkey, r.base, (size_t)1 << 32,
		     IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	NO(ibv_wr_complete(link.a.ex), EINVAL, "a flush of");
#endif
	wr_begin(&link.a);
	for (i = 0; i < 4096; i++)
		ibv_wr_rdma_write(link.a.ex, r.rkey, r.base);
	NO(ibv_wr_complete(link.a.ex), ENOMEM, "in use");

	cfg.type = IBV_QPT_UC;
	link_make(&link, &cfg);
	wr_begin(&link.a);
	ibv_wr_rdma_read(link.a.ex, r.rkey, r.base);
	NO(ibv_wr_complete(link.a.ex), EINVAL, "opcode");
}

/* The same for receives. */
static void posted_receives(void)
{
	struct ibv_srq_init_attr attr = { .attr = { 16, 1, 0 } };
	struct ibv_recv_wr wr = {}, *bad;
	struct qp_cfg cfg = {};
	struct end end;
	int err, i;

	begin();
	end_make(&end, NULL);
	NO(ibv_post_recv(end.qp, &wr, &bad), EINVAL, "RESET");
	end_init(&end);
	wr.num_sge = 99;
	NO(ibv_post_recv(end.qp, &wr, &bad), EINVAL, "max_sge");
	wr.num_sge = 0;
	err = 0;
	for (i = 0; i < 4096 && !err; i++)
		err = ibv_post_recv(end.qp, &wr, &bad);
	NO(err, ENOMEM, "are posted");

	cfg.srq = MUST(ibv_create_srq(dev.pd, &attr));
	end_make(&end, &cfg);
	end_init(&end);
	NO(ibv_post_recv(end.qp, &wr, &bad), EINVAL, "no receive queue");
}

/* A completion queue that has overflowed says so. */
static void lost_completions(void)
{
	struct qp_cfg cfg = { .wr = 256, .cqe = 1, .sig_all = true };
	struct region r = region_new(4096, 0, ALL_ACCESS);
	double end = now() + patience(20);
	struct link link;
	struct ibv_wc wc;
	int got, i;

	begin();
	link_make(&link, &cfg);
	for (i = 0; i < 200; i++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };

		wr.wr.rdma.rkey = r.rkey;
		wr.wr.rdma.remote_addr = r.base;
		if (post_one(&link.a, wr))
			break;
	}
	/* The QP may have changed its state meanwhile; ignore what that logged. */
	usleep(patience(0.3) * 1e6);
	logged();
	do {
		got = ibv_poll_cq(link.a.scq, 1, &wc);
	} while (got >= 0 && now() < end);
	NO(-got, EOVERFLOW, "lost");
}

/* Calls that succeed log nothing. */
static void silence(void)
{
	struct region a, b;
	struct link link;

	begin();
	a = region_new(65536, 100, ALL_ACCESS);
	b = region_new(65536, 100, ALL_ACCESS);
	link_make(&link, NULL);
	exchange(&link, &a, &b);
	link_free(&link);
	region_free(&a);
	region_free(&b);
	if (*logged())
		FAIL("something was logged");
}

static const struct test tests[] = {
	TEST(queue_pairs, "queue pairs"),
	TEST(completion_queues, "completion queues"),
	TEST(shared_queues, "shared receive queues"),
	TEST(domains, "domains"),
	TEST(domain_in_use, "a parent domain with queues in it"),
	TEST(allocators, "allocators without memory"),
	TEST(device_memory, "device memory"),
	TEST(regions, "ibv_reg_mr_ex"),
	TEST(clocks, "clocks"),
	TEST(posted_sends, "ibv_post_send"),
	TEST(built_sends, "ibv_wr_"),
	TEST(posted_receives, "ibv_post_recv"),
	TEST(lost_completions, "lost completions"),
	TEST(silence, "no refusal, no line"),
};

int main(int argc, char **argv)
{
	int fd = mkstemp(log_path), rc;

	/* Set before libibverbs reads them. */
	setenv("VERBS_LOG_LEVEL", "4", 1);
	setenv("VERBS_LOG_FILE", log_path, 1);
	rc = harness_main(argc, argv, "Why the provider refuses", tests,
			  ARRAY_SIZE(tests));
	close(fd);
	unlink(log_path);
	return rc;
}
