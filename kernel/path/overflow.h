/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues in error, and the queue pairs that complete there.
 */
#ifndef PINION_PATH_OVERFLOW_H
#define PINION_PATH_OVERFLOW_H

#include "qp.h"

/* Would a completion of @qp be lost? */
bool pinion_qp_is_cut_off(const struct pinion_qp *qp);

/* Of struct pinion_cq: has all queue pairs look at once, also those that are idle. */
void pinion_overflow_work(struct work_struct *work);

#endif
