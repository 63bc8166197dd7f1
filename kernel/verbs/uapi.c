// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The uverbs methods and attributes that this driver adds to the core's. The handlers only find
 * the object and call the function that does the work.
 */
#define UVERBS_MODULE_NAME pinion

#include <rdma/uverbs_named_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "../path/run.h"
#include "ops.h"

static int UVERBS_HANDLER(PINION_METHOD_QP_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs, PINION_ATTR_QP_DOORBELL_HANDLE);

	if (IS_ERR(ibqp))
		return PTR_ERR(ibqp);
	/*
	 * For a shared XRC target the core hands out a struct ib_qp of its own, which is not inside
	 * a struct pinion_qp. It has no send queue anyway.
	 */
	if (ibqp->real_qp != ibqp)
		return -EINVAL;
	pinion_qp_doorbell(to_pinion_qp(ibqp));
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(PINION_METHOD_QP_DOORBELL,
			    UVERBS_ATTR_IDR(PINION_ATTR_QP_DOORBELL_HANDLE, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY));

ADD_UVERBS_METHODS(pinion_qp_methods, UVERBS_OBJECT_QP,
		   &UVERBS_METHOD(PINION_METHOD_QP_DOORBELL));

static int UVERBS_HANDLER(PINION_METHOD_DM_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ibdm = uverbs_attr_get_obj(attrs, PINION_ATTR_DM_QUERY_HANDLE);

	if (IS_ERR(ibdm))
		return PTR_ERR(ibdm);
	return pinion_dm_query(ibdm, attrs);
}

DECLARE_UVERBS_NAMED_METHOD(PINION_METHOD_DM_QUERY,
			    UVERBS_ATTR_IDR(PINION_ATTR_DM_QUERY_HANDLE, UVERBS_OBJECT_DM,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(PINION_ATTR_DM_QUERY_RESP,
						UVERBS_ATTR_STRUCT(struct pinion_query_dm_resp,
								   length),
						UA_MANDATORY));

static int UVERBS_HANDLER(PINION_METHOD_DM_EXPORT)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ibdm = uverbs_attr_get_obj(attrs, PINION_ATTR_DM_EXPORT_HANDLE);

	if (IS_ERR(ibdm))
		return PTR_ERR(ibdm);
	return pinion_dm_export(ibdm, attrs);
}

DECLARE_UVERBS_NAMED_METHOD(PINION_METHOD_DM_EXPORT,
			    UVERBS_ATTR_IDR(PINION_ATTR_DM_EXPORT_HANDLE, UVERBS_OBJECT_DM,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(PINION_ATTR_DM_EXPORT_FD, UVERBS_ATTR_TYPE(s32),
						UA_MANDATORY));

ADD_UVERBS_METHODS(pinion_dm_methods, UVERBS_OBJECT_DM,
		   &UVERBS_METHOD(PINION_METHOD_DM_QUERY),
		   &UVERBS_METHOD(PINION_METHOD_DM_EXPORT));

static int UVERBS_HANDLER(PINION_METHOD_PD_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_pd *ibpd = uverbs_attr_get_obj(attrs, PINION_ATTR_PD_QUERY_HANDLE);

	if (IS_ERR(ibpd))
		return PTR_ERR(ibpd);
	return pinion_pd_query(ibpd, attrs);
}

DECLARE_UVERBS_NAMED_METHOD(PINION_METHOD_PD_QUERY,
			    UVERBS_ATTR_IDR(PINION_ATTR_PD_QUERY_HANDLE, UVERBS_OBJECT_PD,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(PINION_ATTR_PD_QUERY_RESP,
						UVERBS_ATTR_STRUCT(struct pinion_alloc_pd_resp,
								   pdn),
						UA_MANDATORY));

ADD_UVERBS_METHODS(pinion_pd_methods, UVERBS_OBJECT_PD, &UVERBS_METHOD(PINION_METHOD_PD_QUERY));

#define RESP_UCONTEXT	UVERBS_ATTR_STRUCT(struct pinion_alloc_ucontext_resp, caps)
#define RESP_DM		UVERBS_ATTR_STRUCT(struct pinion_alloc_dm_resp, mmap_length)

/* Answered by pinion_ucontext_ops.query_ucontext. */
ADD_UVERBS_ATTRIBUTES_SIMPLE(pinion_query_context, UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(PINION_ATTR_QUERY_CONTEXT_RESP, RESP_UCONTEXT,
						 UA_MANDATORY));

/* Answered by pinion_dm_ops.alloc_dm. */
ADD_UVERBS_ATTRIBUTES_SIMPLE(pinion_alloc_dm, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC,
			     UVERBS_ATTR_PTR_OUT(PINION_ATTR_DM_ALLOC_RESP, RESP_DM, UA_OPTIONAL));

const struct uapi_definition pinion_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &pinion_qp_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &pinion_query_context),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &pinion_alloc_dm),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &pinion_dm_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_PD, &pinion_pd_methods),
	UAPI_DEF_CHAIN(pinion_devx_umem_defs),
	UAPI_DEF_CHAIN(pinion_devx_uar_defs),
	UAPI_DEF_CHAIN(pinion_devx_defs),
	UAPI_DEF_CHAIN(pinion_devx_async_defs),
	UAPI_DEF_CHAIN(pinion_devx_event_defs),
	UAPI_DEF_CHAIN(pinion_data_direct_defs),
	{},
};
