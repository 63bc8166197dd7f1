// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DMA handles (hints where to place data), and the registration that takes one. Empty if
 * rdma-core has no DMA handles.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "provider.h"

#if PINION_HAVE_DMAH

/* libibverbs has turned a buffer (IBV_REG_MR_MASK_BUF) into an address or an fd. */
enum {
	REG_MR_MASK = IBV_REG_MR_MASK_IOVA | IBV_REG_MR_MASK_ADDR |
		      IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET |
		      IBV_REG_MR_MASK_DMAH,
};

/* Register memory by address or by fd, with the calls that every kernel has. */
static struct ibv_mr *reg_without_dmah(struct ibv_pd *pd,
				       struct ibv_mr_init_attr *attr)
{
	uint64_t mask = attr->comp_mask;

	if (mask & IBV_REG_MR_MASK_FD) {
		if (!(mask & IBV_REG_MR_MASK_FD_OFFSET) ||
		    !(mask & IBV_REG_MR_MASK_IOVA) ||
		    (mask & IBV_REG_MR_MASK_ADDR)) {
			errno = pinion_refuse(
				pd->context, EINVAL,
				"an fd needs fd_offset and iova, and no addr");
			return NULL;
		}
		return pinion_reg_dmabuf_mr(pd, attr->fd_offset, attr->length,
					    attr->iova, attr->fd, attr->access);
	}

	if (!(mask & IBV_REG_MR_MASK_ADDR) ||
	    (mask & IBV_REG_MR_MASK_FD_OFFSET)) {
		errno = pinion_refuse(
			pd->context, EINVAL,
			"neither an fd nor an addr, or fd_offset without fd");
		return NULL;
	}
	return pinion_reg_mr(pd, attr->addr, attr->length,
			     mask & IBV_REG_MR_MASK_IOVA ?
				     attr->iova :
				     (uintptr_t)attr->addr,
			     attr->access);
}

/* An iova of 0 can mean zero-based: see pinion_means_zero_based(). */
static struct ibv_mr_init_attr with_base(const struct ibv_mr_init_attr *attr)
{
	const uint64_t both = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_IOVA;
	struct ibv_mr_init_attr based = *attr;

	if ((attr->comp_mask & both) == both &&
	    pinion_means_zero_based(attr->addr, attr->iova)) {
		based.iova = (uintptr_t)attr->addr;
		based.access |= IBV_ACCESS_ZERO_BASED;
	}
	return based;
}

struct ibv_mr *pinion_reg_mr_ex(struct ibv_pd *pd,
				struct ibv_mr_init_attr *attr)
{
	struct ibv_mr_init_attr based;
	struct verbs_mr *vmr;
	int err;

	if (!check_comp_mask(attr->comp_mask, REG_MR_MASK)) {
		errno = pinion_refuse(pd->context, EOPNOTSUPP,
				      "comp_mask %#" PRIx64 " of an MR",
				      (uint64_t)attr->comp_mask);
		return NULL;
	}

	/*
	 * Only kernels with DMA handles have the method of ibv_cmd_reg_mr_ex().
	 * Without a handle use the older calls, which every kernel has.
	 */
	if (!(attr->comp_mask & IBV_REG_MR_MASK_DMAH))
		return reg_without_dmah(pd, attr);

	vmr = pinion_zalloc(pd->context, sizeof(*vmr), "an MR");
	if (!vmr)
		return NULL;

	based = with_base(attr);
	err = ibv_cmd_reg_mr_ex(pd, vmr, &based);
	if (err) {
		free(vmr);
		errno = err;
		return NULL;
	}
	return &vmr->ibv_mr;
}

struct ibv_dmah *pinion_alloc_dmah(struct ibv_context *context,
				   struct ibv_dmah_init_attr *attr)
{
	struct verbs_dmah *vdmah;
	int err;

	vdmah = pinion_zalloc(context, sizeof(*vdmah), "a DMA handle");
	if (!vdmah)
		return NULL;

	err = ibv_cmd_alloc_dmah(context, vdmah, attr);
	if (err) {
		free(vdmah);
		errno = err;
		return NULL;
	}
	return &vdmah->dmah;
}

int pinion_dealloc_dmah(struct ibv_dmah *dmah)
{
	struct verbs_dmah *vdmah = verbs_get_dmah(dmah);
	int err;

	err = ibv_cmd_free_dmah(vdmah);
	if (!err)
		free(vdmah);
	return err;
}

#endif /* PINION_HAVE_DMAH */
