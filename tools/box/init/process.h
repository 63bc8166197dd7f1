/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The processes of the box that are not the command.
 */
#ifndef BOX_PROCESS_H
#define BOX_PROCESS_H

#include <sys/types.h>

/* A script of the box, which goes on by itself. */
pid_t script_start(const char *name, char **env);
/* A script of the box; what it said goes to stderr if it fails. Returns its status. */
int script(const char *name, char **env);
/* Who waits where, to the log. */
void show_tasks(void);
/* Everything the command left behind. */
void kill_rest(void);

#endif /* BOX_PROCESS_H */
