/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The tables of ops that the files of this layer define, one each, and the ops whose prototype or
 * place in struct ib_device_ops depends on the kernel (see compat/ops.c).
 */
#ifndef PINION_VERBS_OPS_H
#define PINION_VERBS_OPS_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

extern const struct ib_device_ops pinion_device_ops;
extern const struct ib_device_ops pinion_ucontext_ops;
extern const struct ib_device_ops pinion_mmap_ops;
extern const struct ib_device_ops pinion_pd_ops;
extern const struct ib_device_ops pinion_ah_ops;
extern const struct ib_device_ops pinion_cq_ops;
extern const struct ib_device_ops pinion_srq_ops;
extern const struct ib_device_ops pinion_qp_ops;
extern const struct ib_device_ops pinion_mcast_ops;
extern const struct ib_device_ops pinion_mr_ops;
extern const struct ib_device_ops pinion_dm_ops;
extern const struct ib_device_ops pinion_mad_ops;
extern const struct ib_device_ops pinion_stats_ops;
extern const struct ib_device_ops pinion_compat_ops;

extern const struct uapi_definition pinion_uapi_defs[];
extern const struct uapi_definition pinion_data_direct_defs[];
extern const struct uapi_definition pinion_devx_async_defs[];
extern const struct uapi_definition pinion_devx_defs[];
extern const struct uapi_definition pinion_devx_event_defs[];
extern const struct uapi_definition pinion_devx_uar_defs[];
extern const struct uapi_definition pinion_devx_umem_defs[];

int pinion_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			struct ib_udata *udata);
int pinion_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		     struct uverbs_attr_bundle *attrs);
int pinion_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int pinion_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int pinion_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int pinion_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_qp_init_attr *init);
int pinion_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		      struct ib_udata *udata);
int pinion_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int pinion_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		      struct ib_udata *udata);
int pinion_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int pinion_resize_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata);
int pinion_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		     struct ib_udata *udata);
int pinion_wants_data_direct(struct uverbs_attr_bundle *attrs, bool *wants);
int pinion_pd_query(struct ib_pd *ibpd, struct uverbs_attr_bundle *attrs);
int pinion_dm_query(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs);
int pinion_dm_export(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs);
int pinion_answer_export(struct uverbs_attr_bundle *attrs, u16 attr, void *area, size_t size);
int pinion_counter_bind(struct rdma_counter *counter, struct ib_qp *ibqp);
int pinion_counter_unbind(struct ib_qp *ibqp);
int pinion_query_port_speed(struct ib_device *ibdev, u32 port_num, u64 *speed);
struct ib_mr *pinion_register_user(struct ib_pd *pd, u64 start, u64 length, u64 iova,
				   int access, struct ib_udata *udata);
struct ib_mr *pinion_register_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				     int access, struct uverbs_attr_bundle *attrs);

#endif
