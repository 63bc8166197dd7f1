/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What registers memory: a verbs device, or /dev/rawpin that only pins it.
 */
#ifndef MRBENCH_TARGET_H
#define MRBENCH_TARGET_H

#include <infiniband/verbs.h>

#include "mrbench.h"

struct target {
	const char *name;
	struct ibv_context *context; /* NULL: raw, raw-call */
	struct ibv_pd *pd;
	int fd; /* raw, raw-call */
	bool in_kernel; /* raw: less the system call */
};

void target_open(struct target *target, const char *name);
void target_close(struct target *target);

/* What one round of registering and deregistering took. */
struct cost {
	uint64_t reg;
	uint64_t dereg;
	/* Of a region with the same memory again, and of its rights; 0: unsupported */
	uint64_t rereg_memory;
	uint64_t rereg_access;
	uint64_t kernel; /* of reg and dereg, the driver alone; 0: unknown */
};

/* Returns 0, or the errno of what was refused. */
int target_round(struct target *target, void *buffer, uint64_t size,
		 struct cost *cost);

#define TARGET_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

#endif
