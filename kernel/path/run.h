/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Execution of a queue pair's requests: at a doorbell, or by the work item.
 */
#ifndef PINION_PATH_RUN_H
#define PINION_PATH_RUN_H

#include "qp.h"

/* Set up sq.timer and sq.work. pinion_qp_fini() stops them. */
void pinion_run_init(struct pinion_qp *qp);

/* A user's doorbell: execute, or leave it to the work item. In a system call; sleeps. */
void pinion_qp_doorbell(struct pinion_qp *qp);

#endif
