// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Builds and sends uverbs ioctls. Checks nothing: that is the kernel's part.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rdma/pinion-abi.h>

#include "raw.h"

void raw_begin(struct raw *raw, uint16_t object, uint16_t method)
{
	memset(raw, 0, sizeof(*raw));
	raw->hdr.object_id = object;
	raw->hdr.method_id = method;
	raw->hdr.driver_id = PINION_DRIVER_ID;
	raw->hdr.length = sizeof(raw->hdr);
}

static struct ib_uverbs_attr *add(struct raw *raw, uint16_t id, size_t length)
{
	struct ib_uverbs_attr *attr = &raw->attr[raw->hdr.num_attrs++];

	raw->hdr.length += sizeof(*attr);
	attr->attr_id = id;
	attr->len = length;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	return attr;
}

struct ib_uverbs_attr *raw_in(struct raw *raw, uint16_t id, const void *data,
			      size_t length)
{
	struct ib_uverbs_attr *attr = add(raw, id, length);

	if (length <= sizeof(attr->data))
		memcpy((void *)&attr->data, data, length);
	else
		attr->data = (uintptr_t)data;
	return attr;
}

struct ib_uverbs_attr *raw_out(struct raw *raw, uint16_t id, void *data,
			       size_t length)
{
	struct ib_uverbs_attr *attr = add(raw, id, length);

	attr->data = (uintptr_t)data;
	return attr;
}

struct ib_uverbs_attr *raw_handle(struct raw *raw, uint16_t id, uint64_t handle)
{
	struct ib_uverbs_attr *attr = add(raw, id, 0);

	attr->data = handle;
	return attr;
}

int raw_call(int fd, struct raw *raw)
{
	return ioctl(fd, RDMA_VERBS_IOCTL, raw) ? errno : 0;
}

int raw_command(int fd, uint32_t command, const void *in, size_t in_length,
		void *out, size_t out_length)
{
	uint64_t number = command;
	struct raw raw;

	raw_begin(&raw, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	raw_in(&raw, UVERBS_ATTR_WRITE_CMD, &number, sizeof(number));
	raw_in(&raw, UVERBS_ATTR_CORE_IN, in, in_length);
	if (out_length)
		raw_out(&raw, UVERBS_ATTR_CORE_OUT, out, out_length);
	return raw_call(fd, &raw);
}

int raw_doorbell(int fd, uint32_t qp_handle)
{
	struct raw raw;

	raw_begin(&raw, UVERBS_OBJECT_QP, PINION_METHOD_QP_DOORBELL);
	raw_handle(&raw, PINION_ATTR_QP_DOORBELL_HANDLE, qp_handle);
	return raw_call(fd, &raw);
}

int raw_srq_doorbell(int fd, uint32_t srq_handle)
{
	struct raw raw;

	raw_begin(&raw, UVERBS_OBJECT_SRQ, PINION_METHOD_SRQ_DOORBELL);
	raw_handle(&raw, PINION_ATTR_SRQ_DOORBELL_HANDLE, srq_handle);
	return raw_call(fd, &raw);
}

int raw_dereg_mr(int fd, uint32_t handle)
{
	struct raw raw;

	raw_begin(&raw, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY);
	raw_handle(&raw, UVERBS_ATTR_DESTROY_MR_HANDLE, handle);
	return raw_call(fd, &raw);
}

int raw_rereg_mr(int fd, const struct ib_uverbs_rereg_mr *cmd)
{
	struct ib_uverbs_rereg_mr_resp resp;

	return raw_command(fd, IB_USER_VERBS_CMD_REREG_MR, cmd, sizeof(*cmd),
			   &resp, sizeof(resp));
}

static void fill_dest(struct ib_uverbs_qp_dest *dest,
		      const struct ibv_ah_attr *attr)
{
	memcpy(dest->dgid, attr->grh.dgid.raw, sizeof(dest->dgid));
	dest->flow_label = attr->grh.flow_label;
	dest->sgid_index = attr->grh.sgid_index;
	dest->hop_limit = attr->grh.hop_limit;
	dest->traffic_class = attr->grh.traffic_class;
	dest->sl = attr->sl;
	dest->is_global = attr->is_global;
	dest->port_num = attr->port_num;
}

int raw_modify_qp(int fd, uint32_t handle, const struct ibv_qp_attr *attr,
		  int mask)
{
	struct ib_uverbs_modify_qp cmd = {
		.qp_handle = handle,
		.attr_mask = mask,
		.qkey = attr->qkey,
		.rq_psn = attr->rq_psn,
		.sq_psn = attr->sq_psn,
		.dest_qp_num = attr->dest_qp_num,
		.qp_access_flags = attr->qp_access_flags,
		.pkey_index = attr->pkey_index,
		.qp_state = attr->qp_state,
		.cur_qp_state = attr->cur_qp_state,
		.path_mtu = attr->path_mtu,
		.path_mig_state = attr->path_mig_state,
		.en_sqd_async_notify = attr->en_sqd_async_notify,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.min_rnr_timer = attr->min_rnr_timer,
		.port_num = attr->port_num,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
	};

	fill_dest(&cmd.dest, &attr->ah_attr);
	return raw_command(fd, IB_USER_VERBS_CMD_MODIFY_QP, &cmd, sizeof(cmd),
			   NULL, 0);
}
