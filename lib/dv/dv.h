/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of libpinion-mlx5dv share. Each call is served here if it is about a
 * pinion device, and otherwise made again of the real libmlx5, if there is one.
 */
#ifndef PINION_DV_H
#define PINION_DV_H

#include <errno.h>

#include <pinion/mlx5dv.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

/* Everything else is hidden. */
#define EXPORT __attribute__((visibility("default")))

/* Is this one of ours? A system call: nothing is known of contexts that come and go. */
bool dv_is_ours(struct ibv_context *context);

/* Names that older headers do not have yet, each the next one of its kind. */
enum {
	DV_ATTR_REG_DMABUF_MR_ACCESS = 1U << UVERBS_ID_NS_SHIFT,
	DV_METHOD_DATA_DIRECT_PATH = (1U << UVERBS_ID_NS_SHIFT) + 1,
	DV_ATTR_DATA_DIRECT_PATH = 1U << UVERBS_ID_NS_SHIFT,
};

/* -------------------------------------------------------- the real library */

/*
 * libmlx5's function of this name and symbol version, or NULL. Whoever gets NULL says
 * EOPNOTSUPP, as libmlx5 does to a device that is not its own.
 */
void *dv_real(const char *name, const char *version);

/* The same as a pointer of the type of @function, which is ours of the same name. */
#define DV_REAL(function, version) \
	((__typeof__(&(function)))dv_real(#function, version))

/* ------------------------------------------------------------ system calls */

struct dv_call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[12];
};

void dv_begin(struct dv_call *call, uint16_t object, uint16_t method);
/* Inputs of up to 8 bytes travel inside; longer ones are copied from @data. */
void dv_in(struct dv_call *call, uint16_t id, const void *data, size_t length);
void dv_out(struct dv_call *call, uint16_t id, void *data, size_t length);
/* A handle or file descriptor; the kernel writes new handles there. */
struct ib_uverbs_attr *dv_handle(struct dv_call *call, uint16_t id,
				 int64_t handle);
/* 0 or a positive errno. */
int dv_issue(struct ibv_context *context, struct dv_call *call);

/* ---------------------------------------------------------------- objects */

/* What the library gave out: how a call that has nothing else finds its context. */
struct dv_object {
	struct ibv_context *context;
	uint32_t handle;
	struct dv_object *next;
	/* what the program has of it, unless that is the object itself */
	union {
		struct mlx5dv_devx_umem umem;
		struct mlx5dv_devx_uar uar;
		struct mlx5dv_devx_cmd_comp comp;
		struct mlx5dv_devx_event_channel channel;
		struct {
			int fd;
		} file; /* either of these */
	};
	void *addr; /* a umem's, kept from being copied by fork(); or NULL */
	size_t size;
};

void dv_remember(struct dv_object *object);
/* By what the program has of it: @object itself, or one of its union. NULL: not ours. */
struct dv_object *dv_find(const void *given);
void dv_forget(struct dv_object *object);

/* NULL, with errno set. */
static inline void *dv_null(int err)
{
	errno = err;
	return NULL;
}

#endif /* PINION_DV_H */
