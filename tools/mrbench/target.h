/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A target: a verbs device, which registers memory, or /dev/rawpin, which only pins it.
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
	bool in_kernel; /* raw: without the system call */
};

void target_open(struct target *target, const char *name);
void target_close(struct target *target);

/* Durations of one round of registration and deregistration, in ns. */
struct cost {
	uint64_t reg;
	uint64_t dereg;
	/* rereg: with the same memory again, and of rights only; 0: unsupported */
	uint64_t rereg_memory;
	uint64_t rereg_access;
	uint64_t kernel; /* reg and dereg inside the driver; 0: unknown */
};

/* Return: 0, or the errno of the call that failed. */
int target_round(struct target *target, void *buffer, uint64_t size,
		 struct cost *cost);

#define TARGET_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

#endif
