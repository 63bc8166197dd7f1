// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Records the functions that libibverbs exports, by calling the original ones.
 */
#define _GNU_SOURCE
#include <string.h>

#include "record.h"

/* Macros in the header; here the functions are defined. */
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* The original function of libibverbs. */
#define OWN(call)                                                       \
	({                                                              \
		static __typeof__(&call) own;                           \
		if (!own)                                               \
			own = (__typeof__(own))dlsym(RTLD_NEXT, #call); \
		own;                                                    \
	})

/* -------------------------------------------------------------- devices and domains */

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *context = OWN(ibv_open_device)(device);
	struct line line;

	line_begin(&line, "open_device");
	line_add(&line, " context=%p device=%s", (void *)context,
		 ibv_get_device_name(device));
	line_done(&line, context);
	if (context)
		posts_watch(context);
	return context;
}

struct ibv_context *ibv_import_device(int fd)
{
	struct ibv_context *context = OWN(ibv_import_device)(fd);
	struct line line;

	line_begin(&line, "import_device");
	line_add(&line, " context=%p", (void *)context);
	line_done(&line, context);
	if (context)
		posts_watch(context);
	return context;
}

int ibv_close_device(struct ibv_context *context)
{
	struct line line;

	line_begin(&line, "close_device");
	line_add(&line, " context=%p", (void *)context);
	line_end(&line);
	posts_forget(context);
	return OWN(ibv_close_device)(context);
}

void line_new_pd(struct ibv_context *context, struct ibv_pd *pd)
{
	struct line line;

	line_begin(&line, "alloc_pd");
	line_add(&line, " context=%p pd=%p", (void *)context, (void *)pd);
	line_done(&line, pd);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = OWN(ibv_alloc_pd)(context);

	line_new_pd(context, pd);
	return pd;
}

/* Recorded before the object is destroyed: its address may be reused at once. */
static void line_ends(const char *call, const char *name, const void *object)
{
	struct line line;

	line_begin(&line, call);
	line_add(&line, " %s=%p", name, object);
	line_end(&line);
}

static int line_refused(const char *name, const void *object, int err)
{
	struct line line;

	if (err) {
		line_begin(&line, "refused");
		line_add(&line, " %s=%p errno=%d", name, object, err);
		line_end(&line);
	}
	return err;
}

#define END(call, name, object)                                      \
	({                                                           \
		line_ends(#call, name, object);                      \
		line_refused(name, object, OWN(ibv_##call)(object)); \
	})

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return END(dealloc_pd, "pd", pd);
}

/* ------------------------------------------------------------------------- regions */

void line_new_mr(const char *kind, const struct ibv_pd *pd, const void *addr,
		 size_t length, uint64_t iova, unsigned int access,
		 struct ibv_mr *mr)
{
	struct line line;

	line_begin(&line, "reg_mr");
	line_add(&line,
		 " kind=%s pd=%p addr=%p length=%zu iova=0x%llx access=0x%x",
		 kind, (const void *)pd, addr, length, (unsigned long long)iova,
		 access);
	if (mr)
		line_add(&line, " mr=%p lkey=0x%x rkey=0x%x", (void *)mr,
			 mr->lkey, mr->rkey);
	line_done(&line, mr);
}

/*
 * In some builds of libibverbs one function calls another one, which is recorded, too. Record only
 * the call that the program has made.
 */
static __thread int registering;

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			  int access)
{
	struct ibv_mr *mr;

	registering++;
	mr = OWN(ibv_reg_mr)(pd, addr, length, access);
	registering--;
	line_new_mr("memory", pd, addr, length, (uintptr_t)addr, access, mr);
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
			       uint64_t iova, int access)
{
	struct ibv_mr *mr;

	registering++;
	mr = OWN(ibv_reg_mr_iova)(pd, addr, length, iova, access);
	registering--;
	line_new_mr("memory", pd, addr, length, iova, access, mr);
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
				uint64_t iova, unsigned int access)
{
	struct ibv_mr *mr =
		OWN(ibv_reg_mr_iova2)(pd, addr, length, iova, access);

	if (!registering)
		line_new_mr("memory", pd, addr, length, iova, access, mr);
	return mr;
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				 size_t length, uint64_t iova, int fd,
				 int access)
{
	struct ibv_mr *mr =
		OWN(ibv_reg_dmabuf_mr)(pd, offset, length, iova, fd, access);

	line_new_mr("dmabuf", pd, (void *)(uintptr_t)offset, length, iova,
		    access, mr);
	return mr;
}

#ifdef HAVE_REG_MR_EX
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	struct ibv_mr *mr = OWN(ibv_reg_mr_ex)(pd, attr);
	bool has_fd = attr->comp_mask & IBV_REG_MR_MASK_FD;
	const void *addr = NULL;
	uint64_t iova;

	if (attr->comp_mask & IBV_REG_MR_MASK_ADDR)
		addr = attr->addr;
	else if (attr->comp_mask & IBV_REG_MR_MASK_FD_OFFSET)
		addr = (void *)(uintptr_t)attr->fd_offset;
	iova = attr->comp_mask & IBV_REG_MR_MASK_IOVA ? attr->iova :
							(uintptr_t)addr;
	line_new_mr(has_fd ? "dmabuf" : "memory", pd, addr, attr->length, iova,
		    attr->access, mr);
	return mr;
}
#endif

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
		 size_t length, int access)
{
	int result = OWN(ibv_rereg_mr)(mr, flags, pd, addr, length, access);
	struct line line;

	line_begin(&line, "rereg_mr");
	line_add(
		&line,
		" mr=%p flags=0x%x pd=%p addr=%p length=%zu access=0x%x lkey=0x%x rkey=0x%x",
		(void *)mr, flags, (void *)pd, addr, length, access, mr->lkey,
		mr->rkey);
	line_add(&line, " result=%d", result);
	line_done(&line, !result);
	return result;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	return END(dereg_mr, "mr", mr);
}

/* -------------------------------------------------------------------------- queues */

void line_new_cq(struct ibv_context *context, int entries, struct ibv_cq *cq)
{
	struct line line;

	line_begin(&line, "create_cq");
	line_add(&line, " context=%p cq=%p cqe=%d", (void *)context, (void *)cq,
		 entries);
	line_done(&line, cq);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries,
			     void *own, struct ibv_comp_channel *channel,
			     int vector)
{
	struct ibv_cq *cq =
		OWN(ibv_create_cq)(context, entries, own, channel, vector);

	line_new_cq(context, entries, cq);
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	return END(destroy_cq, "cq", cq);
}

void line_new_srq(struct ibv_pd *pd, const struct ibv_srq_attr *attr,
		  struct ibv_srq *srq)
{
	struct line line;

	line_begin(&line, "create_srq");
	line_add(&line, " pd=%p srq=%p wr=%u sge=%u", (void *)pd, (void *)srq,
		 attr->max_wr, attr->max_sge);
	line_done(&line, srq);
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd,
			       struct ibv_srq_init_attr *init)
{
	struct ibv_srq_attr wanted = init->attr;
	struct ibv_srq *srq = OWN(ibv_create_srq)(pd, init);

	line_new_srq(pd, &wanted, srq);
	return srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	return END(destroy_srq, "srq", srq);
}

void line_new_qp(const struct ibv_pd *pd, const struct ibv_qp_init_attr *init,
		 struct ibv_qp *qp)
{
	struct line line;

	line_begin(&line, "create_qp");
	line_add(&line,
		 " pd=%p type=%d send_cq=%p recv_cq=%p srq=%p all_signaled=%d",
		 (const void *)pd, init->qp_type, (void *)init->send_cq,
		 (void *)init->recv_cq, (void *)init->srq, !!init->sq_sig_all);
	line_add(&line,
		 " send_wr=%u recv_wr=%u send_sge=%u recv_sge=%u inline=%u",
		 init->cap.max_send_wr, init->cap.max_recv_wr,
		 init->cap.max_send_sge, init->cap.max_recv_sge,
		 init->cap.max_inline_data);
	if (qp)
		line_add(&line, " qp=%p qpn=%u", (void *)qp, qp->qp_num);
	line_done(&line, qp);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr wanted = *init;
	struct ibv_qp *qp = OWN(ibv_create_qp)(pd, init);

	line_new_qp(pd, &wanted, qp);
	return qp;
}

static void add_gid(struct line *line, const char *name,
		    const union ibv_gid *gid)
{
	int i;

	line_add(line, " %s=", name);
	for (i = 0; i < 16; i++)
		line_add(line, "%02x", gid->raw[i]);
}

/* Recorded before the call: messages of the peer may arrive at once. */
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct line line;

	line_begin(&line, "modify_qp");
	line_add(&line, " qp=%p mask=0x%x", (void *)qp, mask);
	if (mask & IBV_QP_STATE)
		line_add(&line, " state=%d", attr->qp_state);
	if (mask & IBV_QP_ACCESS_FLAGS)
		line_add(&line, " access=0x%x", attr->qp_access_flags);
	if (mask & IBV_QP_QKEY)
		line_add(&line, " qkey=0x%x", attr->qkey);
	if (mask & IBV_QP_PATH_MTU)
		line_add(&line, " mtu=%d", attr->path_mtu);
	if (mask & IBV_QP_DEST_QPN)
		line_add(&line, " dest_qpn=%u", attr->dest_qp_num);
	if (mask & IBV_QP_RQ_PSN)
		line_add(&line, " rq_psn=%u", attr->rq_psn);
	if (mask & IBV_QP_SQ_PSN)
		line_add(&line, " sq_psn=%u", attr->sq_psn);
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		line_add(&line, " dest_rd=%u", attr->max_dest_rd_atomic);
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		line_add(&line, " rd=%u", attr->max_rd_atomic);
	if (mask & IBV_QP_MIN_RNR_TIMER)
		line_add(&line, " min_rnr=%u", attr->min_rnr_timer);
	if (mask & IBV_QP_TIMEOUT)
		line_add(&line, " timeout=%u", attr->timeout);
	if (mask & IBV_QP_RETRY_CNT)
		line_add(&line, " retry=%u", attr->retry_cnt);
	if (mask & IBV_QP_RNR_RETRY)
		line_add(&line, " rnr_retry=%u", attr->rnr_retry);
	if (mask & IBV_QP_AV)
		add_gid(&line, "dgid", &attr->ah_attr.grh.dgid);
	line_end(&line);
	return line_refused("qp", qp, OWN(ibv_modify_qp)(qp, attr, mask));
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	return END(destroy_qp, "qp", qp);
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah = OWN(ibv_create_ah)(pd, attr);
	struct line line;

	line_begin(&line, "create_ah");
	line_add(&line, " pd=%p ah=%p", (void *)pd, (void *)ah);
	add_gid(&line, "dgid", &attr->grh.dgid);
	line_done(&line, ah);
	return ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	return END(destroy_ah, "ah", ah);
}
