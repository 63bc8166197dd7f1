/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declarations shared by the files of libpinion-mlx5dv. A call about a pinion device is
 * handled here; other calls are passed to the real libmlx5, if there is one.
 */
#ifndef PINION_DV_H
#define PINION_DV_H

#include <errno.h>

#include <pinion/mlx5dv.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

/* Everything else is hidden. */
#define EXPORT __attribute__((visibility("default")))

/* Is @context ours? A system call each time: contexts are opened and closed elsewhere. */
bool dv_is_ours(struct ibv_context *context);

/* Names that older headers lack. */
enum {
	DV_ATTR_REG_DMABUF_MR_ACCESS = 1U << UVERBS_ID_NS_SHIFT,
	DV_METHOD_DATA_DIRECT_PATH = (1U << UVERBS_ID_NS_SHIFT) + 1,
	DV_ATTR_DATA_DIRECT_PATH = 1U << UVERBS_ID_NS_SHIFT,
};

/* -------------------------------------------------------- the real library */

/*
 * libmlx5's function of this name and symbol version, or NULL. For NULL the caller
 * returns EOPNOTSUPP, as libmlx5 does for devices that are not its own.
 */
void *dv_real(const char *name, const char *version);

/* The same as a pointer of the type of @function, our function of the same name. */
#define DV_REAL(function, version) \
	((__typeof__(&(function)))dv_real(#function, version))

/* ------------------------------------------------------------ system calls */

struct dv_call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[12];
};

void dv_begin(struct dv_call *call, uint16_t object, uint16_t method);
/* Inputs of up to 8 bytes are stored in the attribute; of longer ones it has the address. */
void dv_in(struct dv_call *call, uint16_t id, const void *data, size_t length);
void dv_out(struct dv_call *call, uint16_t id, void *data, size_t length);
/* A handle or file descriptor. The kernel stores new handles in the attribute. */
struct ib_uverbs_attr *dv_handle(struct dv_call *call, uint16_t id,
				 int64_t handle);
/* Return: 0 or a positive errno. */
int dv_issue(struct ibv_context *context, struct dv_call *call);

/* ---------------------------------------------------------------- objects */

/* An object that was given to the program, by which calls without a context find it. */
struct dv_object {
	struct ibv_context *context;
	uint32_t handle;
	struct dv_object *next;
	/* what the program gets a pointer to, if not to the struct itself */
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
/* Find an object by the pointer that the program has. NULL: not ours. */
struct dv_object *dv_find(const void *given);
void dv_forget(struct dv_object *object);

/* Set errno and return NULL. */
static inline void *dv_null(int err)
{
	errno = err;
	return NULL;
}

#endif /* PINION_DV_H */
