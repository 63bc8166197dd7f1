/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One of the hosts: a pinion-box, which is told by PINION_BOX_MEMBER which of them it is and
 * what it has inherited.
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
	bool up, going, exited; /* its machine, its command */
	bool ended; /* by us: what it says of that is no failure */
	int signals; /* that it got */
	double deadline; /* to send the next, 0 for none */
	int status; /* the command's; then the whole box's */
};

/* Starts it with the socket @network. False with errno. */
bool member_start(struct member *m, int network, bool watched);
void member_tell(struct member *m, int type);
/* Asks for its end, by and by less politely. */
void member_signal(struct member *m, int sig);

#endif /* BOX_MEMBER_H */
