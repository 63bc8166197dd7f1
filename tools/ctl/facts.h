/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a pinion device tells of its regions and queues to CAP_NET_ADMIN, and no other device does.
 */
#ifndef PINIONCTL_FACTS_H
#define PINIONCTL_FACTS_H

#include "netlink.h"
#include "row.h"

/* Of one region, if there is something. */
bool facts_of(const struct device *device, uint32_t mrn, struct row *row);

/* Of all of a device at once, for many. */
struct facts;

struct facts *facts_all(const struct device *device);
void facts_find(const struct facts *facts, uint32_t key, struct row *row);
void facts_free(struct facts *facts);

/* Of one queue: "qp", "cq" or "srq", whose number is in @row. If there is something. */
bool facts_of_queue(const struct device *device, const char *what,
		    struct row *row);

#endif
