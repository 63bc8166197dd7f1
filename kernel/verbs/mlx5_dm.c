// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory as libmlx5 allocates it: mlx5's MEMIC, without its operations.
 */
#define UVERBS_MODULE_NAME pinion_mlx5

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_named_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "../mem/dm.h"
#include "mlx5.h"

/* The memory begins at a page, so the offset in the page is 0. The index is of 16 bits. */
static int mlx5_dm_answer(const struct rdma_user_mmap_entry *entry,
			  struct uverbs_attr_bundle *attrs, u16 offset_attr, u16 index_attr)
{
	u16 index = entry->start_pgoff;
	u64 offset = 0;
	int err;

	err = uverbs_copy_to(attrs, index_attr, &index, sizeof(index));
	return err ?: uverbs_copy_to(attrs, offset_attr, &offset, sizeof(offset));
}

int pinion_mlx5_answer_dm(const struct rdma_user_mmap_entry *entry,
			  struct uverbs_attr_bundle *attrs)
{
	enum mlx5_ib_uapi_dm_type type;
	int err;

	err = uverbs_get_const_default(&type, attrs, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE,
				       MLX5_IB_UAPI_DM_TYPE_MEMIC);
	if (err)
		return err;
	if (type != MLX5_IB_UAPI_DM_TYPE_MEMIC)
		return -EOPNOTSUPP;
	return mlx5_dm_answer(entry, attrs, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET,
			      MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX);
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(pinion_mlx5_alloc_dm, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC,
			     UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET,
						 UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
			     UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX,
						 UVERBS_ATTR_TYPE(u16), UA_OPTIONAL),
			     UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE,
						  enum mlx5_ib_uapi_dm_type, UA_OPTIONAL));

/* Answer the query of a process that imports the memory. */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DM_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ibdm = uverbs_attr_get_obj(attrs, MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE);
	u64 length;
	int err;

	if (IS_ERR(ibdm))
		return PTR_ERR(ibdm);
	length = ibdm->length;
	err = mlx5_dm_answer(to_pinion_dm(ibdm)->mapping, attrs,
			     MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET,
			     MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX);
	return err ?: uverbs_copy_to(attrs, MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, &length,
				     sizeof(length));
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DM_QUERY,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, UVERBS_OBJECT_DM,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET,
						UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX,
						UVERBS_ATTR_TYPE(u16), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH,
						UVERBS_ATTR_TYPE(u64), UA_MANDATORY));

ADD_UVERBS_METHODS(pinion_mlx5_dm_methods, UVERBS_OBJECT_DM,
		   &UVERBS_METHOD(MLX5_IB_METHOD_DM_QUERY));

const struct uapi_definition pinion_mlx5_dm_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &pinion_mlx5_alloc_dm),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &pinion_mlx5_dm_methods),
	{},
};
