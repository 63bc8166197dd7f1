/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * COPY: bytes from one place of the program's own memory to another.
 */
#ifndef PINION_PATH_COPY_H
#define PINION_PATH_COPY_H

#include "exec.h"

/* As pinion_local_perform(). */
enum pinion_step pinion_copy(struct pinion_qp *qp, struct pinion_request *request);

#endif
