// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Targets, and one round of registration on each. Raw pinning is timed in the kernel, or around its
 * system calls; a device is timed around the calls of libibverbs.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rawpin.h>

#include "target.h"
#include "traced.h"

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **one = list;
	struct ibv_context *context;

	while (one && *one && strcmp(ibv_get_device_name(*one), name))
		one++;
	if (!one || !*one)
		die(2, "%s: no such device", name);
	context = ibv_open_device(*one);
	/* errno is of something that libibverbs has tried last. */
	if (!context)
		die(2, "%s cannot be opened: `pinionctl doctor' may tell why",
		    name);
	ibv_free_device_list(list);
	return context;
}

void target_open(struct target *target, const char *name)
{
	target->name = name;
	target->fd = -1;
	target->in_kernel = !strcmp(name, "raw");
	if (target->in_kernel || !strcmp(name, "raw-call")) {
		target->fd = open("/dev/rawpin", O_RDWR | O_CLOEXEC);
		if (target->fd < 0)
			die(2, "/dev/rawpin: %m");
		return;
	}
	target->context = open_device(name);
	target->pd = ibv_alloc_pd(target->context);
	if (!target->pd)
		die(2, "%s: no protection domain: %m", name);
}

void target_close(struct target *target)
{
	if (target->context) {
		ibv_dealloc_pd(target->pd);
		ibv_close_device(target->context);
	} else {
		close(target->fd);
	}
}

/* As timed in the kernel, or as seen by the caller. */
static int raw_call(struct target *target, unsigned long request,
		    struct rawpin_range *range, uint64_t *ns)
{
	uint64_t begun = now_ns();

	if (ioctl(target->fd, request, range))
		return errno;
	*ns = target->in_kernel ? range->ns : now_ns() - begun;
	return 0;
}

static int raw_round(struct target *target, void *buffer, uint64_t size,
		     struct cost *cost)
{
	struct rawpin_range range = { .addr = (uintptr_t)buffer,
				      .length = size };
	int err = raw_call(target, RAWPIN_PIN, &range, &cost->reg);

	return err ?: raw_call(target, RAWPIN_UNPIN, &range, &cost->dereg);
}

static void rereg(struct ibv_mr *mr, void *buffer, uint64_t size,
		  struct cost *cost)
{
	uint64_t begun = now_ns();

	if (ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, buffer,
			 size, 0))
		return;
	cost->rereg_memory = now_ns() - begun;
	begun = now_ns();
	if (ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			 IBV_ACCESS_LOCAL_WRITE))
		return;
	cost->rereg_access = now_ns() - begun;
}

int target_round(struct target *target, void *buffer, uint64_t size,
		 struct cost *cost)
{
	uint64_t begun;
	struct ibv_mr *mr;
	int err;

	*cost = (struct cost){ 0 };
	if (!target->context)
		return raw_round(target, buffer, size, cost);
	begun = now_ns();
	mr = ibv_reg_mr(target->pd, buffer, size, TARGET_ACCESS);
	if (!mr)
		return errno;
	cost->reg = now_ns() - begun;
	if (opt.rereg)
		rereg(mr, buffer, size, cost);
	begun = now_ns();
	err = ibv_dereg_mr(mr);
	cost->dereg = now_ns() - begun;
	cost->kernel = traced_ns();
	return err;
}
