// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Answers queries about the device and its one port. dev/netdev.c keeps the port's state.
 */
#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "../compat/compat.h"
#include "../logic/wqe.h"
#include "../mem/describe.h"
#include "../mem/dm.h"
#include "../mem/fastreg.h"
#include "../mem/persist.h"
#include "../path/mcast.h"
#include "device.h"
#include "ops.h"
#include "udata.h"

#define FW_MAJOR	1
#define FW_MINOR	0

/* Timestamps of completions are in nanoseconds: a clock of 10^6 kHz. */
#define CORE_CLOCK_KHZ	1000000

/* Local CA ack delay, 4.096 us * 2^15 = 134 ms: a busy host may need it to run an executor. */
#define ACK_DELAY	15

#define DEVICE_CAPS (IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_PORT_ACTIVE_EVENT |	\
		     IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_RC_RNR_NAK_GEN |		\
		     IB_DEVICE_SRQ_RESIZE | IB_DEVICE_XRC | IB_DEVICE_MEM_WINDOW |	\
		     IB_DEVICE_MEM_WINDOW_TYPE_2B | IB_DEVICE_MEM_MGT_EXTENSIONS |	\
		     IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_ATOMIC_WRITE)

static void device_fill_queue_limits(struct ib_device_attr *attr)
{
	attr->max_qp = PINION_MAX_QP;
	attr->max_qp_wr = PINION_MAX_QP_WR;
	attr->max_send_sge = PINION_MAX_SGE;
	attr->max_recv_sge = PINION_MAX_SGE;
	attr->max_sge_rd = PINION_MAX_SGE;
	attr->max_cq = PINION_MAX_CQ;
	attr->max_cqe = PINION_MAX_CQE;
	attr->cq_caps.max_cq_moderation_count = U16_MAX;
	attr->cq_caps.max_cq_moderation_period = U16_MAX;
	attr->max_srq = PINION_MAX_SRQ;
	attr->max_srq_wr = PINION_MAX_SRQ_WR;
	attr->max_srq_sge = PINION_MAX_SGE;
	attr->max_qp_rd_atom = PINION_MAX_RD_ATOMIC;
	attr->max_qp_init_rd_atom = PINION_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = PINION_MAX_QP * PINION_MAX_RD_ATOMIC;
	attr->max_ah = PINION_MAX_AH;
	attr->max_mcast_grp = PINION_MAX_MCAST;
	attr->max_mcast_qp_attach = PINION_MCAST_MAX_QPS;
	attr->max_total_mcast_qp_attach = PINION_MAX_MCAST;
}

static void device_fill_memory_limits(struct ib_device_attr *attr)
{
	attr->max_pd = PINION_MAX_PD;
	attr->max_mr = PINION_MAX_MR;
	attr->max_mw = PINION_MAX_MW;
	attr->max_mr_size = PINION_MAX_MR_SIZE;
	attr->page_size_cap = GENMASK_ULL(PINION_MAX_BLOCK_SHIFT, PAGE_SHIFT);
	attr->max_fast_reg_page_list_len = PINION_MAX_FASTREG_PAGES;
	attr->max_dm_size = PINION_DM_SIZE;
}

static void device_report_odp(struct ib_odp_caps *caps)
{
	u32 messages = PINION_ODP_MESSAGES;
	u32 memory = PINION_ODP_MEMORY | PINION_ODP_SUPPORT_LATER;

	caps->general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	caps->per_transport_caps.rc_odp_caps = messages | memory;
	caps->per_transport_caps.uc_odp_caps = messages | IB_ODP_SUPPORT_WRITE;
	caps->per_transport_caps.ud_odp_caps = messages;
	caps->per_transport_caps.xrc_odp_caps = messages | memory;
}

/* ib_device_ops.query_device */
int pinion_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	struct pinion_dev *dev = to_pinion_dev(ibdev);
	int err;

	err = pinion_udata_none(udata);
	if (err)
		return err;

	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = (u64)FW_MAJOR << 32 | FW_MINOR;
	attr->sys_image_guid = dev->guid;
	attr->vendor_id = dev->vendor_id;
	attr->vendor_part_id = dev->vendor_part_id;
	attr->device_cap_flags = DEVICE_CAPS;
	if (pinion_persist_possible())
		attr->device_cap_flags |= IB_DEVICE_FLUSH_PERSISTENT;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG | IBK_ON_DEMAND_PAGING |
				 IBK_SG_GAPS_REG;
	device_report_odp(&attr->odp_caps);
	/* Atomics are performed by CPU instructions: atomic with all other accesses. */
	attr->atomic_cap = IB_ATOMIC_GLOB;
	attr->max_pkeys = 1;
	attr->local_ca_ack_delay = ACK_DELAY;
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = CORE_CLOCK_KHZ;
	device_fill_queue_limits(attr);
	device_fill_memory_limits(attr);
	return 0;
}

static void device_get_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "pinion-%u.%u", FW_MAJOR, FW_MINOR);
}

static int device_modify(struct ib_device *ibdev, int mask, struct ib_device_modify *modify)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, modify->node_desc, sizeof(ibdev->node_desc));
	return 0;
}

/* Speeds in the IB encoding, ascending. The first that is not below the netdev's is reported. */
static const struct {
	u32 mbps;
	u16 speed;
	u8 width;
} rates[] = {
	{ SPEED_1000,	IB_SPEED_SDR,	IB_WIDTH_1X },
	{ SPEED_10000,	IB_SPEED_FDR10,	IB_WIDTH_1X },
	{ SPEED_25000,	IB_SPEED_EDR,	IB_WIDTH_1X },
	{ SPEED_40000,	IB_SPEED_FDR10,	IB_WIDTH_4X },
	{ SPEED_50000,	IB_SPEED_EDR,	IB_WIDTH_2X },
	{ SPEED_100000,	IB_SPEED_EDR,	IB_WIDTH_4X },
	{ SPEED_200000,	IB_SPEED_HDR,	IB_WIDTH_4X },
	{ U32_MAX,	IB_SPEED_NDR,	IB_WIDTH_4X },
};

/*
 * The netdev's speed in Mb/s. Takes RTNL. The speed is not cached on netdev events: the netdev's
 * driver may send one while it holds a lock that get_link_ksettings() takes.
 */
static u32 port_speed(struct net_device *ndev)
{
	struct ethtool_link_ksettings settings = {};
	int err = -ENODEV;

	rtnl_lock();
	if (READ_ONCE(ndev->reg_state) == NETREG_REGISTERED)
		err = __ethtool_get_link_ksettings(ndev, &settings);
	rtnl_unlock();
	if (err || !settings.base.speed || settings.base.speed == (u32)SPEED_UNKNOWN)
		return SPEED_1000;
	return settings.base.speed;
}

static void port_fill_rate(u32 mbps, struct ib_port_attr *attr)
{
	int i = 0;

	while (rates[i].mbps < mbps)
		i++;
	attr->active_speed = rates[i].speed;
	attr->active_width = rates[i].width;
}

/* The core has checked @port_num and zeroed @attr. */
static int port_query(struct ib_device *ibdev, u32 port_num, struct ib_port_attr *attr)
{
	struct pinion_dev *dev = to_pinion_dev(ibdev);
	struct net_device *ndev = ib_device_get_netdev(ibdev, port_num);

	if (!ndev)
		return -ENODEV;
	attr->state = pinion_port_state(dev, ndev);
	if (attr->state == IB_PORT_ACTIVE)
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	else if (netif_running(ndev))
		attr->phys_state = IB_PORT_PHYS_STATE_POLLING;
	else
		attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	port_fill_rate(port_speed(ndev), attr);
	dev_put(ndev);

	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = READ_ONCE(dev->active_mtu);
	attr->gid_tbl_len = PINION_GID_TABLE_LEN;
	attr->pkey_tbl_len = 1;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->ip_gids = true;
	attr->max_msg_sz = PINION_MAX_MSG_SIZE;
	attr->max_vl_num = 1;
	return 0;
}

/**
 * pinion_query_port_speed - ib_device_ops.query_port_speed, on kernels that have it
 * @ibdev: the device
 * @port_num: checked by the core
 * @speed: in units of 100 Mb/s
 *
 * Return: 0, or -ENODEV if the netdev is gone.
 */
int pinion_query_port_speed(struct ib_device *ibdev, u32 port_num, u64 *speed)
{
	struct net_device *ndev = ib_device_get_netdev(ibdev, port_num);

	if (!ndev)
		return -ENODEV;
	*speed = port_speed(ndev) / 100;
	dev_put(ndev);
	return 0;
}

static int port_query_pkey(struct ib_device *ibdev, u32 port_num, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

static int port_get_immutable(struct ib_device *ibdev, u32 port_num,
			      struct ib_port_immutable *immutable)
{
	struct ib_port_attr attr;
	int err;

	/* Set first: ib_query_port() asks rdma_protocol_iwarp(), which reads it. */
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	err = ib_query_port(ibdev, port_num, &attr);
	if (err)
		return err;
	immutable->pkey_tbl_len = attr.pkey_tbl_len;
	immutable->gid_tbl_len = attr.gid_tbl_len;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static enum rdma_link_layer port_get_link_layer(struct ib_device *ibdev, u32 port_num)
{
	return IB_LINK_LAYER_ETHERNET;
}

const struct ib_device_ops pinion_device_ops = {
	.owner = THIS_MODULE,

	.get_dev_fw_str = device_get_fw_str,
	.get_link_layer = port_get_link_layer,
	.get_port_immutable = port_get_immutable,
	.modify_device = device_modify,
	.query_device = pinion_query_device,
	.query_pkey = port_query_pkey,
	.query_port = port_query,
};
