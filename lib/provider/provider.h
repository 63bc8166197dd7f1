/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The provider's objects, conversions from libibverbs' part of an object to ours, and
 * the operations for the table in device.c.
 */
#ifndef PINION_PROVIDER_H
#define PINION_PROVIDER_H

#include "compat.h"
#include "doorbell.h"
#include "home.h"
#include "lock.h"
#include "refuse.h"
#include "ring.h"

struct pinion_context {
	struct verbs_context vctx;
	uint32_t null_lkey;
};

/* A thread domain: the application promises that only one thread at a time uses it. */
struct pinion_td {
	struct ibv_td td;
	uint32_t users; /* parent domains */
};

/* A protection domain, or a parent domain around one. */
struct pinion_pd {
	struct ibv_pd pd;
	uint32_t users; /* parent domains around it; of a parent domain: its queues */
	/* the rest is for parent domains only */
	struct pinion_pd *inner;
	struct pinion_td *td; /* or NULL */
	/* the application's allocator for rings, or NULL */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size,
		       size_t alignment, uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr,
		     uint64_t resource_type);
	void *pd_context;
};

struct pinion_cq {
	struct verbs_cq vcq;
	struct pinion_ring ring;
	struct pinion_home home;
	struct pinion_lock lock;
	uint32_t polls; /* counts polls, for the streak of send queues */
	const struct pinion_cqe *cqe; /* between start_poll and end_poll */
	struct pinion_cqe kept; /* what @cqe points to if its slot is free */
	struct pinion_pd *parent; /* the parent domain it was made in, or NULL */
};

/* The receive queue of a QP, or a shared one. */
struct pinion_rq {
	struct pinion_ring ring;
	struct pinion_home home;
	struct pinion_lock lock;
	uint32_t max_sge;
};

struct pinion_sq {
	struct pinion_ring ring;
	struct pinion_home home;
	struct pinion_lock lock;
	uint32_t allowed; /* a bit for each opcode this type of QP has */
	uint32_t max_sge;
	uint32_t max_inline;
	uint32_t polls; /* of the send CQ when the streak began */
	uint32_t streak_begin;
	/* between wr_start and wr_complete, under the lock */
	struct pinion_sq_wqe *wqe; /* NULL: nothing to fill in */
	uint32_t rollback;
	int err;
};

struct pinion_qp {
	struct verbs_qp vqp;
	struct pinion_sq sq;
	struct pinion_rq rq;
	struct pinion_doorbell bell;
	struct pinion_pd *parent; /* the parent domain it was made in, or NULL */
};

struct pinion_srq {
	struct verbs_srq vsrq;
	struct pinion_rq rq;
	struct pinion_pd *parent; /* the parent domain it was made in, or NULL */
};

struct pinion_ah {
	struct ibv_ah ah;
	uint32_t number;
};

struct pinion_dm {
	struct verbs_dm vdm;
	char *map;
	size_t map_length;
	size_t length;
};

#define to_pinion(type, memb, ptr) container_of(ptr, struct pinion_##type, memb)

static inline struct pinion_context *
to_pinion_context(struct ibv_context *context)
{
	return to_pinion(context, vctx.context, context);
}

static inline struct pinion_pd *to_pinion_pd(struct ibv_pd *pd)
{
	return to_pinion(pd, pd, pd);
}

static inline struct pinion_td *to_pinion_td(struct ibv_td *td)
{
	return to_pinion(td, td, td);
}

static inline struct pinion_cq *to_pinion_cq(struct ibv_cq *cq)
{
	return to_pinion(cq, vcq.cq, cq);
}

static inline struct pinion_cq *to_pinion_cq_ex(struct ibv_cq_ex *cq)
{
	return to_pinion(cq, vcq.cq_ex, cq);
}

static inline struct pinion_qp *to_pinion_qp(struct ibv_qp *qp)
{
	return to_pinion(qp, vqp.qp, qp);
}

static inline struct pinion_qp *to_pinion_qp_ex(struct ibv_qp_ex *qp)
{
	return to_pinion(qp, vqp.qp_ex, qp);
}

static inline struct pinion_srq *to_pinion_srq(struct ibv_srq *srq)
{
	return to_pinion(srq, vsrq.srq, srq);
}

static inline struct pinion_ah *to_pinion_ah(struct ibv_ah *ah)
{
	return to_pinion(ah, ah, ah);
}

static inline struct pinion_dm *to_pinion_dm(struct ibv_dm *dm)
{
	return to_pinion(dm, vdm.dm, dm);
}

/* The scatter list of a WQE, which is the rest of its slot. */
static inline void pinion_copy_sges(void *slot_rest, const struct ibv_sge *from,
				    size_t num)
{
	struct pinion_sge *to = slot_rest;
	size_t i;

	for (i = 0; i < num; i++) {
		to[i].addr = from[i].addr;
		to[i].length = from[i].length;
		to[i].lkey = from[i].lkey;
	}
}

/* guard.c */
bool pinion_libibverbs_matches(struct verbs_context *vctx,
			       const struct verbs_context_ops *ops);
/* Report that two parts of different versions are installed. */
void pinion_mismatch(struct verbs_context *vctx, const char *text);

/* pd.c */
struct ibv_pd *pinion_alloc_pd(struct ibv_context *context);
int pinion_dealloc_pd(struct ibv_pd *pd);
struct ibv_pd *pinion_import_pd(struct ibv_context *context, uint32_t handle);
void pinion_unimport_pd(struct ibv_pd *pd);
struct ibv_td *pinion_alloc_td(struct ibv_context *context,
			       struct ibv_td_init_attr *attr);
int pinion_dealloc_td(struct ibv_td *td);
struct ibv_pd *
pinion_alloc_parent_domain(struct ibv_context *context,
			   struct ibv_parent_domain_init_attr *attr);
bool pinion_single_threaded(struct ibv_pd *pd);
/*
 * Count a queue in a parent domain, which cannot be deallocated meanwhile. (The kernel
 * counts those in a plain domain.) Return: the parent domain, or NULL if it is none.
 */
struct pinion_pd *pinion_parent_get(struct ibv_pd *pd);
void pinion_parent_put(struct pinion_pd *parent); /* or NULL */

/* cq.c */
struct ibv_cq *pinion_create_cq(struct ibv_context *context, int cqe,
				struct ibv_comp_channel *channel,
				int comp_vector);
struct ibv_cq_ex *pinion_create_cq_ex(struct ibv_context *context,
				      struct ibv_cq_init_attr_ex *attr);
int pinion_resize_cq(struct ibv_cq *cq, int cqe);
int pinion_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int pinion_destroy_cq(struct ibv_cq *cq);

/* poll.c */
int pinion_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc);
int pinion_req_notify_cq(struct ibv_cq *cq, int solicited_only);
void pinion_cq_keep_current(struct pinion_cq *cq);
void pinion_cq_forget_qp(struct ibv_cq *cq, uint32_t qpn);
void pinion_set_poll_ops(struct ibv_cq_ex *cq, uint64_t wc_flags);

/* qp.c */
struct ibv_qp *pinion_create_qp(struct ibv_pd *pd,
				struct ibv_qp_init_attr *attr);
struct ibv_qp *pinion_create_qp_ex(struct ibv_context *context,
				   struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *pinion_open_qp(struct ibv_context *context,
			      struct ibv_qp_open_attr *attr);
int pinion_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		    struct ibv_qp_init_attr *init_attr);
int pinion_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
		     int attr_mask);
int pinion_destroy_qp(struct ibv_qp *qp);

/* send.c */
void pinion_fill_bind(struct pinion_sq_wqe *wqe, const struct ibv_mw *mw,
		      uint32_t new_rkey, const struct ibv_mw_bind_info *info);
bool pinion_publish_sends(struct pinion_qp *qp);
int pinion_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr);
int pinion_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		   struct ibv_mw_bind *bind);

/* wr.c */
int pinion_set_wr_ops(struct ibv_context *context, struct ibv_qp_ex *qp,
		      enum ibv_qp_type type, uint64_t send_ops_flags);

/* recv.c */
int pinion_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr);
int pinion_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad_wr);

/* srq.c */
struct ibv_srq *pinion_create_srq(struct ibv_pd *pd,
				  struct ibv_srq_init_attr *attr);
struct ibv_srq *pinion_create_srq_ex(struct ibv_context *context,
				     struct ibv_srq_init_attr_ex *attr);
int pinion_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
		      int attr_mask);
int pinion_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int pinion_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);
int pinion_destroy_srq(struct ibv_srq *srq);

/* xrcd.c */
struct ibv_xrcd *pinion_open_xrcd(struct ibv_context *context,
				  struct ibv_xrcd_init_attr *attr);
int pinion_close_xrcd(struct ibv_xrcd *xrcd);

/* ah.c */
struct ibv_ah *pinion_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int pinion_destroy_ah(struct ibv_ah *ah);

/* mr.c */
bool pinion_means_zero_based(const void *addr, uint64_t iova);
struct ibv_mr *pinion_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			     uint64_t iova, int access);
struct ibv_mr *pinion_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				    size_t length, uint64_t iova, int fd,
				    int access);
int pinion_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		    void *addr, size_t length, int access);
struct ibv_mr *pinion_alloc_null_mr(struct ibv_pd *pd);
int pinion_dereg_mr(struct verbs_mr *vmr);
struct ibv_mr *pinion_import_mr(struct ibv_pd *pd, uint32_t handle);
void pinion_unimport_mr(struct ibv_mr *mr);
struct ibv_mw *pinion_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int pinion_dealloc_mw(struct ibv_mw *mw);

/* dmah.c */
#if PINION_HAVE_DMAH
struct ibv_mr *pinion_reg_mr_ex(struct ibv_pd *pd,
				struct ibv_mr_init_attr *attr);
struct ibv_dmah *pinion_alloc_dmah(struct ibv_context *context,
				   struct ibv_dmah_init_attr *attr);
int pinion_dealloc_dmah(struct ibv_dmah *dmah);
#endif

/* dm.c */
struct ibv_dm *pinion_alloc_dm(struct ibv_context *context,
			       struct ibv_alloc_dm_attr *attr);
int pinion_free_dm(struct ibv_dm *dm);
struct ibv_dm *pinion_import_dm(struct ibv_context *context, uint32_t handle);
void pinion_unimport_dm(struct ibv_dm *dm);
struct ibv_mr *pinion_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
				uint64_t offset, size_t length,
				unsigned int access);
#if PINION_HAVE_DM_EXPORT
int pinion_dm_export_dmabuf_fd(struct ibv_dm *dm);
#endif

/* query.c */
int pinion_query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size);
int pinion_query_port(struct ibv_context *context, uint8_t port,
		      struct ibv_port_attr *attr);
int pinion_query_rt_values(struct ibv_context *context,
			   struct ibv_values_ex *values);

#endif /* PINION_PROVIDER_H */
