/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The ABI of mlx5's driver, for devices that were made to speak it: their user is libmlx5, whose
 * queues are in its own memory, in mlx5's format. What is made is what DEVX commands make, too
 * (path/raw_*.h); here are only other words to ask for it. See Documentation/mlx5.rst.
 */
#ifndef PINION_VERBS_MLX5_H
#define PINION_VERBS_MLX5_H

#include <linux/sizes.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "../mem/umem.h"

/* As many as libmlx5 gets into a request, beside what else may be in it. */
#define MLX5_SEND_SGES	30
/* In the largest slot for a receive request. */
#define MLX5_RECV_SGES	32
/* Slots of a shared queue have numbers of 16 bits, and one is always its user's own. */
#define MLX5_SRQ_SLOTS	(SZ_32K - 1)

/* Forms of completions that are several in one, which a user may allow: of each of three. */
#define MLX5_CQE_FORMATS	7

struct pinion_av;
struct pinion_cq;

/* Before any other ops. */
void pinion_mlx5_set_ops(struct ib_device *ibdev);

extern const struct uapi_definition pinion_mlx5_defs[];
extern const struct uapi_definition pinion_mlx5_dm_defs[];

/* mlx5_ucontext.c, mlx5_cq.c, mlx5_qp.c, mlx5_srq.c */
extern const struct ib_device_ops pinion_mlx5_ucontext_ops;
extern const struct ib_device_ops pinion_mlx5_cq_ops;
extern const struct ib_device_ops pinion_mlx5_qp_ops;
extern const struct ib_device_ops pinion_mlx5_srq_ops;

/* What libmlx5 has to know of a handle: its requests carry addresses themselves. */
int pinion_mlx5_answer_ah(const struct pinion_av *av, struct ib_udata *udata);

/* mlx5_dm.c: where it is to be mapped, of device memory of the one kind there is. */
int pinion_mlx5_answer_dm(const struct rdma_user_mmap_entry *entry,
			  struct uverbs_attr_bundle *attrs);

int pinion_mlx5_resize_cq(struct pinion_cq *cq, unsigned int cqe, struct ib_udata *udata);

/*
 * mlx5_place.c: memory of who calls, given by its address, as the ring or the doorbell record of
 * a queue: pinned, and counted as a umem of @context's. -EINVAL if it is not on a multiple of
 * @align, -EFAULT if there is none.
 */
int pinion_mlx5_place_make(struct pinion_view *place, struct ib_ucontext *context, u64 addr,
			   u64 length, u32 align);
/* Also of one that was never made. */
void pinion_mlx5_place_end(struct pinion_view *place, struct ib_ucontext *context);

#endif
