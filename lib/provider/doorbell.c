// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tells the kernel that a queue pair has work. Calls the ioctl directly, without the
 * marshalling of libibverbs, since it is the only system call of the data path.
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

void pinion_doorbell_init(struct pinion_doorbell *bell,
			  struct ibv_context *context, uint32_t handle)
{
	*bell = (struct pinion_doorbell){
		.cmd.hdr = {
			.length = sizeof(bell->cmd),
			.object_id = UVERBS_OBJECT_QP,
			.method_id = PINION_METHOD_QP_DOORBELL,
			.num_attrs = 1,
			.driver_id = PINION_DRIVER_ID,
		},
		.cmd.handle = {
			.attr_id = PINION_ATTR_QP_DOORBELL_HANDLE,
			.flags = UVERBS_ATTR_F_MANDATORY,
			.data = handle,
		},
		.fd = context->cmd_fd,
	};
}

/*
 * The requests are published already. If a signal interrupts the call, repeat it: the
 * caller must not believe that nothing was posted.
 */
int pinion_doorbell_ring(const struct pinion_doorbell *bell)
{
	while (ioctl(bell->fd, RDMA_VERBS_IOCTL, &bell->cmd)) {
		if (errno != EINTR)
			return errno;
	}
	return 0;
}
