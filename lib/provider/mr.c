// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions and memory windows.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "provider.h"

/* Return the MR, or after an error free it, set errno and return NULL. */
static struct ibv_mr *mr_or_errno(struct verbs_mr *vmr, int err)
{
	if (!err)
		return &vmr->ibv_mr;
	free(vmr);
	errno = err;
	return NULL;
}

/*
 * By ibv_reg_mr(3) an iova of 0 means zero-based. To the kernel it is an address, and must
 * have the same offset in a page as the memory. If it has not, use the zero-based flag.
 */
bool pinion_means_zero_based(const void *addr, uint64_t iova)
{
	return !iova && (uintptr_t)addr % sysconf(_SC_PAGESIZE);
}

struct ibv_mr *pinion_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			     uint64_t iova, int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *vmr;

	vmr = pinion_zalloc(pd->context, sizeof(*vmr), "an MR");
	if (!vmr)
		return NULL;

	if (pinion_means_zero_based(addr, iova)) {
		iova = (uintptr_t)addr;
		access |= IBV_ACCESS_ZERO_BASED;
	}
	return mr_or_errno(vmr, ibv_cmd_reg_mr(pd, addr, length, iova, access,
					       vmr, &cmd, sizeof(cmd), &resp,
					       sizeof(resp)));
}

struct ibv_mr *pinion_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				    size_t length, uint64_t iova, int fd,
				    int access)
{
	struct verbs_mr *vmr;

	vmr = pinion_zalloc(pd->context, sizeof(*vmr), "an MR");
	if (!vmr)
		return NULL;

	return mr_or_errno(vmr,
			   pinion_cmd_reg_dmabuf_mr(pd, offset, length, iova,
						    fd, access, vmr));
}

int pinion_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		    void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	return ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
				access, pd, &cmd, sizeof(cmd), &resp,
				sizeof(resp));
}

/* The kernel has one null key for all; only the object in this process is made. */
struct ibv_mr *pinion_alloc_null_mr(struct ibv_pd *pd)
{
	struct verbs_mr *vmr;

	vmr = pinion_zalloc(pd->context, sizeof(*vmr), "an MR");
	if (!vmr)
		return NULL;

	vmr->mr_type = IBV_MR_TYPE_NULL_MR;
	vmr->ibv_mr = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.length = SIZE_MAX,
		.handle = UINT32_MAX,
		.lkey = to_pinion_context(pd->context)->null_lkey,
	};
	return &vmr->ibv_mr;
}

int pinion_dereg_mr(struct verbs_mr *vmr)
{
	int err = 0;

	if (vmr->mr_type != IBV_MR_TYPE_NULL_MR)
		err = ibv_cmd_dereg_mr(vmr);
	if (!err)
		free(vmr);
	return err;
}

struct ibv_mr *pinion_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct verbs_mr *vmr;

	vmr = pinion_zalloc(pd->context, sizeof(*vmr), "an MR");
	if (!vmr)
		return NULL;

	return mr_or_errno(vmr, ibv_cmd_query_mr(pd, vmr, handle));
}

/* Frees only this process's object; the region stays. */
void pinion_unimport_mr(struct ibv_mr *mr)
{
	free(verbs_get_mr(mr));
}

struct ibv_mw *pinion_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct ibv_mw *mw;
	int err;

	mw = pinion_zalloc(pd->context, sizeof(*mw), "a window");
	if (!mw)
		return NULL;

	err = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (err) {
		free(mw);
		errno = err;
		return NULL;
	}
	return mw;
}

int pinion_dealloc_mw(struct ibv_mw *mw)
{
	int err;

	err = ibv_cmd_dealloc_mw(mw);
	if (!err)
		free(mw);
	return err;
}
