/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What /dev/rawpin does: pin a range of the caller's memory, and let it go.
 */
#ifndef RAWPIN_H
#define RAWPIN_H

#include <linux/ioctl.h>
#include <linux/types.h>

struct rawpin_range {
	__u64 addr;
	__u64 length;
	__u64 ns; /* out: how long it took, system call and bookkeeping apart */
};

/* One range an open file. Closing it unpins, too. */
#define RAWPIN_PIN _IOWR('p', 1, struct rawpin_range)
#define RAWPIN_UNPIN _IOWR('p', 2, struct rawpin_range)

#endif
