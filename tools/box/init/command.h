/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the box is for.
 */
#ifndef BOX_COMMAND_H
#define BOX_COMMAND_H

#include "job.h"

/*
 * Runs it, with its streams carried to the host; returns its status as a shell would
 * give it, or -1 when the host's patience ended.
 */
int command_run(const struct job *job);

#endif /* BOX_COMMAND_H */
