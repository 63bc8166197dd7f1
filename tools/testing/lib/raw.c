// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Builds and sends uverbs ioctls. Checks nothing: that is the kernel's part.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/pinion-abi.h>

#include "raw.h"

uint32_t raw_driver = PINION_DRIVER_ID;

void raw_begin(struct raw *raw, uint16_t object, uint16_t method)
{
	memset(raw, 0, sizeof(*raw));
	raw->hdr.object_id = object;
	raw->hdr.method_id = method;
	raw->hdr.driver_id = raw_driver;
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

static void add_payload(struct raw *raw, const struct raw_payload *payload)
{
	if (payload->in_length)
		raw_in(raw, UVERBS_ATTR_UHW_IN, payload->in,
		       payload->in_length);
	if (payload->out_length)
		raw_out(raw, UVERBS_ATTR_UHW_OUT, payload->out,
			payload->out_length);
}

int raw_driver_command(int fd, uint32_t command, const void *in,
		       size_t in_length, void *out, size_t out_length,
		       const struct raw_payload *payload)
{
	uint64_t number = command;
	struct raw raw;

	raw_begin(&raw, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	raw_in(&raw, UVERBS_ATTR_WRITE_CMD, &number, sizeof(number));
	raw_in(&raw, UVERBS_ATTR_CORE_IN, in, in_length);
	if (out_length)
		raw_out(&raw, UVERBS_ATTR_CORE_OUT, out, out_length);
	add_payload(&raw, payload);
	return raw_call(fd, &raw);
}

int raw_command(int fd, uint32_t command, const void *in, size_t in_length,
		void *out, size_t out_length)
{
	return raw_driver_command(fd, command, in, in_length, out, out_length,
				  &(struct raw_payload){});
}

static int create(int fd, struct raw *raw, const struct raw_payload *payload,
		  const struct ib_uverbs_attr *made, uint32_t *handle)
{
	int err;

	add_payload(raw, payload);
	err = raw_call(fd, raw);
	*handle = made->data;
	return err;
}

int raw_create_cq(int fd, uint32_t cqe, const struct raw_payload *payload,
		  uint32_t *handle)
{
	uint32_t got, vector = 0;
	struct ib_uverbs_attr *made;
	uint64_t user = 0;
	struct raw raw;

	raw_begin(&raw, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	made = raw_handle(&raw, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	raw_in(&raw, UVERBS_ATTR_CREATE_CQ_CQE, &cqe, sizeof(cqe));
	raw_in(&raw, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &user, sizeof(user));
	raw_in(&raw, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &vector,
	       sizeof(vector));
	raw_out(&raw, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &got, sizeof(got));
	return create(fd, &raw, payload, made, handle);
}

int raw_create_qp_of(int fd, uint32_t pd, uint32_t cq, int64_t srq, uint32_t wr,
		     const struct raw_payload *payload, uint32_t *handle,
		     uint32_t *qpn)
{
	struct ib_uverbs_qp_cap cap = {
		.max_send_wr = wr,
		.max_send_sge = 1,
		.max_recv_wr = srq < 0 ? wr : 0,
		.max_recv_sge = srq < 0,
	};
	uint64_t user = 0, type = IB_UVERBS_QPT_RC;
	struct ib_uverbs_attr *made;
	struct raw raw;

	raw_begin(&raw, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	made = raw_handle(&raw, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	raw_handle(&raw, UVERBS_ATTR_CREATE_QP_PD_HANDLE, pd);
	raw_handle(&raw, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, cq);
	raw_handle(&raw, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, cq);
	if (srq >= 0)
		raw_handle(&raw, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, srq);
	raw_in(&raw, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &user, sizeof(user));
	raw_in(&raw, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	raw_in(&raw, UVERBS_ATTR_CREATE_QP_TYPE, &type, sizeof(type));
	raw_out(&raw, UVERBS_ATTR_CREATE_QP_RESP_CAP, &cap, sizeof(cap));
	raw_out(&raw, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn, sizeof(*qpn));
	return create(fd, &raw, payload, made, handle);
}

int raw_create_qp(int fd, uint32_t pd, uint32_t cq, int64_t srq, uint32_t wr,
		  const struct raw_payload *payload, uint32_t *handle)
{
	uint32_t qpn;

	return raw_create_qp_of(fd, pd, cq, srq, wr, payload, handle, &qpn);
}

int raw_create_srq(int fd, uint32_t pd, uint32_t wr,
		   const struct raw_payload *payload, uint32_t *handle)
{
	uint32_t sge = 1, limit = 0, got_wr, got_sge;
	uint64_t user = 0, type = IB_UVERBS_SRQT_BASIC;
	struct ib_uverbs_attr *made;
	struct raw raw;

	raw_begin(&raw, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	made = raw_handle(&raw, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0);
	raw_handle(&raw, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, pd);
	raw_in(&raw, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, &user, sizeof(user));
	raw_in(&raw, UVERBS_ATTR_CREATE_SRQ_MAX_WR, &wr, sizeof(wr));
	raw_in(&raw, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, &sge, sizeof(sge));
	raw_in(&raw, UVERBS_ATTR_CREATE_SRQ_LIMIT, &limit, sizeof(limit));
	raw_in(&raw, UVERBS_ATTR_CREATE_SRQ_TYPE, &type, sizeof(type));
	raw_out(&raw, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &got_wr,
		sizeof(got_wr));
	raw_out(&raw, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &got_sge,
		sizeof(got_sge));
	return create(fd, &raw, payload, made, handle);
}

int raw_destroy_queue(int fd, uint16_t object, uint32_t handle)
{
	/* The methods to destroy queues all have the same two attributes. */
	static const uint16_t methods[] = {
		[UVERBS_OBJECT_CQ] = UVERBS_METHOD_CQ_DESTROY,
		[UVERBS_OBJECT_QP] = UVERBS_METHOD_QP_DESTROY,
		[UVERBS_OBJECT_SRQ] = UVERBS_METHOD_SRQ_DESTROY,
	};
	uint32_t events[2];
	struct raw raw;

	raw_begin(&raw, object, methods[object]);
	raw_handle(&raw, UVERBS_ATTR_DESTROY_QP_HANDLE, handle);
	raw_out(&raw, UVERBS_ATTR_DESTROY_QP_RESP, events,
		object == UVERBS_OBJECT_CQ ? 8 : 4);
	return raw_call(fd, &raw);
}

int raw_doorbell(int fd, uint32_t qp_handle)
{
	struct raw raw;

	raw_begin(&raw, UVERBS_OBJECT_QP, PINION_METHOD_QP_DOORBELL);
	raw_handle(&raw, PINION_ATTR_QP_DOORBELL_HANDLE, qp_handle);
	return raw_call(fd, &raw);
}

int raw_reg_umem(int fd, const void *addr, uint64_t length, uint32_t *handle,
		 uint32_t *id)
{
	uint64_t at = (uintptr_t)addr, pages = ~0ULL;
	uint32_t access = IBV_ACCESS_LOCAL_WRITE;
	struct ib_uverbs_attr *attr;
	struct raw raw;
	int err;

	raw_begin(&raw, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG);
	attr = raw_handle(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, 0);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, &at, 8);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, &length, 8);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, &access, 4);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, &pages, 8);
	raw_out(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, id, 4);
	err = raw_call(fd, &raw);
	*handle = attr->data;
	return err;
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
