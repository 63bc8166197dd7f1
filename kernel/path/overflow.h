/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues that have overflowed, and the queue pairs that complete there.
 */
#ifndef PINION_PATH_OVERFLOW_H
#define PINION_PATH_OVERFLOW_H

#include "qp.h"

/* Has the send or the receive completion queue of @qp overflowed? No lock needed. */
bool pinion_qp_is_cut_off(const struct pinion_qp *qp);

/* pinion_cq.overflowed: runs the executor of each queue pair that completes there. */
void pinion_overflow_work(struct work_struct *work);

#endif
