// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sends requests to the kernel by RDMA netlink. Each has a socket of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl.h"
#include "netlink.h"
#include "row.h"

struct answer {
	visit_t visit;
	void *arg;
};

static int attr_note(const struct nlattr *attr, void *arg)
{
	struct attrs *attrs = arg;
	uint16_t type = mnl_attr_get_type(attr);

	if (type < ATTRS_KNOWN)
		attrs->at[type] = attr;
	return MNL_CB_OK;
}

static int message_visit(const struct nlmsghdr *message, void *arg)
{
	struct answer *answer = arg;
	struct attrs attrs = {};

	if (mnl_attr_parse(message, 0, attr_note, &attrs) < 0)
		return MNL_CB_ERROR;
	answer->visit(&attrs, answer->arg);
	return MNL_CB_OK;
}

void netlink_each(const struct nlattr *list, visit_t visit, void *arg)
{
	const struct nlattr *element;

	if (!list)
		return;
	mnl_attr_for_each_nested(element, list)
	{
		struct attrs attrs = {};

		if (mnl_attr_parse_nested(element, attr_note, &attrs) >= 0)
			visit(&attrs, arg);
	}
}

uint64_t netlink_number(const struct nlattr *attr)
{
	uint64_t value = 0;
	uint16_t length = mnl_attr_get_payload_len(attr);

	switch (length) {
	case 1:
		return mnl_attr_get_u8(attr);
	case 2:
		return mnl_attr_get_u16(attr);
	case 4:
		return mnl_attr_get_u32(attr);
	}
	memcpy(&value, mnl_attr_get_payload(attr),
	       length < sizeof(value) ? length : sizeof(value));
	return value;
}

static struct mnl_socket *socket_open(void)
{
	struct mnl_socket *socket = mnl_socket_open(NETLINK_RDMA);

	if (socket && mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0)
		die("RDMA netlink: %m");
	return socket;
}

static int socket_receive(struct mnl_socket *socket, uint32_t seq,
			  struct answer *answer)
{
	unsigned int port = mnl_socket_get_portid(socket);
	size_t size = 1 << 16;
	char *buf = need(malloc(size));
	ssize_t length;
	int rc;

	do {
		length = mnl_socket_recvfrom(socket, buf, size);
		rc = length < 0 ? -1 :
				  mnl_cb_run(buf, length, seq, port,
					     message_visit, answer);
	} while (rc > 0);
	rc = rc < 0 ? -errno : 0;
	free(buf);
	return rc;
}

int netlink_ask(const struct question *question, visit_t visit, void *arg)
{
	struct answer answer = { .visit = visit, .arg = arg };
	struct mnl_socket *socket = socket_open();
	char buf[256];
	struct nlmsghdr *message = mnl_nlmsg_put_header(buf);
	int i, rc;

	if (!socket)
		return -errno;
	message->nlmsg_type =
		RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, question->command);
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK |
			       (question->dump ? NLM_F_DUMP : 0);
	message->nlmsg_seq = time(NULL);
	for (i = 0; i < question->num; i++)
		mnl_attr_put_u32(message, question->with[i].attr,
				 question->with[i].value);
	if (mnl_socket_sendto(socket, message, message->nlmsg_len) < 0)
		rc = -errno;
	else
		rc = socket_receive(socket, message->nlmsg_seq, &answer);
	mnl_socket_close(socket);
	return rc;
}

/* ---------------------------------------------------------------------- devices */

struct devices {
	struct device *device;
	int num;
};

static void device_visit(const struct attrs *attrs, void *arg)
{
	struct devices *all = arg;
	struct device *device;

	if (!attrs->at[RDMA_NLDEV_ATTR_DEV_INDEX] ||
	    !attrs->at[RDMA_NLDEV_ATTR_DEV_NAME])
		return;
	all->device =
		need(realloc(all->device, (all->num + 1) * sizeof(*device)));
	device = &all->device[all->num++];
	memset(device, 0, sizeof(*device));
	device->index = netlink_number(attrs->at[RDMA_NLDEV_ATTR_DEV_INDEX]);
	if (attrs->at[RDMA_NLDEV_ATTR_PORT_INDEX])
		device->ports =
			netlink_number(attrs->at[RDMA_NLDEV_ATTR_PORT_INDEX]);
	strncpy(device->name,
		mnl_attr_get_str(attrs->at[RDMA_NLDEV_ATTR_DEV_NAME]),
		sizeof(device->name) - 1);
	out_device(device->name);
}

static int devices_ask(struct devices *all)
{
	const struct question question = { .command = RDMA_NLDEV_CMD_GET,
					   .dump = true };

	return netlink_ask(&question, device_visit, all);
}

struct device *devices_try(int *num)
{
	struct devices all = {};

	devices_ask(&all);
	*num = all.num;
	return all.device;
}

struct device *devices_all(int *num)
{
	struct devices all = {};
	int rc = devices_ask(&all);

	if (rc == -EPROTONOSUPPORT)
		die("this kernel has no RDMA: modprobe ib_core; `pinionctl doctor' may tell more");
	if (rc)
		die("the kernel does not list RDMA devices: %s", strerror(-rc));
	*num = all.num;
	return all.device;
}

struct device device_named(const char *name)
{
	struct device *all, found;
	int i, num;

	all = devices_all(&num);
	for (i = 0; i < num; i++) {
		if (!strcmp(all[i].name, name)) {
			found = all[i];
			free(all);
			return found;
		}
	}
	die("there is no RDMA device %s; `pinionctl dev' lists them", name);
}
