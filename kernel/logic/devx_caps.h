/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Capabilities as QUERY_HCA_CAP reports them: commands, limits, and on-demand paging.
 */
#ifndef PINION_LOGIC_DEVX_CAPS_H
#define PINION_LOGIC_DEVX_CAPS_H

#include <linux/types.h>

struct pinion_devx_caps {
	u8 log_max_key;
	u8 log_max_pd;
	u8 log_max_umem;
	u8 log_max_klms;
	u8 log_max_message;
	u8 log_max_copy;
	u8 page_shift;
	u8 log_max_qp;
	u8 log_max_qp_size;
	u8 log_max_cq;
	u8 log_max_cq_size;
	u8 log_max_rmp;
	/* On demand: enum ib_odp_transport_cap_bits */
	u8 odp_rc;
	u8 odp_uc;
	u8 odp_ud;
	u8 odp_xrc;
};

/* Write capabilities of @kind to @out, zeroed, of @length bytes. Return: a pinion_devx_refusal. */
int pinion_devx_put_caps(u8 *out, size_t length, u16 kind, const struct pinion_devx_caps *caps);

#endif
