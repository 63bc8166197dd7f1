// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The port's counters as management datagrams (MADs) of the performance class. The core asks for
 * them to fill /sys/class/infiniband/NAME/ports/1/counters, and peers may ask through queue
 * pair 1. The core handles the other classes, such as connection management.
 */
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "device.h"
#include "ops.h"

/* By the specification, counters of 32 bits stay at their maximum. */
static __be32 pma_word(u64 count)
{
	return cpu_to_be32(min_t(u64, count, U32_MAX));
}

/* The specification counts data in units of 4 bytes. */
static u64 pma_read_words(struct pinion_node *node, enum pinion_stat stat)
{
	return pinion_node_count(node, stat) / 4;
}

static void pma_put_counters(struct pinion_node *node, struct ib_pma_portcounters *to)
{
	to->port_xmit_data = pma_word(pma_read_words(node, PINION_STAT_port_xmit_bytes));
	to->port_rcv_data = pma_word(pma_read_words(node, PINION_STAT_port_rcv_bytes));
	to->port_xmit_packets = pma_word(pinion_node_count(node, PINION_STAT_port_xmit_packets));
	to->port_rcv_packets = pma_word(pinion_node_count(node, PINION_STAT_port_rcv_packets));
}

static void pma_put_counters_ext(struct pinion_node *node, struct ib_pma_portcounters_ext *to)
{
	u64 xmit = pinion_node_count(node, PINION_STAT_port_xmit_packets);
	u64 rcv = pinion_node_count(node, PINION_STAT_port_rcv_packets);

	to->port_xmit_data = cpu_to_be64(pma_read_words(node, PINION_STAT_port_xmit_bytes));
	to->port_rcv_data = cpu_to_be64(pma_read_words(node, PINION_STAT_port_rcv_bytes));
	to->port_xmit_packets = cpu_to_be64(xmit);
	to->port_rcv_packets = cpu_to_be64(rcv);
	to->port_unicast_xmit_packets = to->port_xmit_packets;
	to->port_unicast_rcv_packets = to->port_rcv_packets;
}

/* Fill @out. Return: the status of the answer. Only GET is supported. */
static u16 pma_answer(struct pinion_node *node, const struct ib_pma_mad *in,
		      struct ib_pma_mad *out)
{
	/* Both structures of counters have the port in their second byte. */
	u8 port = in->data[1];
	u8 *port_out = &out->data[1];

	if (in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		((struct ib_class_port_info *)out->data)->base_version = IB_MGMT_BASE_VERSION;
		((struct ib_class_port_info *)out->data)->class_version = 1;
		((struct ib_class_port_info *)out->data)->capability_mask =
			IB_PMA_CLASS_CAP_EXT_WIDTH | IB_PMA_CLASS_CAP_ALLPORTSELECT;
		return 0;
	case IB_PMA_PORT_COUNTERS:
		pma_put_counters(node, (void *)out->data);
		break;
	case IB_PMA_PORT_COUNTERS_EXT:
		pma_put_counters_ext(node, (void *)out->data);
		break;
	default:
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	}
	*port_out = port;
	if (port == 1 || port == U8_MAX)
		return 0;
	memset(out->data, 0, sizeof(out->data));
	return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
}

/*
 * Called by the core in process context; @out_mad is zeroed. Only GET and SET are answered: if
 * answers were, too, two devices could answer each other for ever.
 */
static int mad_process(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *wc,
		       const struct ib_grh *grh, const struct ib_mad *in_mad,
		       struct ib_mad *out_mad, size_t *out_size, u16 *out_pkey_index)
{
	const struct ib_pma_mad *in = (const struct ib_pma_mad *)in_mad;
	struct ib_pma_mad *out = (struct ib_pma_mad *)out_mad;
	u16 status;

	static_assert(sizeof(*in) == sizeof(*in_mad));
	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    (in->mad_hdr.method != IB_MGMT_METHOD_GET && in->mad_hdr.method != IB_MGMT_METHOD_SET))
		return IB_MAD_RESULT_SUCCESS;
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	status = pma_answer(&to_pinion_dev(ibdev)->node, in, out);
	out->mad_hdr.status = cpu_to_be16(status);
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

const struct ib_device_ops pinion_mad_ops = {
	.process_mad = mad_process,
};
