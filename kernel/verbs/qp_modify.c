// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Checks changes to a queue pair. All attributes are checked before path/qp.c applies any.
 */
#include <rdma/ib_addr.h>

#include "../path/qp.h"
#include "ah.h"
#include "device.h"
#include "ops.h"
#include "udata.h"

#define MAX_TIMER	31	/* both timers are five bits wide */
#define MAX_RETRIES	7

/* There is one path, and no rate limit. */
#define UNSUPPORTED (IB_QP_ALT_PATH | IB_QP_RATE_LIMIT)

static bool modify_multicast(const union ib_gid *gid)
{
	return rdma_is_multicast_addr((struct in6_addr *)gid->raw);
}

static int modify_check_path(struct pinion_dev *dev, const struct ib_qp_attr *attr, int mask,
			     struct pinion_av *av)
{
	int err;

	if (mask & IB_QP_AV) {
		if (attr->ah_attr.port_num != 1)
			return -EINVAL;
		err = pinion_av_from_attr(av, &attr->ah_attr);
		/* This address is for connections; datagrams to groups use address handles. */
		if (err || modify_multicast(&av->dgid))
			return -EINVAL;
	}
	if (mask & IB_QP_PORT && attr->port_num != 1)
		return -EINVAL;
	if (mask & IB_QP_PKEY_INDEX && attr->pkey_index)
		return -EINVAL;
	if (mask & IB_QP_PATH_MTU &&
	    (attr->path_mtu < IB_MTU_256 || attr->path_mtu > READ_ONCE(dev->active_mtu)))
		return -EINVAL;
	if (mask & IB_QP_DEST_QPN && attr->dest_qp_num > PINION_MAX_QPN)
		return -EINVAL;
	/* With one path the state is always MIGRATED. */
	if (mask & IB_QP_PATH_MIG_STATE && attr->path_mig_state != IB_MIG_MIGRATED)
		return -EOPNOTSUPP;
	return 0;
}

static int modify_check_limits(const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_TIMEOUT && attr->timeout > MAX_TIMER)
		return -EINVAL;
	if (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > MAX_TIMER)
		return -EINVAL;
	if (mask & IB_QP_RETRY_CNT && attr->retry_cnt > MAX_RETRIES)
		return -EINVAL;
	if (mask & IB_QP_RNR_RETRY && attr->rnr_retry > MAX_RETRIES)
		return -EINVAL;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > PINION_MAX_RD_ATOMIC)
		return -EINVAL;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > PINION_MAX_RD_ATOMIC)
		return -EINVAL;
	if (mask & IB_QP_ACCESS_FLAGS && attr->qp_access_flags & ~IB_ACCESS_SUPPORTED)
		return -EINVAL;
	return 0;
}

/*
 * The caller holds pinion_qp_lock(). Whoever breaks a device sets `broken' first, and then takes
 * resp.lock of each queue pair, which is part of that lock: so one that misses it here fails then.
 */
static int modify_check_state(struct pinion_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state from = qp->state;
	enum ib_qp_state to = mask & IB_QP_STATE ? attr->qp_state : from;

	if (READ_ONCE(to_pinion_dev(qp->ibqp.device)->broken) && to != IB_QPS_RESET &&
	    to != IB_QPS_ERR)
		return -EIO;

	/* The core checks the range of the state for user space only. */
	if (to > IB_QPS_ERR)
		return -EINVAL;
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != from)
		return -EINVAL;
	return ib_modify_qp_is_ok(from, to, qp->ibqp.qp_type, mask) ? 0 : -EINVAL;
}

/**
 * pinion_modify_qp - ib_device_ops.modify_qp
 * @ibqp: the queue pair
 * @attr: new attributes; the core has looked up the source GID of addresses
 * @mask: which attributes are valid
 * @udata: empty; NULL for a kernel consumer
 *
 * Return: 0, or a negative errno; then nothing has changed.
 */
int pinion_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		     struct ib_udata *udata)
{
	struct pinion_qp *qp = to_pinion_qp(ibqp);
	struct pinion_av av = {};
	int err;

	if (mask & UNSUPPORTED)
		return -EOPNOTSUPP;
	err = pinion_udata_none(udata);
	if (!err)
		err = modify_check_path(to_pinion_dev(ibqp->device), attr, mask, &av);
	if (!err)
		err = modify_check_limits(attr, mask);
	if (err)
		return err;

	/* The executor or the responder may enter an error state until we hold the locks. */
	pinion_qp_lock(qp);
	err = modify_check_state(qp, attr, mask);
	if (err) {
		pinion_qp_unlock(qp);
		return err;
	}
	pinion_qp_modify(qp, attr, mask, &av);
	pinion_qp_resume(qp);
	return 0;
}
