/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Checks what keeps RDMA from working on this machine. Each finding is a line.
 */
#ifndef PINIONCTL_DOCTOR_H
#define PINIONCTL_DOCTOR_H

#include "netlink.h"

enum finding {
	FINE,
	HINT, /* works, but not everything will */
	WRONG, /* does not work */
};

/*
 * @about: what was checked; @todo: what to do about it, or NULL. Strings from print() are freed.
 */
void found(enum finding finding, const char *about, char *what, char *todo);

/* ------------------------------------------------------------- between doctor*.c */

/* The kernel: the module, and why it is not loaded. @devices: there are others, too. */
void doctor_kernel(bool devices);
/* A device: its ports, its file, its provider. */
void doctor_device(const struct device *device);
/* Limits of this process, and of the machine. */
void doctor_limits(void);

/* Run @command and print what the driver has refused. Return: its exit status. */
int doctor_run(char **command);

#endif
