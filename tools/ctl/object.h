/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Objects of devices as reported by RDMA netlink, and their selection by the user.
 */
#ifndef PINIONCTL_OBJECT_H
#define PINIONCTL_OBJECT_H

#include "netlink.h"
#include "row.h"

/* [DEVICE] [FIELD VALUE]... */
struct selection {
	const char *device; /* NULL: all */
	char **pairs; /* ends with NULL */
};

struct selection selection_of(char **words);
bool selection_has(const struct selection *selection, const struct row *row);

struct object;

/* The kind of object called "mr", "qp"..., or NULL. */
const struct object *object_named(const char *name);
const struct column *object_columns(const struct object *object);

/* Call a function for each selected object. The callee must not keep @row. */
typedef void (*object_visit_t)(const struct device *device, struct row *row,
			       void *arg);
void objects_each(const struct object *object,
		  const struct selection *selection, object_visit_t visit,
		  void *arg);

/* The elements of RDMA_NLDEV_ATTR_STAT_HWCOUNTERS. */
void row_counters(struct row *row, const struct nlattr *list);

#endif
