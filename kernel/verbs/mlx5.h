/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The ABI of mlx5's driver, for devices created with it. Their user is libmlx5, whose queues are in
 * the program's memory, in mlx5's format. Verbs and DEVX commands use the same raw queues
 * (path/raw_*.h). See Documentation/mlx5.rst.
 */
#ifndef PINION_VERBS_MLX5_H
#define PINION_VERBS_MLX5_H

#include <linux/sizes.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "../mem/umem.h"

/* The most that libmlx5 can put into a send request besides the other segments. */
#define MLX5_SEND_SGES	30
/* The most that the largest receive slot can hold. */
#define MLX5_RECV_SGES	32
/* Slots of a shared receive queue have 16-bit indices, and libmlx5 keeps one slot unposted. */
#define MLX5_SRQ_SLOTS	(SZ_32K - 1)

/* Mask of formats of compressed completions that a program may enable. We never compress. */
#define MLX5_CQE_FORMATS	7

struct pinion_av;
struct pinion_cq;

/* Call it before other ops are set: ib_set_device_ops() keeps the first. */
void pinion_mlx5_set_ops(struct ib_device *ibdev);

extern const struct uapi_definition pinion_mlx5_defs[];
extern const struct uapi_definition pinion_mlx5_dm_defs[];

/* mlx5_ucontext.c, mlx5_cq.c, mlx5_qp.c, mlx5_srq.c */
extern const struct ib_device_ops pinion_mlx5_ucontext_ops;
extern const struct ib_device_ops pinion_mlx5_cq_ops;
extern const struct ib_device_ops pinion_mlx5_qp_ops;
extern const struct ib_device_ops pinion_mlx5_srq_ops;

/* Write the answer of create_ah: libmlx5 needs the MAC address for send requests. */
int pinion_mlx5_answer_ah(const struct pinion_av *av, struct ib_udata *udata);

/* mlx5_dm.c: the answer of alloc_dm, with the page index for mmap(). */
int pinion_mlx5_answer_dm(const struct rdma_user_mmap_entry *entry,
			  struct uverbs_attr_bundle *attrs);

/*
 * mlx5_clock.c: the page that contexts map at offset MLX5_IB_MMAP_CLOCK_INFO. It exists while a
 * context is open: each calls _open() and, if that succeeds, _close(). Both sleep. The caller of
 * _map() keeps its context open.
 */
int pinion_mlx5_clock_open(void);
void pinion_mlx5_clock_close(void);
int pinion_mlx5_clock_map(struct vm_area_struct *vma);

int pinion_mlx5_resize_cq(struct pinion_cq *cq, unsigned int cqe, struct ib_udata *udata);

/*
 * mlx5_place.c: pin and map memory of the calling process at @addr, for the ring or the doorbell
 * record of a queue. It counts as a umem of the user of @context. Return: -EINVAL if @addr is not a
 * multiple of @align, -EFAULT if there is no memory. Sleeps.
 */
int pinion_mlx5_place_make(struct pinion_view *place, struct ib_ucontext *context, u64 addr,
			   u64 length, u32 align);
/* Unpin it. Does nothing for a zeroed @place that was never made. */
void pinion_mlx5_place_end(struct pinion_view *place, struct ib_ucontext *context);

#endif
