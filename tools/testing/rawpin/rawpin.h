/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface of /dev/rawpin: pin a range of the caller's memory, and unpin it.
 */
#ifndef RAWPIN_H
#define RAWPIN_H

#include <linux/ioctl.h>
#include <linux/types.h>

struct rawpin_range {
	__u64 addr;
	__u64 length;
	__u64 ns; /* out: time without system call and bookkeeping */
};

/* One range for each open file. Closing the file unpins it. */
#define RAWPIN_PIN _IOWR('p', 1, struct rawpin_range)
#define RAWPIN_UNPIN _IOWR('p', 2, struct rawpin_range)

#endif
