// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Joining and leaving multicast groups: limits. The groups themselves are in path/mcast.c.
 */
#include "../path/mcast.h"
#include "device.h"
#include "ops.h"
#include "user.h"

/*
 * The core has checked that this is a UD queue pair and a multicast address. For kernel consumers
 * it counts the calls that succeed, and refuses to destroy a queue pair with a count. So attaching
 * a second time succeeds (-EEXIST becomes 0), and so does detaching a second time.
 */
static int mcast_attach(struct ib_qp *ibqp, union ib_gid *mgid, u16 lid)
{
	struct pinion_user *user = pinion_user_of_pd(ibqp->pd);
	struct pinion_dev *dev = to_pinion_dev(ibqp->device);
	int err;

	err = pinion_count_verb(dev, user, PINION_COUNT_MCAST);
	if (err)
		return err;
	err = pinion_mcast_attach(to_pinion_qp(ibqp), mgid, user);
	if (err)
		pinion_count_out(dev, user, PINION_COUNT_MCAST);
	return err == -EEXIST ? 0 : err;
}

static int mcast_detach(struct ib_qp *ibqp, union ib_gid *mgid, u16 lid)
{
	int err;

	err = pinion_mcast_detach(to_pinion_qp(ibqp), mgid);
	if (!err)
		pinion_count_out(to_pinion_dev(ibqp->device), pinion_user_of_pd(ibqp->pd),
				 PINION_COUNT_MCAST);
	return err == -EEXIST ? 0 : err;
}

const struct ib_device_ops pinion_mcast_ops = {
	.attach_mcast = mcast_attach,
	.detach_mcast = mcast_detach,
};
