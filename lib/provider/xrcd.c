// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * XRC domains, which the kernel owns; nothing of them is shared with user space.
 */
#include <errno.h>
#include <stdlib.h>

#include "provider.h"

struct ibv_xrcd *pinion_open_xrcd(struct ibv_context *context,
				  struct ibv_xrcd_init_attr *attr)
{
	struct ib_uverbs_open_xrcd_resp resp;
	struct verbs_xrcd *vxrcd;
	struct ibv_open_xrcd cmd;
	int err;

	vxrcd = pinion_zalloc(context, sizeof(*vxrcd), "an XRC domain");
	if (!vxrcd)
		return NULL;

	err = ibv_cmd_open_xrcd(context, vxrcd, sizeof(*vxrcd), attr, &cmd,
				sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		free(vxrcd);
		errno = err;
		return NULL;
	}
	return &vxrcd->xrcd;
}

int pinion_close_xrcd(struct ibv_xrcd *xrcd)
{
	struct verbs_xrcd *vxrcd = container_of(xrcd, struct verbs_xrcd, xrcd);
	int err;

	err = ibv_cmd_close_xrcd(vxrcd);
	if (!err)
		free(vxrcd);
	return err;
}
