/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RDMA netlink requests. A callback may send another request meanwhile.
 */
#ifndef PINIONCTL_NETLINK_H
#define PINIONCTL_NETLINK_H

#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stdint.h>

/* Constants that headers of Linux 6.1 lack. The numbers are part of the kernel's ABI. */
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

/* Attributes of a message, by number. Unknown ones are left out. */
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

/* An unsigned number of any size. */
uint64_t netlink_number(const struct nlattr *attr);

/* ---------------------------------------------------------------------- devices */

struct device {
	char name[64];
	uint32_t index;
	uint32_t ports;
};

/* Return: all devices; the caller frees them. */
struct device *devices_all(int *num);
/* The same; no devices if the kernel has no RDMA. */
struct device *devices_try(int *num);
/* Find a device by name, or exit. */
struct device device_named(const char *name);

#endif
