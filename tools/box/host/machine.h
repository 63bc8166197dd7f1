/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The virtual machine as a process.
 */
#ifndef BOX_MACHINE_H
#define BOX_MACHINE_H

#include <sys/types.h>

/*
 * It ends with us. Its console goes to @log, @sock is its FD 3, @sock_out its FD 4, and
 * @network its FD 5 if it is not -1.
 */
pid_t machine_start(char **argv, const char *log, int sock, int sock_out,
		    int network);
/* Powering off is left to it, the rest of its console too. */
void machine_await(pid_t machine);
/* Its helpers are our children once it is gone: end them all. */
void machine_end(pid_t machine);

#endif /* BOX_MACHINE_H */
