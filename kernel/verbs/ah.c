// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles. The core has resolved the address already.
 */
#include <linux/etherdevice.h>

#include "../path/av.h"
#include "ah.h"
#include "device.h"
#include "mlx5.h"
#include "ops.h"
#include "udata.h"
#include "user.h"

int pinion_av_from_attr(struct pinion_av *av, const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = &attr->grh;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE || !(attr->ah_flags & IB_AH_GRH) ||
	    !grh->sgid_attr)
		return -EINVAL;
	*av = (struct pinion_av){
		.dgid = grh->dgid,
		.sl = attr->sl,
		.traffic_class = grh->traffic_class,
		.hop_limit = grh->hop_limit,
		.flow_label = grh->flow_label,
	};
	ether_addr_copy(av->dmac, attr->roce.dmac);
	return pinion_av_from(av, grh->sgid_attr);
}

static int ah_answer(const struct pinion_ah *ah, struct ib_udata *udata)
{
	const struct pinion_create_ah_resp resp = { .ah = ah->number };

	return pinion_udata_out(udata, &resp, sizeof(resp));
}

static int ah_create(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	gfp_t gfp = init->flags & RDMA_CREATE_AH_SLEEPABLE ? GFP_KERNEL_ACCOUNT : GFP_ATOMIC;
	struct pinion_dev *dev = to_pinion_dev(ibah->device);
	struct pinion_ah *ah = to_pinion_ah(ibah);
	int err;

	err = pinion_udata_in_none(udata);
	if (!err)
		err = pinion_av_from_attr(&ah->av, init->ah_attr);
	if (err)
		return err;
	ah->owner = pinion_user_of_udata(udata);
	err = pinion_count_verb(dev, ah->owner, PINION_COUNT_AH);
	if (err)
		return err;
	ah->pd = ibah->pd;
	err = pinion_node_add_ah(&dev->node, ah, gfp);
	if (err)
		goto err_count;
	if (!udata)
		return 0;
	err = dev->is_mlx5 ? pinion_mlx5_answer_ah(&ah->av, udata) : ah_answer(ah, udata);
	if (err)
		goto err_del;
	return 0;

err_del:
	pinion_node_del_ah(&dev->node, ah);
err_count:
	pinion_count_out(dev, ah->owner, PINION_COUNT_AH);
	return err;
}

static int ah_destroy(struct ib_ah *ibah, u32 flags)
{
	struct pinion_dev *dev = to_pinion_dev(ibah->device);

	pinion_node_del_ah(&dev->node, to_pinion_ah(ibah));
	pinion_count_out(dev, to_pinion_ah(ibah)->owner, PINION_COUNT_AH);
	return 0;
}

static int ah_query(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	const struct pinion_av *av = &to_pinion_ah(ibah)->av;
	union ib_gid dgid = av->dgid;

	memset(attr, 0, sizeof(*attr));
	attr->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_sl(attr, av->sl);
	rdma_ah_set_port_num(attr, ibah->sgid_attr->port_num);
	rdma_ah_set_grh(attr, &dgid, av->flow_label, ibah->sgid_attr->index, av->hop_limit,
			av->traffic_class);
	ether_addr_copy(attr->roce.dmac, av->dmac);
	return 0;
}

const struct ib_device_ops pinion_ah_ops = {
	.create_ah = ah_create,
	.create_user_ah = ah_create,
	.destroy_ah = ah_destroy,
	.query_ah = ah_query,

	INIT_RDMA_OBJ_SIZE(ib_ah, pinion_ah, ibah),
};
