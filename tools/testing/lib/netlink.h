/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RDMA netlink: a request and its answer, on a socket of their own.
 */
#ifndef PINION_TEST_NETLINK_H
#define PINION_TEST_NETLINK_H

#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>
#include <stdint.h>

/*
 * A request of RDMA_NLDEV_CMD_*, to which mnl_attr_put_...() adds attributes; @flags are NLM_F_*.
 * There is one at a time.
 */
struct nlmsghdr *netlink_request(int command, int flags);
/* Send it. @visit, if not NULL, sees each message of the answer. Return: 0 or an errno. */
int netlink_call(struct nlmsghdr *request, mnl_cb_t visit, void *arg);
/* The same for another @protocol, such as NETLINK_ROUTE. */
int netlink_call_by(int protocol, struct nlmsghdr *request, mnl_cb_t visit,
		    void *arg);

/* An attribute of a message, or in another attribute; NULL if there is none of that type. */
const struct nlattr *netlink_attr(const struct nlmsghdr *message, int type);
const struct nlattr *netlink_nested(const struct nlattr *outer, int type);
/* A number of up to 8 bytes; of NULL 0. */
uint64_t netlink_number(const struct nlattr *attr);

#endif /* PINION_TEST_NETLINK_H */
