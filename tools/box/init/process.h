/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The processes of the box that are not the command.
 */
#ifndef BOX_PROCESS_H
#define BOX_PROCESS_H

#include <sys/types.h>

/* Start a script of the box, and return its pid. */
pid_t script_start(const char *name, char **env);
/* Run a script of the box. If it fails, print its output to stderr. Return: its exit status. */
int script(const char *name, char **env);
/* Write all tasks and where they wait to the log, without idle kernel threads. */
void show_tasks(void);
/* Kill all processes that the command has left, and reap them. */
void kill_rest(void);

#endif /* BOX_PROCESS_H */
