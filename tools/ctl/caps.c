// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a device can do, as libibverbs tells: limits, and what memory may be registered how.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "ctl.h"
#include "words.h"

static const struct bit device_words[] = {
	{ IBV_DEVICE_RESIZE_MAX_WR, "resize_max_wr" },
	{ IBV_DEVICE_CURR_QP_STATE_MOD, "curr_qp_state_mod" },
	{ IBV_DEVICE_PORT_ACTIVE_EVENT, "port_active_event" },
	{ IBV_DEVICE_SYS_IMAGE_GUID, "sys_image_guid" },
	{ IBV_DEVICE_RC_RNR_NAK_GEN, "rc_rnr_nak_gen" },
	{ IBV_DEVICE_SRQ_RESIZE, "srq_resize" },
	{ IBV_DEVICE_MEM_WINDOW, "mem_window" },
	{ IBV_DEVICE_XRC, "xrc" },
	{ IBV_DEVICE_MEM_MGT_EXTENSIONS, "mem_mgt_extensions" },
	{ IBV_DEVICE_MEM_WINDOW_TYPE_2A, "mem_window_type_2a" },
	{ IBV_DEVICE_MEM_WINDOW_TYPE_2B, "mem_window_type_2b" },
	{ 1ULL << 38, "flush_global" },
	{ 1ULL << 39, "flush_persistent" },
	{ 1ULL << 40, "atomic_write" },
	{},
};

static const struct bit odp_words[] = {
	{ IBV_ODP_SUPPORT, "explicit" },
	{ IBV_ODP_SUPPORT_IMPLICIT, "implicit" },
	{},
};

static const struct bit odp_transport_words[] = {
	{ IBV_ODP_SUPPORT_SEND, "send" },
	{ IBV_ODP_SUPPORT_RECV, "recv" },
	{ IBV_ODP_SUPPORT_WRITE, "write" },
	{ IBV_ODP_SUPPORT_READ, "read" },
	{ IBV_ODP_SUPPORT_ATOMIC, "atomic" },
	{ IBV_ODP_SUPPORT_SRQ_RECV, "srq_recv" },
	{ 1 << 6, "flush" },
	{ 1 << 7, "atomic_write" },
	{},
};

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **all, **device;
	struct ibv_context *context;

	all = ibv_get_device_list(NULL);
	for (device = all; device && *device; device++)
		if (!strcmp(ibv_get_device_name(*device), name))
			break;
	if (!device || !*device)
		die("libibverbs has no device %s; `pinionctl doctor' may tell why",
		    name);
	context = ibv_open_device(*device);
	/* errno is of something that libibverbs has tried last. */
	if (!context)
		die("%s cannot be opened: `pinionctl doctor' may tell why",
		    name);
	ibv_free_device_list(all);
	return context;
}

static void row_limits(struct row *row, const struct ibv_device_attr *attr)
{
	row_text(row, "fw_ver", attr->fw_ver);
	row_hex(row, "vendor_id", attr->vendor_id);
	row_hex(row, "vendor_part_id", attr->vendor_part_id);
	row_bits(row, "device_cap_flags", attr->device_cap_flags, device_words);
	row_number(row, "max_mr", attr->max_mr);
	row_number(row, "max_mr_size", attr->max_mr_size);
	row_hex(row, "page_size_cap", attr->page_size_cap);
	row_number(row, "max_mw", attr->max_mw);
	row_number(row, "max_pd", attr->max_pd);
	row_number(row, "max_qp", attr->max_qp);
	row_number(row, "max_qp_wr", attr->max_qp_wr);
	row_number(row, "max_sge", attr->max_sge);
	row_number(row, "max_qp_rd_atom", attr->max_qp_rd_atom);
	row_number(row, "max_qp_init_rd_atom", attr->max_qp_init_rd_atom);
	row_number(row, "max_cq", attr->max_cq);
	row_number(row, "max_cqe", attr->max_cqe);
	row_number(row, "max_srq", attr->max_srq);
	row_number(row, "max_srq_wr", attr->max_srq_wr);
	row_number(row, "max_srq_sge", attr->max_srq_sge);
	row_number(row, "max_ah", attr->max_ah);
	row_number(row, "max_mcast_grp", attr->max_mcast_grp);
	row_text(row, "atomics",
		 attr->atomic_cap == IBV_ATOMIC_GLOB ? "global" :
		 attr->atomic_cap == IBV_ATOMIC_HCA  ? "device" :
						       "none");
	row_number(row, "ports", attr->phys_port_cnt);
}

static void row_memory(struct row *row, const struct ibv_device_attr_ex *attr)
{
	const struct ibv_odp_caps *odp = &attr->odp_caps;

	row_bits(row, "device_cap_flags",
		 attr->device_cap_flags_ex | attr->orig_attr.device_cap_flags,
		 device_words);
	row_number(row, "max_dm_size", attr->max_dm_size);
	row_bits(row, "odp", odp->general_caps, odp_words);
	row_bits(row, "odp_rc", odp->per_transport_caps.rc_odp_caps,
		 odp_transport_words);
	row_bits(row, "odp_uc", odp->per_transport_caps.uc_odp_caps,
		 odp_transport_words);
	row_bits(row, "odp_ud", odp->per_transport_caps.ud_odp_caps,
		 odp_transport_words);
	row_bits(row, "odp_xrc", attr->xrc_odp_caps, odp_transport_words);
}

int caps_command(char **words)
{
	struct ibv_device_attr_ex attr = {};
	struct ibv_context *context;
	struct row row = {};
	int err;

	if (!words[0] || words[1])
		die("caps: name one device");
	context = device_open(words[0]);
	err = ibv_query_device_ex(context, NULL, &attr);
	if (err)
		die("%s: %s", words[0], strerror(err));
	row_text(&row, "dev", words[0]);
	row_limits(&row, &attr.orig_attr);
	row_number(&row, "comp_vectors", context->num_comp_vectors);
	row_memory(&row, &attr);
	ibv_close_device(context);
	out_begin(LAYOUT_BLOCKS, NULL);
	out_row(&row);
	out_end();
	row_clear(&row);
	free(row.fields);
	return EXIT_GOOD;
}
