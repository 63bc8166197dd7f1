/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One of the hosts: a pinion-box. PINION_BOX_MEMBER in its environment has its number and its
 * inherited descriptors.
 */
#ifndef BOX_MEMBER_H
#define BOX_MEMBER_H

#include <stdbool.h>
#include <sys/types.h>

#include "lines.h"

enum { STATUS_BOX = 123 };

struct member {
	int number; /* from 1 */
	char name[16];
	char **argv;
	pid_t pid; /* 0 when it has ended */
	int control; /* see ../peers.h; -1 when it is closed */
	struct lines out, err;
	bool up; /* its machine has started */
	bool going, exited; /* its command was started, has exited */
	bool ended; /* by us, so its exit status is no failure */
	int signals; /* how many it was sent */
	double deadline; /* when to send the next; 0: never */
	int status; /* exit status of the command, then of the box */
};

/* Start it with the socket @network. Return: false, with errno set, if that failed. */
bool member_start(struct member *m, int network, bool watched);
void member_tell(struct member *m, int type);
/* Ask it to end: the first call sends @sig, the third SIGKILL. */
void member_signal(struct member *m, int sig);

#endif /* BOX_MEMBER_H */
