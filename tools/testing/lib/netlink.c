// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA netlink, by libmnl. Knows nothing of what is asked.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "harness.h"
#include "netlink.h"

struct nlmsghdr *netlink_request(int command, int flags)
{
	static char room[512] __attribute__((aligned(8)));
	struct nlmsghdr *request = mnl_nlmsg_put_header(room);

	request->nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	request->nlmsg_flags = NLM_F_REQUEST | flags;
	return request;
}

/* Receive messages until the last of the answer. Return: 0; -1 with errno set. */
static int receive(struct mnl_socket *socket, mnl_cb_t visit, void *arg)
{
	static char answer[1 << 16] __attribute__((aligned(8)));
	ssize_t length;
	int rc;

	do {
		do
			length = mnl_socket_recvfrom(socket, answer,
						     sizeof(answer));
		while (length < 0 && errno == EINTR);
		/* No number or port is compared: the socket has had one request. */
		rc = length < 0 ? -1 :
				  mnl_cb_run(answer, length, 0, 0, visit, arg);
	} while (rc > 0);
	return rc;
}

int netlink_call(struct nlmsghdr *request, mnl_cb_t visit, void *arg)
{
	return netlink_call_by(NETLINK_RDMA, request, visit, arg);
}

int netlink_call_by(int protocol, struct nlmsghdr *request, mnl_cb_t visit,
		    void *arg)
{
	struct mnl_socket *socket = mnl_socket_open2(protocol, SOCK_CLOEXEC);
	struct timeval limit = { .tv_sec = patience(60) };
	int err = 0;

	if (!socket)
		return errno;
	setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &limit,
		   sizeof(limit));
	if (mnl_socket_sendto(socket, request, request->nlmsg_len) < 0 ||
	    receive(socket, visit, arg) < 0)
		err = errno;
	mnl_socket_close(socket);
	return err;
}

const struct nlattr *netlink_attr(const struct nlmsghdr *message, int type)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, message, 0)
	{
		if (mnl_attr_get_type(attr) == type)
			return attr;
	}
	return NULL;
}

const struct nlattr *netlink_nested(const struct nlattr *outer, int type)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, outer)
	{
		if (mnl_attr_get_type(attr) == type)
			return attr;
	}
	return NULL;
}

uint64_t netlink_number(const struct nlattr *attr)
{
	uint64_t value = 0;

	if (attr)
		memcpy(&value, mnl_attr_get_payload(attr),
		       mnl_attr_get_payload_len(attr));
	return value;
}
