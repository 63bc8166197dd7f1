// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rings in memory of the application: gets memory from its allocator and registers it
 * as a DEVX umem, in which the kernel makes the ring.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <pinion/queues.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "provider.h"

/* More entries of a ring, or bytes of a slot, than any queue can have. */
enum { MOST = 1 << 24 };

static int reg_umem(struct pinion_home *home, uint32_t *id)
{
	DECLARE_COMMAND_BUFFER(cmd, MLX5_IB_OBJECT_DEVX_UMEM,
			       MLX5_IB_METHOD_DEVX_UMEM_REG, 5);
	struct ib_uverbs_attr *handle;
	int err;

	handle = fill_attr_out_obj(cmd, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE);
	fill_attr_in_uint64(cmd, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR,
			    (uintptr_t)home->memory);
	fill_attr_in_uint64(cmd, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, home->size);
	fill_attr_in_uint32(cmd, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS,
			    IBV_ACCESS_LOCAL_WRITE);
	fill_attr_out_ptr(cmd, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, id);
	err = execute_ioctl(home->pd->context, cmd);
	if (!err)
		home->umem = read_attr_obj(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE,
					   handle);
	return err;
}

static void dereg_umem(const struct pinion_home *home)
{
	DECLARE_COMMAND_BUFFER(cmd, MLX5_IB_OBJECT_DEVX_UMEM,
			       MLX5_IB_METHOD_DEVX_UMEM_DEREG, 1);

	fill_attr_in_obj(cmd, MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, home->umem);
	execute_ioctl(home->pd->context, cmd);
}

static void give_back(struct pinion_home *home)
{
	struct pinion_pd *pd = to_pinion_pd(home->pd);

	pd->free(home->pd, pd->pd_context, home->memory, home->type);
	*home = (struct pinion_home){};
}

/*
 * Register the memory. That it does not become copy-on-write after fork() is the allocator's task:
 * see ibv_alloc_parent_domain(3).
 */
static int settle(struct pinion_home *home, struct pinion_ring_place *place)
{
	int err;

	err = reg_umem(home, &place->umem_id);
	if (err)
		return pinion_failed(home->pd->context, err,
				     "the allocator's memory as a ring");
	/* The kernel expects a header of zeros. It writes nothing before it makes the ring. */
	memset(home->memory, 0, sizeof(struct pinion_ring_hdr));
	return 0;
}

int pinion_home_make(struct pinion_home *home, struct ibv_pd *ibpd,
		     uint64_t type, uint32_t wanted, uint32_t stride,
		     struct pinion_ring_place *place)
{
	struct pinion_pd *pd = ibpd ? to_pinion_pd(ibpd) : NULL;
	size_t page = sysconf(_SC_PAGESIZE);
	uint64_t bytes;
	int err;

	*home = (struct pinion_home){};
	/* If a queue cannot be that large, let the kernel refuse it. */
	if (!pd || !pd->alloc || wanted > MOST || stride > MOST)
		return 0;
	bytes = pinion_ring_bytes(pinion_ring_entries(wanted), stride);
	home->size = (bytes + page - 1) & ~(uint64_t)(page - 1);
	home->type = type;
	home->memory = pd->alloc(ibpd, pd->pd_context, home->size, page, type);
	if (home->memory == IBV_ALLOCATOR_USE_DEFAULT) {
		*home = (struct pinion_home){};
		return 0;
	}
	if (!home->memory)
		return pinion_refuse(
			ibpd->context, ENOMEM,
			"the allocator gave no %zu bytes for a ring",
			home->size);
	home->pd = ibpd;
	err = settle(home, place);
	if (err)
		give_back(home);
	return err;
}

void pinion_home_end(struct pinion_home *home)
{
	if (!home->pd)
		return;
	dereg_umem(home);
	give_back(home);
}

int pinion_home_map(struct pinion_ring *ring, const struct pinion_home *home,
		    struct ibv_context *context,
		    const struct pinion_ring_info *info)
{
	if (!home->pd)
		return pinion_failed(
			context, pinion_ring_map(ring, context->cmd_fd, info),
			"mmap of a ring of %" PRIu64 " bytes",
			(uint64_t)info->mmap_length);
	pinion_ring_set(ring, home->memory, info);
	return 0;
}

void pinion_home_unmap(struct pinion_ring *ring, struct pinion_home *home)
{
	if (home->pd) {
		ring->hdr = NULL;
		pinion_home_end(home);
	} else {
		pinion_ring_unmap(ring);
	}
}
