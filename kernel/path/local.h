/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests that send nothing: LOCAL_INV, BIND_MW, REG_MR and LAYOUT, which change keys, and
 * COPY.
 */
#ifndef PINION_PATH_LOCAL_H
#define PINION_PATH_LOCAL_H

#include "exec.h"

/*
 * Perform @request, the oldest. If it parks, call again when the queue runs again, if sq.fault has
 * succeeded. Called with sq.exec held. Sleeps.
 */
enum pinion_step pinion_local_perform(struct pinion_qp *qp, struct pinion_request *request);

#endif
