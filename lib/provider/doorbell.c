// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tells the kernel that a queue has work; owns the raw ioctl, which bypasses the
 * marshalling of libibverbs because it is the one system call of the data path.
 */
#include <errno.h>
#include <sys/ioctl.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/pinion-abi.h>

#include "doorbell.h"

/* The kernel reads the header and its attributes as one run of bytes. */
_Static_assert(offsetof(struct pinion_doorbell, cmd.handle) ==
		       offsetof(struct pinion_doorbell, cmd.hdr) +
			       sizeof(struct ib_uverbs_ioctl_hdr),
	       "no gap between the ioctl header and its attribute");

static void doorbell_init(struct pinion_doorbell *bell,
			  struct ibv_context *context, uint16_t object,
			  uint16_t method, uint16_t attr, uint32_t handle)
{
	*bell = (struct pinion_doorbell){
		.cmd.hdr = {
			.length = sizeof(bell->cmd),
			.object_id = object,
			.method_id = method,
			.num_attrs = 1,
			.driver_id = PINION_DRIVER_ID,
		},
		.cmd.handle = {
			.attr_id = attr,
			.flags = UVERBS_ATTR_F_MANDATORY,
			.data = handle,
		},
		.fd = context->cmd_fd,
	};
}

void pinion_doorbell_init_qp(struct pinion_doorbell *bell,
			     struct ibv_context *context, uint32_t handle)
{
	doorbell_init(bell, context, UVERBS_OBJECT_QP,
		      PINION_METHOD_QP_DOORBELL, PINION_ATTR_QP_DOORBELL_HANDLE,
		      handle);
}

void pinion_doorbell_init_srq(struct pinion_doorbell *bell,
			      struct ibv_context *context, uint32_t handle)
{
	doorbell_init(bell, context, UVERBS_OBJECT_SRQ,
		      PINION_METHOD_SRQ_DOORBELL,
		      PINION_ATTR_SRQ_DOORBELL_HANDLE, handle);
}

/*
 * The work is published before and stays published: a signal that interrupts the
 * call must not make the caller believe that nothing was posted.
 */
int pinion_doorbell_ring(const struct pinion_doorbell *bell)
{
	while (ioctl(bell->fd, RDMA_VERBS_IOCTL, &bell->cmd)) {
		if (errno != EINTR)
			return errno;
	}
	return 0;
}
