/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What /dev/pinion_exporter does: it makes dma-bufs that behave as they are told, and
 * counts what importers do with them. All but CREATE name a buffer by its fd. And each open
 * file is memory to be mapped, whose pages can be held back (HOLD).
 */
#ifndef PINION_EXPORTER_H
#define PINION_EXPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum {
	EXPORTER_CONTIGUOUS = 1 << 0, /* else no page next to the one before it */
	EXPORTER_NO_PIN = 1 << 1, /* dynamic importers only: EOPNOTSUPP */
	EXPORTER_NO_PAGES = 1 << 2, /* addresses where there is no memory */
	EXPORTER_SHORT = 1 << 3, /* maps one page less than there are */
	EXPORTER_ODD = 1 << 4, /* addresses 512 bytes into pages */
	EXPORTER_NO_CPU = 1 << 5, /* for devices only: no vmap */
	EXPORTER_REVOCABLE = 1 << 6, /* only for who heeds that it is taken away */
};

struct exporter_create {
	__u64 size; /* whole pages */
	__u32 flags;
	__s32 fd; /* out */
};

/*
 * Moves the buffer to other pages. The old ones are filled with a pattern and
 * watched from then on. With a delay the content arrives so much later, when the
 * fence is signaled that importers have to wait for; until then there is junk.
 */
struct exporter_move {
	__s32 fd;
	__u32 delay_ms;
};

enum exporter_step {
	EXPORTER_ATTACH,
	EXPORTER_MAP,
	EXPORTER_PIN,
	EXPORTER_STEPS,
};

/* From now on a step fails so, or as often as said; error 0: no more. */
struct exporter_fail {
	__s32 fd;
	__u32 step;
	__s32 error; /* positive errno */
	__u32 times; /* 0: always; MAP only */
};

struct exporter_stat {
	__s32 fd;
	__u32 pad;
	__u64 attaches, detaches, maps, unmaps, pins, unpins, moves;
	__u64 late; /* importers that had a mapping after they were told of a move */
	__u64 touched; /* bytes of old pages that somebody wrote */
};

struct exporter_fd {
	__s32 fd;
};

#define EXPORTER_CREATE _IOWR('x', 1, struct exporter_create)
#define EXPORTER_MOVE _IOW('x', 2, struct exporter_move)
/* No memory any more, for ever: ENODEV. */
#define EXPORTER_REVOKE _IOW('x', 3, struct exporter_fd)
#define EXPORTER_FAIL _IOW('x', 4, struct exporter_fail)
/* Looks at all the old pages first. */
#define EXPORTER_STAT _IOWR('x', 5, struct exporter_stat)
/* Buffers that exist, of anybody. */
#define EXPORTER_LIVE _IOR('x', 6, __u64)

enum { EXPORTER_SLOW_PAGES = 64 };

/* Who touches a page of this file's waits from now on, until this is taken back with 0. */
#define EXPORTER_HOLD _IOW('x', 7, __u32)
/* How many do. */
#define EXPORTER_WAITING _IOR('x', 8, __u32)

#endif
