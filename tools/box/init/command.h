/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Runs the command of the box.
 */
#ifndef BOX_COMMAND_H
#define BOX_COMMAND_H

#include "job.h"

/*
 * Run the command and forward its streams to and from the host. Return: its status as a shell
 * reports it, or -1 if the host's timeout expired.
 */
int command_run(const struct job *job);

#endif /* BOX_COMMAND_H */
