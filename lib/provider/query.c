// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queries of the device, the port and the clock.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "provider.h"

int pinion_query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t version;
	int err;

	err = ibv_cmd_query_device_any(context, input, attr, attr_size, &resp,
				       &resp_size);
	if (err)
		return err;

	version = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(version >> 32),
		 (unsigned int)(version >> 16 & 0xffff),
		 (unsigned int)(version & 0xffff));
	return 0;
}

int pinion_query_port(struct ibv_context *context, uint8_t port,
		      struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(context, port, attr, &cmd, sizeof(cmd));
}

/*
 * Completion timestamps are CLOCK_MONOTONIC_RAW in nanoseconds. As with other devices
 * the raw clock is one number in tv_nsec, not split into seconds.
 */
int pinion_query_rt_values(struct ibv_context *context,
			   struct ibv_values_ex *values)
{
	struct timespec now;

	if (!check_comp_mask(values->comp_mask, IBV_VALUES_MASK_RAW_CLOCK))
		return pinion_refuse(context, EINVAL, "values %#x",
				     values->comp_mask);

	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) {
		clock_gettime(CLOCK_MONOTONIC_RAW, &now);
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec =
			(uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	}
	return 0;
}
