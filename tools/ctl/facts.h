/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Raw attributes of regions and queues, which only pinion devices have. Needs CAP_NET_ADMIN.
 */
#ifndef PINIONCTL_FACTS_H
#define PINIONCTL_FACTS_H

#include "netlink.h"
#include "row.h"

/* Add those of one region to a row. Return: whether there are any. */
bool facts_of(const struct device *device, uint32_t mrn, struct row *row);

/* Read those of all regions of a device at once. */
struct facts;

struct facts *facts_all(const struct device *device);
void facts_find(const struct facts *facts, uint32_t key, struct row *row);
void facts_free(struct facts *facts);

/* Of one queue: "qp", "cq" or "srq", whose number is in @row. If there is something. */
bool facts_of_queue(const struct device *device, const char *what,
		    struct row *row);

#endif
