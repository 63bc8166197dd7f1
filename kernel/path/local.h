/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests that send nothing: LOCAL_INV, BIND_MW and REG_MR, which change keys.
 */
#ifndef PINION_PATH_LOCAL_H
#define PINION_PATH_LOCAL_H

#include "qp.h"

/* Perform @request. Return: 0 or an enum pinion_syndrome. sq.exec is held. */
int pinion_local_op(struct pinion_qp *qp, const struct pinion_request *request);

#endif
