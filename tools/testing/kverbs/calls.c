// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Calls of kernel verbs, which a process has made in its own context, so that injected faults
 * (fail-nth) hit them: it opens the file `calls' in debugfs and writes the name of a call. Each
 * call makes an object and destroys it, or changes one that was made when the file was opened.
 * write() fails as the call does.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <rdma/ib_cache.h>

#include "kverbs.h"

enum { DEPTH = 16, PORT = 1, PAGES = 4, QKEY = 0x1234 };

static struct {
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *rc, *ud;
	struct ib_mr *mr;
	struct page *page[PAGES];
	struct scatterlist sg[PAGES];
	struct rdma_ah_attr address;
	int mapped;
} base;

/* ------------------------------------------------------------------------ calls */

static int call_pd(void)
{
	struct ib_pd *pd = ib_alloc_pd(base.pd->device, 0);

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ib_dealloc_pd(pd);
	return 0;
}

static int call_unsafe_pd(void)
{
	struct ib_pd *pd = __ib_alloc_pd(base.pd->device, IB_PD_UNSAFE_GLOBAL_RKEY, KBUILD_MODNAME);

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ib_dealloc_pd(pd);
	return 0;
}

static int calls_cq(enum ib_poll_context context)
{
	struct ib_cq *cq = ib_alloc_cq(base.pd->device, NULL, 4 * DEPTH, 0, context);

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ib_free_cq(cq);
	return 0;
}

static int call_cq_direct(void)
{
	return calls_cq(IB_POLL_DIRECT);
}

static int call_cq_softirq(void)
{
	return calls_cq(IB_POLL_SOFTIRQ);
}

static int call_cq_workqueue(void)
{
	return calls_cq(IB_POLL_WORKQUEUE);
}

static struct ib_qp *calls_qp_new(enum ib_qp_type type)
{
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 2, .max_recv_sge = 2 },
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = type,
		.send_cq = base.cq,
		.recv_cq = base.cq,
	};

	return ib_create_qp(base.pd, &attr);
}

static int calls_qp(enum ib_qp_type type)
{
	struct ib_qp *qp = calls_qp_new(type);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	/* Those who call it have nothing to do if it fails. */
	WARN_ON(ib_destroy_qp(qp));
	return 0;
}

static int call_rc(void)
{
	return calls_qp(IB_QPT_RC);
}

static int call_ud(void)
{
	return calls_qp(IB_QPT_UD);
}

static int call_srq(void)
{
	struct ib_srq_init_attr attr = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct ib_srq *srq = ib_create_srq(base.pd, &attr);

	if (IS_ERR(srq))
		return PTR_ERR(srq);
	ib_destroy_srq(srq);
	return 0;
}

static int calls_mr(enum ib_mr_type type)
{
	struct ib_mr *mr = ib_alloc_mr(base.pd, type, PAGES);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	WARN_ON(ib_dereg_mr(mr));
	return 0;
}

static int call_mr(void)
{
	return calls_mr(IB_MR_TYPE_MEM_REG);
}

static int call_mr_gaps(void)
{
	return calls_mr(IB_MR_TYPE_SG_GAPS);
}

static int call_map(void)
{
	int n = ib_map_mr_sg(base.mr, base.sg, base.mapped, NULL, PAGE_SIZE);

	if (n < 0)
		return n;
	return n == base.mapped ? 0 : -EIO;
}

static int call_ah(void)
{
	struct ib_ah *ah = rdma_create_ah(base.pd, &base.address, RDMA_CREATE_AH_SLEEPABLE);

	if (IS_ERR(ah))
		return PTR_ERR(ah);
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	return 0;
}

/* The queue pair is reset first, and its own peer. */
static int call_connect(void)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	int err = ib_modify_qp(base.rc, &attr, IB_QP_STATE);

	return err ?: kverbs_connect(base.rc, base.rc->qp_num, &base.address);
}

static int call_query(void)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	return ib_query_qp(base.rc, &attr, IB_QP_STATE | IB_QP_AV, &init);
}

static int call_group(void)
{
	union ib_gid group = {
		.raw = { [10] = 0xff, 0xff, 239, 3, 3, 7 }
	};
	int err = ib_attach_mcast(base.ud, &group, 0);

	if (err)
		return err;
	WARN_ON(ib_detach_mcast(base.ud, &group, 0));
	return 0;
}

static const struct {
	const char *name;
	int (*call)(void);
} calls[] = {
	{ "pd", call_pd },
	{ "unsafe_pd", call_unsafe_pd },
	{ "cq_direct", call_cq_direct },
	{ "cq_softirq", call_cq_softirq },
	{ "cq_workqueue", call_cq_workqueue },
	{ "rc", call_rc },
	{ "ud", call_ud },
	{ "srq", call_srq },
	{ "mr", call_mr },
	{ "mr_gaps", call_mr_gaps },
	{ "map", call_map },
	{ "ah", call_ah },
	{ "connect", call_connect },
	{ "query", call_query },
	{ "group", call_group },
};

/* ------------------------------------------------------------------- their objects */

static void calls_base_free(void)
{
	int i;

	if (base.mapped)
		ib_dma_unmap_sg(base.pd->device, base.sg, PAGES, DMA_BIDIRECTIONAL);
	for (i = 0; i < PAGES; i++)
		if (base.page[i])
			__free_page(base.page[i]);
	if (!IS_ERR_OR_NULL(base.mr))
		ib_dereg_mr(base.mr);
	if (!IS_ERR_OR_NULL(base.ud))
		ib_destroy_qp(base.ud);
	if (!IS_ERR_OR_NULL(base.rc))
		ib_destroy_qp(base.rc);
	if (!IS_ERR_OR_NULL(base.cq))
		ib_free_cq(base.cq);
	if (!IS_ERR_OR_NULL(base.pd))
		ib_dealloc_pd(base.pd);
	memset(&base, 0, sizeof(base));
}

static int calls_ud_init(void)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = PORT, .qkey = QKEY };

	return ib_modify_qp(base.ud, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			    IB_QP_QKEY);
}

static int calls_base_make(struct ib_device *device)
{
	u8 mac[ETH_ALEN];
	union ib_gid gid;
	int i, index = kverbs_find_gid(device, &gid, mac);

	if (index < 0)
		return index;
	kverbs_address(device, &gid, index, mac, &base.address);
	base.pd = ib_alloc_pd(device, 0);
	if (IS_ERR(base.pd))
		return PTR_ERR(base.pd);
	base.cq = ib_alloc_cq(device, NULL, 4 * DEPTH, 0, IB_POLL_DIRECT);
	if (IS_ERR(base.cq))
		return PTR_ERR(base.cq);
	base.rc = calls_qp_new(IB_QPT_RC);
	if (IS_ERR(base.rc))
		return PTR_ERR(base.rc);
	base.ud = calls_qp_new(IB_QPT_UD);
	if (IS_ERR(base.ud))
		return PTR_ERR(base.ud);
	base.mr = ib_alloc_mr(base.pd, IB_MR_TYPE_MEM_REG, PAGES);
	if (IS_ERR(base.mr))
		return PTR_ERR(base.mr);
	sg_init_table(base.sg, PAGES);
	for (i = 0; i < PAGES; i++) {
		base.page[i] = alloc_page(GFP_KERNEL);
		if (!base.page[i])
			return -ENOMEM;
		sg_set_page(&base.sg[i], base.page[i], PAGE_SIZE, 0);
	}
	base.mapped = ib_dma_map_sg(device, base.sg, PAGES, DMA_BIDIRECTIONAL);
	if (!base.mapped)
		return -ENOMEM;
	return calls_ud_init();
}

/* ------------------------------------------------------------------------ the file */

static ssize_t calls_write(const char __user *from, size_t length, loff_t *offset)
{
	char name[32] = "";
	int i, err;

	if (length >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, from, length))
		return -EFAULT;
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (strcmp(name, calls[i].name))
			continue;
		err = calls[i].call();
		return err ?: length;
	}
	return -ENOENT;
}

struct kverbs_file calls_file = {
	.name = "calls",
	.make = calls_base_make,
	.free = calls_base_free,
	.write = calls_write,
};
