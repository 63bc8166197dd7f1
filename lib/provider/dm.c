// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory: allocated by the kernel and mapped, so that copies need no system call.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "provider.h"

/* By ibv_alloc_dm(3) offsets and lengths are multiples of 4. */
enum { DM_ALIGN = 4 };

static bool copy_fits(const struct pinion_dm *dm, uint64_t offset,
		      size_t length)
{
	return !(offset % DM_ALIGN) && !(length % DM_ALIGN) &&
	       offset <= dm->length && length <= dm->length - offset;
}

static int refuse_copy(const struct pinion_dm *dm, uint64_t offset,
		       size_t length)
{
	return pinion_refuse(dm->vdm.dm.context, EINVAL,
			     "%zu bytes at %" PRIu64
			     " of %zu, both of which are to be multiples of %d",
			     length, offset, dm->length, DM_ALIGN);
}

static int memcpy_to_dm(struct ibv_dm *ibdm, uint64_t offset, const void *from,
			size_t length)
{
	struct pinion_dm *dm = to_pinion_dm(ibdm);

	if (!copy_fits(dm, offset, length))
		return refuse_copy(dm, offset, length);
	memcpy(dm->map + offset, from, length);
	return 0;
}

static int memcpy_from_dm(void *to, struct ibv_dm *ibdm, uint64_t offset,
			  size_t length)
{
	struct pinion_dm *dm = to_pinion_dm(ibdm);

	if (!copy_fits(dm, offset, length))
		return refuse_copy(dm, offset, length);
	memcpy(to, dm->map + offset, length);
	return 0;
}

static int map_dm(struct pinion_dm *dm, struct ibv_context *context,
		  uint64_t mmap_offset, uint64_t mmap_length, uint64_t length)
{
	void *map;

	map = mmap(NULL, mmap_length, PROT_READ | PROT_WRITE, MAP_SHARED,
		   context->cmd_fd, mmap_offset);
	if (map == MAP_FAILED)
		return pinion_failed(context, errno,
				     "mmap of device memory of %" PRIu64
				     " bytes",
				     mmap_length);

	dm->map = map;
	dm->map_length = mmap_length;
	dm->length = length;
	dm->vdm.dm.memcpy_to_dm = memcpy_to_dm;
	dm->vdm.dm.memcpy_from_dm = memcpy_from_dm;
	return 0;
}

static int alloc_dm(struct ibv_context *context, struct pinion_dm *dm,
		    const struct ibv_alloc_dm_attr *attr)
{
	DECLARE_COMMAND_BUFFER(attrs, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC,
			       1);
	struct pinion_alloc_dm_resp resp = {};
	int err;

	fill_attr_out_ptr(attrs, PINION_ATTR_DM_ALLOC_RESP, &resp);
	err = ibv_cmd_alloc_dm(context, attr, &dm->vdm, attrs);
	if (err)
		return err;

	err = map_dm(dm, context, resp.mmap_offset, resp.mmap_length,
		     attr->length);
	if (err)
		ibv_cmd_free_dm(&dm->vdm);
	return err;
}

struct ibv_dm *pinion_alloc_dm(struct ibv_context *context,
			       struct ibv_alloc_dm_attr *attr)
{
	struct pinion_dm *dm;
	int err;

	if (!check_comp_mask(attr->comp_mask, 0)) {
		errno = pinion_refuse(context, EOPNOTSUPP,
				      "comp_mask %#x of device memory",
				      attr->comp_mask);
		return NULL;
	}

	dm = pinion_zalloc(context, sizeof(*dm), "device memory");
	if (!dm)
		return NULL;

	err = alloc_dm(context, dm, attr);
	if (err) {
		free(dm);
		errno = err;
		return NULL;
	}
	return &dm->vdm.dm;
}

int pinion_free_dm(struct ibv_dm *ibdm)
{
	struct pinion_dm *dm = to_pinion_dm(ibdm);
	int err;

	err = ibv_cmd_free_dm(&dm->vdm);
	if (err)
		return err;

	munmap(dm->map, dm->map_length);
	free(dm);
	return 0;
}

static int query_dm(struct ibv_context *context, uint32_t handle,
		    struct pinion_query_dm_resp *resp)
{
	DECLARE_COMMAND_BUFFER(attrs, UVERBS_OBJECT_DM, PINION_METHOD_DM_QUERY,
			       2);

	fill_attr_in_obj(attrs, PINION_ATTR_DM_QUERY_HANDLE, handle);
	fill_attr_out_ptr(attrs, PINION_ATTR_DM_QUERY_RESP, resp);
	return execute_ioctl(context, attrs);
}

struct ibv_dm *pinion_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct pinion_query_dm_resp resp = {};
	struct pinion_dm *dm;
	int err;

	dm = pinion_zalloc(context, sizeof(*dm), "device memory");
	if (!dm)
		return NULL;

	err = query_dm(context, handle, &resp);
	if (!err)
		err = map_dm(dm, context, resp.mmap_offset, resp.mmap_length,
			     resp.length);
	if (err) {
		free(dm);
		errno = err;
		return NULL;
	}
	dm->vdm.handle = handle;
	dm->vdm.dm.handle = handle;
	dm->vdm.dm.comp_mask = IBV_DM_MASK_HANDLE;
	dm->vdm.dm.context = context;
	return &dm->vdm.dm;
}

/* Frees only this process's object and mapping; the memory stays. */
void pinion_unimport_dm(struct ibv_dm *ibdm)
{
	struct pinion_dm *dm = to_pinion_dm(ibdm);

	munmap(dm->map, dm->map_length);
	free(dm);
}

struct ibv_mr *pinion_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm,
				uint64_t offset, size_t length,
				unsigned int access)
{
	struct verbs_mr *vmr;
	int err;

	vmr = pinion_zalloc(pd->context, sizeof(*vmr), "an MR");
	if (!vmr)
		return NULL;

	err = ibv_cmd_reg_dm_mr(pd, &to_pinion_dm(ibdm)->vdm, offset, length,
				access, vmr, NULL);
	if (err) {
		free(vmr);
		errno = err;
		return NULL;
	}
	return &vmr->ibv_mr;
}

#if PINION_HAVE_DM_EXPORT
/* By a driver's method: the core's works for memory of PCI devices only. */
int pinion_dm_export_dmabuf_fd(struct ibv_dm *ibdm)
{
	DECLARE_COMMAND_BUFFER(attrs, UVERBS_OBJECT_DM, PINION_METHOD_DM_EXPORT,
			       2);
	int32_t fd = -1;

	fill_attr_in_obj(attrs, PINION_ATTR_DM_EXPORT_HANDLE, ibdm->handle);
	fill_attr_out_ptr(attrs, PINION_ATTR_DM_EXPORT_FD, &fd);
	return execute_ioctl(ibdm->context, attrs) ? -1 : fd;
}
#endif
