/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RDMA netlink: one question at a time, of which several may be open at once.
 */
#ifndef PINIONCTL_NETLINK_H
#define PINIONCTL_NETLINK_H

#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stdint.h>

/* What headers of Linux 6.1 have not got; the numbers are the kernel's for ever. */
#ifndef HAVE_SRQ_RAW
enum {
	RDMA_NLDEV_CMD_RES_SRQ_GET_RAW = 25,
	RDMA_NLDEV_ATTR_RES_SUBTYPE = 98,
};
#endif

enum {
	ATTRS_KNOWN = (int)RDMA_NLDEV_ATTR_MAX > RDMA_NLDEV_ATTR_RES_SUBTYPE ?
			      (int)RDMA_NLDEV_ATTR_MAX :
			      RDMA_NLDEV_ATTR_RES_SUBTYPE + 1,
};

/* By attribute; those that this was not built to know are left out. */
struct attrs {
	const struct nlattr *at[ATTRS_KNOWN];
};

typedef void (*visit_t)(const struct attrs *attrs, void *arg);

struct question {
	uint16_t command; /* RDMA_NLDEV_CMD_* */
	bool dump;
	int num;
	struct {
		uint16_t attr;
		uint32_t value;
	} with[4];
};

/* Return: 0 or a negative errno. @visit is called for each message of the answer. */
int netlink_ask(const struct question *question, visit_t visit, void *arg);
/* For each element of a list. */
void netlink_each(const struct nlattr *list, visit_t visit, void *arg);

/* An unsigned number of whatever size. */
uint64_t netlink_number(const struct nlattr *attr);

/* ---------------------------------------------------------------------- devices */

struct device {
	char name[64];
	uint32_t index;
	uint32_t ports;
};

/* Return: all there are, of the caller's from here on. */
struct device *devices_all(int *num);
/* The same, and none where the kernel has no RDMA. */
struct device *devices_try(int *num);
/* This one, or the program ends. */
struct device device_named(const char *name);

#endif
