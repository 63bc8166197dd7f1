/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface of /dev/pinion_exporter: makes dma-bufs that behave as told, and counts what
 * importers do with them. All calls but CREATE name a buffer by its fd. Also, each open file can
 * be mapped as memory whose pages can be held back (HOLD).
 */
#ifndef PINION_EXPORTER_H
#define PINION_EXPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum {
	EXPORTER_CONTIGUOUS = 1 << 0, /* otherwise no two pages are contiguous */
	EXPORTER_NO_PIN = 1 << 1, /* dynamic importers only: EOPNOTSUPP */
	EXPORTER_NO_PAGES = 1 << 2, /* bus addresses without memory */
	EXPORTER_SHORT = 1 << 3, /* maps one page too few */
	EXPORTER_ODD = 1 << 4, /* addresses 512 bytes into pages */
	EXPORTER_NO_CPU = 1 << 5, /* for devices only: no vmap */
	EXPORTER_REVOCABLE = 1 << 6, /* only for importers that support revocation */
};

struct exporter_create {
	__u64 size; /* multiple of pages */
	__u32 flags;
	__s32 fd; /* out */
};

/*
 * Moves the buffer to other pages. The old ones are filled with a pattern and watched. With a
 * delay, the new pages contain junk until a fence signals, for which importers have to wait.
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

/* Makes a step fail with this error, always or @times times; error 0 ends that. */
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
	__u64 late; /* importers that still had a mapping after move_notify */
	__u64 touched; /* bytes that were written to old pages */
};

struct exporter_fd {
	__s32 fd;
};

#define EXPORTER_CREATE _IOWR('x', 1, struct exporter_create)
#define EXPORTER_MOVE _IOW('x', 2, struct exporter_move)
/* Revokes the buffer for good: further use fails with ENODEV. */
#define EXPORTER_REVOKE _IOW('x', 3, struct exporter_fd)
#define EXPORTER_FAIL _IOW('x', 4, struct exporter_fail)
/* Checks all watched pages first. */
#define EXPORTER_STAT _IOWR('x', 5, struct exporter_stat)
/* Number of buffers of all users. */
#define EXPORTER_LIVE _IOR('x', 6, __u64)

enum { EXPORTER_SLOW_PAGES = 64 };

/* 1: whoever touches a page of this file waits; 0: ends that. */
#define EXPORTER_HOLD _IOW('x', 7, __u32)
/* Number of tasks that wait. */
#define EXPORTER_WAITING _IOR('x', 8, __u32)

#endif
