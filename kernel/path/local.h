/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests that end on their own queue pair: they change what keys mean.
 */
#ifndef PINION_PATH_LOCAL_H
#define PINION_PATH_LOCAL_H

#include "qp.h"

/* Perform @request. Return: 0 or an enum pinion_syndrome. sq.exec is held. */
int pinion_local_op(struct pinion_qp *qp, const struct pinion_request *request);

#endif
