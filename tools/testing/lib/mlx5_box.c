// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "harness.h"
#include "mlx5_box.h"
#include "raw.h"
#include "rdma_tool.h"

void mlx5_box_remove(void)
{
	rdma_does("link delete " MLX5_BOX);
}

/* Writes the path of the device's uverbs file to @path. Returns false if there is none. */
static bool find_file(char *path, size_t size)
{
	char name[300], ibdev[64];
	DIR *all = MUST(opendir("/sys/class/infiniband_verbs"));
	struct dirent *entry;
	bool found = false;
	ssize_t got;
	int file;

	while (!found && (entry = readdir(all))) {
		snprintf(name, sizeof(name),
			 "/sys/class/infiniband_verbs/%s/ibdev", entry->d_name);
		file = open(name, O_RDONLY);
		got = file < 0 ? 0 : read(file, ibdev, sizeof(ibdev) - 1);
		if (file >= 0)
			close(file);
		found = got == strlen(MLX5_BOX) + 1 &&
			!memcmp(ibdev, MLX5_BOX "\n", got);
		if (found)
			snprintf(path, size, "/dev/infiniband/%s",
				 entry->d_name);
	}
	closedir(all);
	return found;
}

const char *mlx5_box_make(void)
{
	static char path[300];

	need_rdma_tool();
	mlx5_box_remove();
	CHECK_EQ(rdma_does("link add " MLX5_BOX " type pinion-mlx5 netdev lo"),
		 0);
	atexit(mlx5_box_remove);
	CHECK(find_file(path, sizeof(path)));
	raw_driver = RDMA_DRIVER_MLX5;
	return path;
}

const struct mlx5_ib_alloc_ucontext_req_v2 mlx5_box_opens = {
	.total_num_bfregs = 16,
	.num_low_latency_bfregs = 4,
	.flags = MLX5_IB_ALLOC_UCTX_DEVX,
	.max_cqe_version = 1,
	.lib_caps = MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR,
};

int mlx5_box_context(int fd, const void *in, size_t in_length, void *out,
		     size_t out_length)
{
	uint64_t support;
	uint32_t vectors;
	struct raw raw;

	raw_begin(&raw, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	raw_out(&raw, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &vectors,
		sizeof(vectors));
	raw_out(&raw, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &support,
		sizeof(support));
	if (in_length)
		raw_in(&raw, UVERBS_ATTR_UHW_IN, in, in_length);
	if (out_length)
		raw_out(&raw, UVERBS_ATTR_UHW_OUT, out, out_length);
	return raw_call(fd, &raw);
}

uint32_t mlx5_box_pd(int fd)
{
	struct mlx5_ib_alloc_pd_resp drv;
	struct ib_uverbs_alloc_pd cmd = {};
	struct ib_uverbs_alloc_pd_resp resp;

	CHECK_EQ(raw_driver_command(
			 fd, IB_USER_VERBS_CMD_ALLOC_PD, &cmd, sizeof(cmd),
			 &resp, sizeof(resp),
			 &(struct raw_payload){ .out = &drv,
						.out_length = sizeof(drv) }),
		 0);
	return resp.pd_handle;
}
