// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How much memory of the kernel's does it take to register address space on demand in which
 * nothing is mapped, and who is charged for it? See README.rst, 3.
 *
 *	cc uncharged.c -libverbs
 *	mkdir /sys/fs/cgroup/x && echo 64M >/sys/fs/cgroup/x/memory.max
 *	(echo $BASHPID >/sys/fs/cgroup/x/cgroup.procs; ./a.out mlx5_0 16)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

static long available(void)
{
	char line[128];
	long kib = -1;
	FILE *file = fopen("/proc/meminfo", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %ld", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib / 1024;
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return ibv_open_device(list[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx = argc > 1 ? open_device(argv[1]) : NULL;
	uint64_t gib = argc > 2 ? strtoull(argv[2], NULL, 0) : 16;
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	long before = available();
	struct ibv_mr *mr;
	int i;

	if (!pd) {
		fprintf(stderr, "usage: %s DEVICE [GIB]\n", argv[0]);
		return 2;
	}
	for (i = 0; i < 8; i++) {
		/* The address is only a number: a hint of where there is nothing. */
		mr = ibv_reg_mr(pd, (void *)((i + 1ULL) << 40), gib << 30,
				IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE);
		if (!mr) {
			perror("ibv_reg_mr");
			break;
		}
		printf("%d regions of %llu GiB: %ld MiB are gone\n", i + 1,
		       (unsigned long long)gib, before - available());
	}
	/* With the patch the group's limit is met instead. */
	return 0;
}
