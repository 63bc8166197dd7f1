// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * uverbs ioctls built by hand, so that no private header of rdma-core is needed.
 */
#include <string.h>
#include <sys/ioctl.h>

#include <rdma/pinion-abi.h>

#include "dv.h"

void dv_begin(struct dv_call *call, uint16_t object, uint16_t method)
{
	memset(call, 0, sizeof(*call));
	call->hdr.object_id = object;
	call->hdr.method_id = method;
	call->hdr.driver_id = PINION_DRIVER_ID;
	call->hdr.length = sizeof(call->hdr);
}

static struct ib_uverbs_attr *add(struct dv_call *call, uint16_t id,
				  size_t length)
{
	struct ib_uverbs_attr *attr = &call->attr[call->hdr.num_attrs++];

	call->hdr.length += sizeof(*attr);
	attr->attr_id = id;
	attr->len = length;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	return attr;
}

void dv_in(struct dv_call *call, uint16_t id, const void *data, size_t length)
{
	struct ib_uverbs_attr *attr = add(call, id, length);

	if (length <= sizeof(attr->data))
		memcpy((void *)&attr->data, data, length);
	else
		attr->data = (uintptr_t)data;
}

void dv_out(struct dv_call *call, uint16_t id, void *data, size_t length)
{
	add(call, id, length)->data = (uintptr_t)data;
}

struct ib_uverbs_attr *dv_handle(struct dv_call *call, uint16_t id,
				 int64_t handle)
{
	struct ib_uverbs_attr *attr = add(call, id, 0);

	attr->data_s64 = handle;
	return attr;
}

int dv_issue(struct ibv_context *context, struct dv_call *call)
{
	return ioctl(context->cmd_fd, RDMA_VERBS_IOCTL, call) ? errno : 0;
}
