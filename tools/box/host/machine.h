/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The virtual machine as a process.
 */
#ifndef BOX_MACHINE_H
#define BOX_MACHINE_H

#include <sys/types.h>

/*
 * Start the machine, which is killed when this process ends. Its console goes to @log. It gets
 * @sock as FD 3, @sock_out as FD 4, and @network, if that is not -1, as FD 5.
 */
pid_t machine_start(char **argv, const char *log, int sock, int sock_out,
		    int network);
/* Wait up to 5 seconds for the machine to write the rest of its console and to power off. */
void machine_await(pid_t machine);
/* Kill the machine and its helpers, which become our children when it ends. */
void machine_end(pid_t machine);

#endif /* BOX_MACHINE_H */
