// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Records calls by pointers in the device's context: posting, polling, windows, and objects with
 * extended attributes.
 */
#include <stdio.h>
#include <string.h>

#include "record.h"

/* The device's original functions. */
struct device {
	struct ibv_context_ops ops;
	struct ibv_pd *(*alloc_parent_domain)(
		struct ibv_context *context,
		struct ibv_parent_domain_init_attr *attr);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *context,
					  struct ibv_cq_init_attr_ex *attr);
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *context,
				       struct ibv_qp_init_attr_ex *attr);
	struct ibv_srq *(*create_srq_ex)(struct ibv_context *context,
					 struct ibv_srq_init_attr_ex *attr);
	struct ibv_mr *(*reg_dm_mr)(struct ibv_pd *pd, struct ibv_dm *dm,
				    uint64_t offset, size_t length,
				    unsigned int access);
};

/* ------------------------------------------------------------------------ requests */

static void add_sges(struct line *line, const struct ibv_sge *sges, int num)
{
	int i;

	for (i = 0; i < num; i++)
		line_add(line, "%s0x%llx:%u:0x%x",
			 i ? "," : " sge=", (unsigned long long)sges[i].addr,
			 sges[i].length, sges[i].lkey);
}

static void add_remote(struct line *line, uint64_t addr, uint32_t rkey)
{
	line_add(line, " remote=0x%llx rkey=0x%x", (unsigned long long)addr,
		 rkey);
}

static void add_opcode(struct line *line, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
#ifdef HAVE_WR_FLUSH
	case IBV_WR_FLUSH:
	case IBV_WR_ATOMIC_WRITE:
#endif
		add_remote(line, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		add_remote(line, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey);
		break;
	case IBV_WR_LOCAL_INV:
	case IBV_WR_SEND_WITH_INV:
		line_add(line, " rkey=0x%x", wr->invalidate_rkey);
		break;
	case IBV_WR_BIND_MW:
		line_add(
			line,
			" mw=%p rkey=0x%x mr=%p addr=0x%llx length=%llu access=0x%x",
			(void *)wr->bind_mw.mw, wr->bind_mw.rkey,
			(void *)wr->bind_mw.bind_info.mr,
			(unsigned long long)wr->bind_mw.bind_info.addr,
			(unsigned long long)wr->bind_mw.bind_info.length,
			wr->bind_mw.bind_info.mw_access_flags);
		break;
	default:
		break;
	}
}

void line_send(const struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	struct line line;

	line_begin(&line, "post_send");
	line_add(&line, " qp=%p wr_id=0x%llx opcode=%d flags=0x%x",
		 (const void *)qp, (unsigned long long)wr->wr_id, wr->opcode,
		 wr->send_flags);
	if (qp->qp_type == IBV_QPT_UD)
		line_add(&line, " ah=%p dest_qpn=%u qkey=0x%x",
			 (void *)wr->wr.ud.ah, wr->wr.ud.remote_qpn,
			 wr->wr.ud.remote_qkey);
	else
		add_opcode(&line, wr);
	add_sges(&line, wr->sg_list, wr->num_sge);
	line_end(&line);
}

static void line_receive(const char *call, const char *name, const void *object,
			 const struct ibv_recv_wr *wr)
{
	struct line line;

	line_begin(&line, call);
	line_add(&line, " %s=%p wr_id=0x%llx", name, object,
		 (unsigned long long)wr->wr_id);
	add_sges(&line, wr->sg_list, wr->num_sge);
	line_end(&line);
}

static void line_refused(const char *name, const void *object, uint64_t wr_id,
			 int err)
{
	struct line line;

	line_begin(&line, "refused");
	line_add(&line, " %s=%p wr_id=0x%llx errno=%d", name, object,
		 (unsigned long long)wr_id, err);
	line_end(&line);
}

/*
 * The request of the list @wr that was refused. Some drivers do not say which: then its first, if
 * there is any.
 */
#define refused_of(wr, bad) ((bad) && *(bad) ? *(bad) : (wr))

/* Recorded before the call: another thread may poll the completion at once. */
static int watched_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
			struct ibv_send_wr **bad)
{
	struct device *device = kept(qp->context);
	struct ibv_send_wr *one;
	int err;

	for (one = wr; one; one = one->next)
		line_send(qp, one);
	err = device->ops.post_send(qp, wr, bad);
	if (err) {
		one = refused_of(wr, bad);
		line_refused("qp", qp, one ? one->wr_id : 0, err);
	}
	return err;
}

static int watched_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad)
{
	struct device *device = kept(qp->context);
	struct ibv_recv_wr *one;
	int err;

	for (one = wr; one; one = one->next)
		line_receive("post_recv", "qp", qp, one);
	err = device->ops.post_recv(qp, wr, bad);
	if (err) {
		one = refused_of(wr, bad);
		line_refused("qp", qp, one ? one->wr_id : 0, err);
	}
	return err;
}

static int watched_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			    struct ibv_recv_wr **bad)
{
	struct device *device = kept(srq->context);
	struct ibv_recv_wr *one;
	int err;

	for (one = wr; one; one = one->next)
		line_receive("post_srq_recv", "srq", srq, one);
	err = device->ops.post_srq_recv(srq, wr, bad);
	if (err) {
		one = refused_of(wr, bad);
		line_refused("srq", srq, one ? one->wr_id : 0, err);
	}
	return err;
}

/* --------------------------------------------------------------------- completions */

void line_completion(const struct ibv_cq *cq, const struct ibv_wc *wc)
{
	struct line line;

	line_begin(&line, "completion");
	line_add(&line, " cq=%p qpn=%u wr_id=0x%llx status=%d",
		 (const void *)cq, wc->qp_num, (unsigned long long)wc->wr_id,
		 wc->status);
	if (wc->status == IBV_WC_SUCCESS)
		line_add(&line, " opcode=%d bytes=%u flags=0x%x", wc->opcode,
			 wc->byte_len, wc->wc_flags);
	line_end(&line);
}

static int watched_poll(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	struct device *device = kept(cq->context);
	int got = device->ops.poll_cq(cq, num, wc), i;

	for (i = 0; i < got; i++)
		line_completion(cq, &wc[i]);
	return got;
}

/* ------------------------------------------------------------------------- windows */

static struct ibv_mw *watched_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct device *device = kept(pd->context);
	struct ibv_mw *mw = device->ops.alloc_mw(pd, type);
	struct line line;

	line_begin(&line, "alloc_mw");
	line_add(&line, " mw=%p pd=%p type=%d rkey=0x%x", (void *)mw,
		 (void *)pd, type, mw ? mw->rkey : 0);
	line_done(&line, mw);
	return mw;
}

static int watched_dealloc_mw(struct ibv_mw *mw)
{
	struct device *device = kept(mw->context);
	struct line line;
	int err;

	line_begin(&line, "dealloc_mw");
	line_add(&line, " mw=%p", (void *)mw);
	err = device->ops.dealloc_mw(mw);
	errno = err;
	line_done(&line, !err);
	return err;
}

static int watched_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
			   struct ibv_mw_bind *bind)
{
	struct device *device = kept(qp->context);
	struct line line;
	int err;

	line_begin(&line, "bind_mw");
	line_add(
		&line,
		" qp=%p mw=%p wr_id=0x%llx flags=0x%x mr=%p addr=0x%llx length=%llu access=0x%x",
		(void *)qp, (void *)mw, (unsigned long long)bind->wr_id,
		bind->send_flags, (void *)bind->bind_info.mr,
		(unsigned long long)bind->bind_info.addr,
		(unsigned long long)bind->bind_info.length,
		bind->bind_info.mw_access_flags);
	err = device->ops.bind_mw(qp, mw, bind);
	line_add(&line, " rkey=0x%x", mw->rkey);
	errno = err;
	line_done(&line, !err);
	return err;
}

/* ------------------------------------------------------- objects with many attributes */

static struct ibv_pd *
watched_parent_domain(struct ibv_context *context,
		      struct ibv_parent_domain_init_attr *attr)
{
	struct device *device = kept(context);
	struct ibv_pd *pd = device->alloc_parent_domain(context, attr);

	line_new_pd(context, pd);
	return pd;
}

static struct ibv_cq_ex *watched_cq_ex(struct ibv_context *context,
				       struct ibv_cq_init_attr_ex *attr)
{
	struct device *device = kept(context);
	struct ibv_cq_ex *cq = device->create_cq_ex(context, attr);

	line_new_cq(context, attr->cqe, cq ? ibv_cq_ex_to_cq(cq) : NULL);
	if (cq)
		poller_watch(cq);
	return cq;
}

static struct ibv_qp *watched_qp_ex(struct ibv_context *context,
				    struct ibv_qp_init_attr_ex *attr)
{
	struct device *device = kept(context);
	struct ibv_qp *qp = device->create_qp_ex(context, attr);
	struct ibv_pd *pd = attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd :
								    NULL;

	/* The attributes of the simple call are their first. */
	line_new_qp(pd, (const struct ibv_qp_init_attr *)attr, qp);
	if (qp && (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		builder_watch(ibv_qp_to_qp_ex(qp));
	return qp;
}

static struct ibv_srq *watched_srq_ex(struct ibv_context *context,
				      struct ibv_srq_init_attr_ex *attr)
{
	struct device *device = kept(context);
	struct ibv_srq *srq = device->create_srq_ex(context, attr);
	struct ibv_pd *pd = attr->comp_mask & IBV_SRQ_INIT_ATTR_PD ? attr->pd :
								     NULL;

	line_new_srq(pd, &attr->attr, srq);
	return srq;
}

static struct ibv_mr *watched_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
					uint64_t offset, size_t length,
					unsigned int access)
{
	struct device *device = kept(pd->context);
	struct ibv_mr *mr = device->reg_dm_mr(pd, dm, offset, length, access);

	line_new_mr("device", pd, NULL, length, offset, access, mr);
	return mr;
}

/* ------------------------------------------------------------------------- devices */

#define WATCH(which, own, ours)                       \
	do {                                          \
		if ((device->own) = (which), (which)) \
			(which) = (ours);             \
	} while (0)

void posts_watch(struct ibv_context *context)
{
	struct verbs_context *more = verbs_get_ctx(context);
	struct device *device = kept_new(context, sizeof(*device));

	if (!device)
		return;
	WATCH(context->ops.post_send, ops.post_send, watched_send);
	WATCH(context->ops.post_recv, ops.post_recv, watched_recv);
	WATCH(context->ops.post_srq_recv, ops.post_srq_recv, watched_srq_recv);
	WATCH(context->ops.poll_cq, ops.poll_cq, watched_poll);
	WATCH(context->ops.alloc_mw, ops.alloc_mw, watched_alloc_mw);
	WATCH(context->ops.dealloc_mw, ops.dealloc_mw, watched_dealloc_mw);
	WATCH(context->ops.bind_mw, ops.bind_mw, watched_bind_mw);
	if (!more)
		return;
	WATCH(more->alloc_parent_domain, alloc_parent_domain,
	      watched_parent_domain);
	WATCH(more->create_cq_ex, create_cq_ex, watched_cq_ex);
	WATCH(more->create_qp_ex, create_qp_ex, watched_qp_ex);
	WATCH(more->create_srq_ex, create_srq_ex, watched_srq_ex);
	WATCH(more->reg_dm_mr, reg_dm_mr, watched_reg_dm_mr);
}

void posts_forget(struct ibv_context *context)
{
	kept_end(context);
}
