// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages of RDMA netlink that are nearly right, or not at all: devices that are added, renamed
 * and removed, what there is of each kind of object, counters (item NL). Only devices that this
 * test has added are changed; of the others everything is asked.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "command.h"
#include "fuzz.h"
#include "link.h"
#include "netlink.h"
#include "undo.h"

/* What headers of older kernels lack. */
enum {
	CMD_RES_SRQ_GET_RAW = 25,
	CMD_NEWDEV,
	CMD_DELDEV,
	CMD_FRMR_POOLS_GET = 29,
	CMD_FRMR_POOLS_SET,
	ATTR_PRIVILEGED_QKEY_MODE = 96,
	ATTR_DRIVER_DETAILS,
	ATTR_DEV_TYPE = 99,
	ATTR_OPCOUNTER_ENABLED = 104,
	ATTR_FRMR_POOL_KEY = 107,
	ATTR_FRMR_AGING_PERIOD = 115,
	ATTR_FRMR_PINNED = 116,
	ATTR_END = 118,
};

enum kind {
	NONE,
	INDEX, /* of a device */
	PORT,
	NAME, /* of a device that is to be */
	TYPE, /* of a link */
	NETDEV,
	CHARDEV,
	BYTE,
	WORD,
	NUMBER, /* of an object */
	RES, /* a kind of objects */
	NESTED,
	FD,
};

static const struct {
	uint16_t attr;
	uint8_t kind;
} kinds[] = {
	{ RDMA_NLDEV_ATTR_DEV_INDEX, INDEX },
	{ RDMA_NLDEV_ATTR_DEV_NAME, NAME },
	{ RDMA_NLDEV_ATTR_PORT_INDEX, PORT },
	{ RDMA_NLDEV_ATTR_LINK_TYPE, TYPE },
	{ RDMA_NLDEV_ATTR_NDEV_NAME, NETDEV },
	{ RDMA_NLDEV_ATTR_CHARDEV_TYPE, CHARDEV },
	{ RDMA_NLDEV_ATTR_DEV_DIM, BYTE },
	{ RDMA_NLDEV_NET_NS_FD, FD },
	{ RDMA_NLDEV_SYS_ATTR_NETNS_MODE, BYTE },
	{ RDMA_NLDEV_ATTR_RES_LQPN, NUMBER },
	{ RDMA_NLDEV_ATTR_RES_CQN, NUMBER },
	{ RDMA_NLDEV_ATTR_RES_MRN, NUMBER },
	{ RDMA_NLDEV_ATTR_RES_PDN, NUMBER },
	{ RDMA_NLDEV_ATTR_RES_CTXN, NUMBER },
	{ RDMA_NLDEV_ATTR_RES_SRQN, NUMBER },
	{ RDMA_NLDEV_ATTR_RES_CM_IDN, NUMBER },
	{ RDMA_NLDEV_ATTR_STAT_COUNTER_ID, NUMBER },
	{ RDMA_NLDEV_ATTR_STAT_RES, RES },
	{ RDMA_NLDEV_ATTR_STAT_MODE, WORD },
	{ RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK, WORD },
	{ RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, NESTED },
	{ ATTR_PRIVILEGED_QKEY_MODE, BYTE },
	{ ATTR_DRIVER_DETAILS, BYTE },
	{ ATTR_DEV_TYPE, BYTE },
	{ ATTR_OPCOUNTER_ENABLED, BYTE },
	{ ATTR_FRMR_POOL_KEY, NESTED },
	{ ATTR_FRMR_AGING_PERIOD, WORD },
	{ ATTR_FRMR_PINNED, WORD },
};

static enum kind kind_of(uint16_t attr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i].attr == attr)
			return kinds[i].kind;
	}
	return NONE;
}

enum how { DO = 1, DUMP = 2, EITHER = DO | DUMP };

/* Commands with the attributes that they take. Some are there more than once. */
static const struct command {
	uint8_t op;
	uint8_t how;
	bool changes; /* the device: only our own are given */
	uint16_t attr[6];
} commands[] = {
#define OF_DEVICE RDMA_NLDEV_ATTR_DEV_INDEX
#define OF_PORT OF_DEVICE, RDMA_NLDEV_ATTR_PORT_INDEX
	{ RDMA_NLDEV_CMD_GET, EITHER, false, { OF_DEVICE } },
	{ RDMA_NLDEV_CMD_PORT_GET, EITHER, false, { OF_PORT } },
	{ RDMA_NLDEV_CMD_GET_CHARDEV,
	  DO,
	  false,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_CHARDEV_TYPE } },
	{ RDMA_NLDEV_CMD_SYS_GET, DO, false, {} },
	{ RDMA_NLDEV_CMD_SYS_SET,
	  DO,
	  false,
	  { RDMA_NLDEV_SYS_ATTR_NETNS_MODE } },
	{ RDMA_NLDEV_CMD_SYS_SET, DO, false, { ATTR_PRIVILEGED_QKEY_MODE } },
	{ RDMA_NLDEV_CMD_RES_GET, EITHER, false, { OF_DEVICE } },
	{ RDMA_NLDEV_CMD_RES_QP_GET,
	  EITHER,
	  false,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_RES_LQPN, ATTR_DRIVER_DETAILS } },
	{ RDMA_NLDEV_CMD_RES_CQ_GET,
	  EITHER,
	  false,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_RES_CQN, ATTR_DRIVER_DETAILS } },
	{ RDMA_NLDEV_CMD_RES_MR_GET,
	  EITHER,
	  false,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_RES_MRN, ATTR_DRIVER_DETAILS } },
	{ RDMA_NLDEV_CMD_RES_PD_GET,
	  EITHER,
	  false,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_RES_PDN } },
	{ RDMA_NLDEV_CMD_RES_CTX_GET,
	  EITHER,
	  false,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_RES_CTXN } },
	{ RDMA_NLDEV_CMD_RES_SRQ_GET,
	  EITHER,
	  false,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_RES_SRQN, ATTR_DRIVER_DETAILS } },
	{ RDMA_NLDEV_CMD_RES_CM_ID_GET,
	  EITHER,
	  false,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_RES_CM_IDN } },
	{ RDMA_NLDEV_CMD_RES_QP_GET_RAW,
	  EITHER,
	  false,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_RES_LQPN } },
	{ RDMA_NLDEV_CMD_RES_CQ_GET_RAW,
	  EITHER,
	  false,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_RES_CQN } },
	{ RDMA_NLDEV_CMD_RES_MR_GET_RAW,
	  EITHER,
	  false,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_RES_MRN } },
	{ CMD_RES_SRQ_GET_RAW,
	  EITHER,
	  false,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_RES_SRQN } },
	{ RDMA_NLDEV_CMD_STAT_GET, EITHER, false, { OF_PORT } },
	{ RDMA_NLDEV_CMD_STAT_GET,
	  EITHER,
	  false,
	  { OF_PORT, RDMA_NLDEV_ATTR_STAT_RES,
	    RDMA_NLDEV_ATTR_STAT_COUNTER_ID } },
	{ RDMA_NLDEV_CMD_STAT_GET,
	  EITHER,
	  false,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_MRN } },
	{ RDMA_NLDEV_CMD_STAT_GET_STATUS, DO, false, { OF_PORT } },
	{ RDMA_NLDEV_CMD_STAT_SET,
	  DO,
	  false,
	  { OF_PORT, RDMA_NLDEV_ATTR_STAT_MODE, RDMA_NLDEV_ATTR_STAT_RES,
	    RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK, ATTR_OPCOUNTER_ENABLED } },
	{ RDMA_NLDEV_CMD_STAT_SET,
	  DO,
	  false,
	  { OF_PORT, RDMA_NLDEV_ATTR_STAT_MODE, RDMA_NLDEV_ATTR_STAT_RES,
	    RDMA_NLDEV_ATTR_RES_LQPN } },
	{ RDMA_NLDEV_CMD_STAT_SET,
	  DO,
	  false,
	  { OF_PORT, RDMA_NLDEV_ATTR_STAT_MODE, RDMA_NLDEV_ATTR_STAT_RES,
	    RDMA_NLDEV_ATTR_RES_LQPN, RDMA_NLDEV_ATTR_STAT_COUNTER_ID } },
	{ RDMA_NLDEV_CMD_STAT_SET,
	  DO,
	  false,
	  { OF_PORT, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS } },
	{ RDMA_NLDEV_CMD_STAT_DEL,
	  DO,
	  false,
	  { OF_PORT, RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_LQPN,
	    RDMA_NLDEV_ATTR_STAT_COUNTER_ID } },
	{ CMD_FRMR_POOLS_GET, DUMP, false, { OF_DEVICE, ATTR_DRIVER_DETAILS } },
	{ CMD_FRMR_POOLS_SET, DO, false, { OF_DEVICE, ATTR_FRMR_AGING_PERIOD } },
	{ CMD_FRMR_POOLS_SET,
	  DO,
	  false,
	  { OF_DEVICE, ATTR_FRMR_PINNED, ATTR_FRMR_POOL_KEY } },
	{ RDMA_NLDEV_CMD_NEWLINK,
	  DO,
	  false,
	  { RDMA_NLDEV_ATTR_DEV_NAME, RDMA_NLDEV_ATTR_LINK_TYPE,
	    RDMA_NLDEV_ATTR_NDEV_NAME } },
	{ RDMA_NLDEV_CMD_DELLINK, DO, true, { OF_DEVICE } },
	{ RDMA_NLDEV_CMD_SET,
	  DO,
	  true,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_DEV_NAME } },
	{ RDMA_NLDEV_CMD_SET, DO, true, { OF_DEVICE, RDMA_NLDEV_NET_NS_FD } },
	{ RDMA_NLDEV_CMD_SET, DO, true, { OF_DEVICE, RDMA_NLDEV_ATTR_DEV_DIM } },
	{ CMD_NEWDEV,
	  DO,
	  true,
	  { OF_DEVICE, RDMA_NLDEV_ATTR_DEV_NAME, ATTR_DEV_TYPE } },
	{ CMD_DELDEV, DO, true, { OF_DEVICE } },
};

/* Commands of which some must succeed: the others depend on the kernel, or are refused by pinion. */
static const uint8_t must_succeed[] = {
	RDMA_NLDEV_CMD_GET,
	RDMA_NLDEV_CMD_SET,
	RDMA_NLDEV_CMD_NEWLINK,
	RDMA_NLDEV_CMD_DELLINK,
	RDMA_NLDEV_CMD_PORT_GET,
	RDMA_NLDEV_CMD_SYS_GET,
	RDMA_NLDEV_CMD_RES_GET,
	RDMA_NLDEV_CMD_RES_QP_GET,
	RDMA_NLDEV_CMD_RES_CQ_GET,
	RDMA_NLDEV_CMD_RES_MR_GET,
	RDMA_NLDEV_CMD_RES_PD_GET,
	RDMA_NLDEV_CMD_RES_CTX_GET,
	RDMA_NLDEV_CMD_RES_SRQ_GET,
	RDMA_NLDEV_CMD_GET_CHARDEV,
	RDMA_NLDEV_CMD_STAT_SET,
	RDMA_NLDEV_CMD_STAT_GET,
	RDMA_NLDEV_CMD_STAT_DEL,
	RDMA_NLDEV_CMD_RES_QP_GET_RAW,
	RDMA_NLDEV_CMD_RES_CQ_GET_RAW,
	RDMA_NLDEV_CMD_RES_MR_GET_RAW,
};

enum { DEVICES = 32, OBJECTS = 16, ROOM = 2048, NETDEVS = 3 };

/* Indices of devices: those that were there before, and those that are not. */
static struct {
	uint32_t index[DEVICES];
	int count;
} others, ours;

static bool is_other(uint32_t index)
{
	int i;

	for (i = 0; i < others.count; i++) {
		if (others.index[i] == index)
			return true;
	}
	return false;
}

static int visit_device(const struct nlmsghdr *message, void *arg)
{
	uint32_t index = netlink_number(
		netlink_attr(message, RDMA_NLDEV_ATTR_DEV_INDEX));
	typeof(ours) *list = arg;

	if (list->count < DEVICES && (list == &others || !is_other(index)))
		list->index[list->count++] = index;
	return MNL_CB_OK;
}

static void list_devices(void *list)
{
	netlink_call(netlink_request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP),
		     visit_device, list);
}

static void list_ours(void)
{
	ours.count = 0;
	list_devices(&ours);
}

/* Numbers of objects of the device under test, by the attribute that has them. */
static struct objects {
	uint16_t attr, table;
	uint8_t op;
	uint32_t number[OBJECTS];
	int count;
} objects[] = {
#define OBJECTS_OF(n, what, command) \
	{ .attr = (n), .table = (what), .op = (command) }
	OBJECTS_OF(RDMA_NLDEV_ATTR_RES_LQPN, RDMA_NLDEV_ATTR_RES_QP,
		   RDMA_NLDEV_CMD_RES_QP_GET),
	OBJECTS_OF(RDMA_NLDEV_ATTR_RES_CQN, RDMA_NLDEV_ATTR_RES_CQ,
		   RDMA_NLDEV_CMD_RES_CQ_GET),
	OBJECTS_OF(RDMA_NLDEV_ATTR_RES_MRN, RDMA_NLDEV_ATTR_RES_MR,
		   RDMA_NLDEV_CMD_RES_MR_GET),
	OBJECTS_OF(RDMA_NLDEV_ATTR_RES_PDN, RDMA_NLDEV_ATTR_RES_PD,
		   RDMA_NLDEV_CMD_RES_PD_GET),
	OBJECTS_OF(RDMA_NLDEV_ATTR_RES_CTXN, RDMA_NLDEV_ATTR_RES_CTX,
		   RDMA_NLDEV_CMD_RES_CTX_GET),
	OBJECTS_OF(RDMA_NLDEV_ATTR_RES_SRQN, RDMA_NLDEV_ATTR_RES_SRQ,
		   RDMA_NLDEV_CMD_RES_SRQ_GET),
	OBJECTS_OF(RDMA_NLDEV_ATTR_RES_CM_IDN, RDMA_NLDEV_ATTR_RES_CM_ID,
		   RDMA_NLDEV_CMD_RES_CM_ID_GET),
	/* Of answers, as they come. */
	OBJECTS_OF(RDMA_NLDEV_ATTR_STAT_COUNTER_ID, 0, 0),
};

/* A queue pair and the counter that it was bound to last. */
static struct {
	bool is;
	uint32_t qpn, counter;
} bound;

static void object_add(size_t i, uint32_t number)
{
	objects[i].number[objects[i].count++ % OBJECTS] = number;
}

static int visit_objects(const struct nlmsghdr *message, void *arg)
{
	size_t i = *(size_t *)arg;
	const struct nlattr *entry, *table, *number;

	table = netlink_attr(message, objects[i].table);
	if (!table)
		return MNL_CB_OK;
	mnl_attr_for_each_nested(entry, table)
	{
		number = netlink_nested(entry, objects[i].attr);
		if (number)
			object_add(i, netlink_number(number));
	}
	return MNL_CB_OK;
}

static uint32_t some_object(uint16_t attr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(objects); i++) {
		if (objects[i].attr == attr && objects[i].count)
			return objects[i].number[rnd_below(
				objects[i].count < OBJECTS ? objects[i].count :
							     OBJECTS)];
	}
	return rnd_below(40);
}

/* The index of the device under test. */
static uint32_t under_test;

static int visit_named(const struct nlmsghdr *message, void *arg)
{
	const struct nlattr *name =
		netlink_attr(message, RDMA_NLDEV_ATTR_DEV_NAME);

	if (name && !strcmp(mnl_attr_get_str(name), device_name()))
		*(uint32_t *)arg = netlink_number(
			netlink_attr(message, RDMA_NLDEV_ATTR_DEV_INDEX));
	return MNL_CB_OK;
}

/* ------------------------------------------------------------------- messages */

static char bytes[ROOM] __attribute__((aligned(8)));
static struct nlmsghdr *const message = (struct nlmsghdr *)bytes;

static void put_text(uint16_t attr, const char *text)
{
	if (rnd_below(10))
		mnl_attr_put_strz(message, attr, text);
	else
		mnl_attr_put(message, attr, rnd_below(strlen(text) + 1), text);
}

static void put_name(uint16_t attr)
{
	char name[80];

	snprintf(name, sizeof(name), "nlfz%u", (unsigned int)rnd_below(4));
	if (!rnd_below(12)) {
		memset(name, 'a', sizeof(name));
		name[rnd_below(sizeof(name))] = 0;
	}
	put_text(attr, name);
}

static void put_type(uint16_t attr)
{
	static const char *const types[] = { "pinion",	    "pinion-loop",
					     "pinion-auto", "pinion-wire",
					     "pinion-mlx5", "pinion" };

	put_text(attr,
		 rnd_below(20) ? types[rnd_below(ARRAY_SIZE(types))] : "none");
}

static void put_netdev(uint16_t attr)
{
	char name[16];

	snprintf(name, sizeof(name), "nlfz-net%u",
		 (unsigned int)rnd_below(NETDEVS));
	put_text(attr, rnd_below(16) ? name : rnd() & 1 ? "lo" : "nowhere");
}

static void put_nested(uint16_t attr)
{
	struct nlattr *nest = mnl_attr_nest_start(message, attr);
	int n = rnd_below(4);

	while (n--)
		mnl_attr_put_u32(message,
				 rnd() & 3 ?
					 RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX :
					 rnd_below(ATTR_END),
				 rnd_below(20));
	mnl_attr_nest_end(message, nest);
}

static uint32_t some_index(const struct command *c)
{
	if (c->changes)
		return ours.count ? ours.index[rnd_below(ours.count)] : ~0U;
	if (ours.count && !rnd_below(4))
		return ours.index[rnd_below(ours.count)];
	return rnd_below(16) ? under_test : rnd_below(40);
}

static void put_usual(const struct command *c, uint16_t attr)
{
	static const uint32_t res[] = { RDMA_NLDEV_ATTR_RES_QP,
					RDMA_NLDEV_ATTR_RES_MR };

	switch (kind_of(attr)) {
	case INDEX:
		mnl_attr_put_u32(message, attr, some_index(c));
		break;
	case PORT:
		mnl_attr_put_u32(message, attr, 1);
		break;
	case NAME:
		put_name(attr);
		break;
	case TYPE:
		put_type(attr);
		break;
	case NETDEV:
		put_netdev(attr);
		break;
	case CHARDEV:
		put_text(attr, rnd() & 1 ? "uverbs" : "rdma_cm");
		break;
	case BYTE:
		mnl_attr_put_u8(message, attr, rnd_below(3));
		break;
	case WORD:
		mnl_attr_put_u32(message, attr, rnd_below(4));
		break;
	case NUMBER:
		if (c->op == RDMA_NLDEV_CMD_STAT_DEL && bound.is && rnd() & 3)
			mnl_attr_put_u32(message, attr,
					 attr == RDMA_NLDEV_ATTR_RES_LQPN ?
						 bound.qpn :
						 bound.counter);
		else
			mnl_attr_put_u32(message, attr, some_object(attr));
		break;
	case RES:
		mnl_attr_put_u32(message, attr, res[rnd() & 1]);
		break;
	case NESTED:
		put_nested(attr);
		break;
	case FD:
		mnl_attr_put_u32(message, attr, rnd_below(20));
		break;
	case NONE:
		break;
	}
}

/* Any attribute, of any length. */
static void put_garbage(uint16_t attr)
{
	uint8_t data[64];

	rnd_fill(data, sizeof(data));
	if (rnd() & 1)
		memset(data, 0, sizeof(data));
	mnl_attr_put(message, attr, rnd_below(rnd() & 1 ? 9 : sizeof(data)),
		     data);
}

static void make(const struct command *c)
{
	bool dump = c->how == DUMP || (c->how == EITHER && rnd() & 1);
	size_t i;

	memset(bytes, 0, sizeof(bytes));
	mnl_nlmsg_put_header(bytes);
	message->nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, c->op);
	message->nlmsg_flags = NLM_F_REQUEST | (dump ? NLM_F_DUMP : NLM_F_ACK);
	message->nlmsg_seq = rnd();
	for (i = 0; i < ARRAY_SIZE(c->attr) && c->attr[i]; i++) {
		/* A dump of everything has fewer. */
		if (!rnd_below(30) || (dump && i && !rnd_below(3)))
			continue;
		if (rnd_below(20))
			put_usual(c, c->attr[i]);
		else
			put_garbage(c->attr[i]);
	}
	if (!rnd_below(8))
		put_garbage(rnd_below(ATTR_END + 10));
	if (!rnd_below(6))
		fuzz_flip(bytes + NLMSG_HDRLEN,
			  message->nlmsg_len - NLMSG_HDRLEN);
	if (!rnd_below(40))
		message->nlmsg_flags = rnd();
	if (!rnd_below(40))
		message->nlmsg_type =
			RDMA_NL_GET_TYPE(rnd_below(8), rnd_below(34));
}

static bool changes_others(const struct nlmsghdr *m)
{
	unsigned int op = RDMA_NL_GET_OP(m->nlmsg_type);
	const struct nlattr *attr;

	if (op != RDMA_NLDEV_CMD_SET && op != RDMA_NLDEV_CMD_DELLINK &&
	    op != CMD_NEWDEV && op != CMD_DELDEV)
		return false;
	mnl_attr_for_each(attr, m, 0)
	{
		if (mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DEV_INDEX &&
		    mnl_attr_get_payload_len(attr) >= 4 &&
		    is_other(mnl_attr_get_u32(attr)))
			return true;
	}
	return false;
}

/*
 * Would the kernel change one of the others' devices, or stand still? It goes through the bytes as
 * the kernel does, also through further messages in them. The port mapper of iWARP answers to the
 * port that the message names, with the lock of the kernel's own socket held: to port 0, which is
 * that socket, it waits for itself (Linux 7.2, iwpm_send_hello()).
 */
static bool is_allowed(size_t length)
{
	const struct nlmsghdr *m = message;
	int left = length;

	/* libmnl takes a length of 2 GiB and more for a negative one, which fits. */
	for (; mnl_nlmsg_ok(m, left) && m->nlmsg_len <= (unsigned int)left;
	     m = mnl_nlmsg_next(m, &left)) {
		unsigned int client = RDMA_NL_GET_CLIENT(m->nlmsg_type);

		if (client == RDMA_NL_IWCM ||
		    (client == RDMA_NL_NLDEV && changes_others(m)))
			return false;
	}
	return true;
}

static int socket_;

/* The errno of an answer; -1: it is an answer. */
static int errno_of(const struct nlmsghdr *m)
{
	const struct nlmsgerr *why = mnl_nlmsg_get_payload(m);

	if (m->nlmsg_type == NLMSG_ERROR)
		return -why->error;
	/* The end of a dump has an errno of the same place, if any. */
	if (m->nlmsg_type == NLMSG_DONE)
		return mnl_nlmsg_get_payload_len(m) >= sizeof(int) &&
				       why->error < 0 ?
			       -why->error :
			       0;
	return -1;
}

static void learn(const struct nlmsghdr *m)
{
	const struct nlattr *number =
		netlink_attr(m, RDMA_NLDEV_ATTR_STAT_COUNTER_ID);
	const struct nlattr *qpn = netlink_attr(m, RDMA_NLDEV_ATTR_RES_LQPN);

	if (!number)
		return;
	object_add(ARRAY_SIZE(objects) - 1, netlink_number(number));
	if (qpn)
		bound = (typeof(bound)){ true, netlink_number(qpn),
					 netlink_number(number) };
}

/* Read what there is of answers. Return: 0, an errno, ENOMSG if there is none. */
static int receive(void)
{
	static char answer[1 << 16] __attribute__((aligned(8)));
	const struct nlmsghdr *m;
	int err = ENOMSG, one, left;

	for (;;) {
		left = recv(socket_, answer, sizeof(answer), MSG_DONTWAIT);
		if (left < 0)
			return errno == EAGAIN ? err : errno;
		for (m = (void *)answer; mnl_nlmsg_ok(m, left);
		     m = mnl_nlmsg_next(m, &left)) {
			one = errno_of(m);
			if (one > 0)
				err = one;
			else if (err == ENOMSG)
				err = 0;
			if (one < 0)
				learn(m);
		}
	}
}

static void open_socket(void)
{
	socket_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	CHECK(socket_ >= 0);
}

static void call(void)
{
	const struct command *c = &commands[rnd_below(ARRAY_SIZE(commands))];
	size_t length;
	int kind = -1;

	if (c->changes || c->op == RDMA_NLDEV_CMD_NEWLINK)
		list_ours();
	make(c);
	length = message->nlmsg_len;
	if (!rnd_below(30))
		message->nlmsg_len = rnd_below(length + 40);
	if (!rnd_below(30))
		length = rnd_below(length + 1);
	if (!is_allowed(length))
		return;
	if (RDMA_NL_GET_CLIENT(message->nlmsg_type) == RDMA_NL_NLDEV)
		kind = RDMA_NL_GET_OP(message->nlmsg_type);
	/* Now and then nobody reads the answers. */
	if (!rnd_below(60)) {
		close(socket_);
		open_socket();
	}
	if (send(socket_, bytes, length, 0) < 0)
		fuzz_returned(kind, errno);
	else
		fuzz_returned(kind, receive());
}

static struct link link_;

static void begin(void)
{
	struct ibv_srq_init_attr init = { .attr = { 10, 3, 0 } };
	size_t i;

	link_make(&link_, NULL);
	region_new(9000, 5, ALL_ACCESS);
	MUST(ibv_create_srq(dev.pd, &init));
	under_test = ~0U;
	netlink_call(netlink_request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP),
		     visit_named, &under_test);
	for (i = 0; i < ARRAY_SIZE(objects); i++) {
		struct nlmsghdr *request;

		if (!objects[i].op)
			continue;
		request = netlink_request(objects[i].op, NLM_F_DUMP);
		mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_DEV_INDEX,
				 under_test);
		netlink_call(request, visit_objects, &i);
	}
	/* The answers of each call are all there when send() returns, but for those of long dumps. */
	open_socket();
}

/* A command of which none has succeeded yet; -1: there is none. */
static int missing(void)
{
	return fuzz_missing(must_succeed, ARRAY_SIZE(must_succeed));
}

static bool enough(void)
{
	return fuzz_seen->calls >= 500 && fuzz_errnos() >= 3 && missing() < 0;
}

static void change(int op, uint16_t attr, uint32_t value, size_t length)
{
	struct nlmsghdr *request = netlink_request(op, NLM_F_ACK);

	mnl_attr_put(request, attr, length, &value);
	netlink_call(request, NULL, NULL);
}

static void automatic_off(uint32_t index)
{
	struct nlmsghdr *request =
		netlink_request(RDMA_NLDEV_CMD_STAT_SET, NLM_F_ACK);

	mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_STAT_MODE, 1);
	mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_STAT_RES,
			 RDMA_NLDEV_ATTR_RES_QP);
	mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK, 0);
	netlink_call(request, NULL, NULL);
}

/* Devices of this test go, and settings are as they were. */
static void put_back(void)
{
	int i;

	/* Shared by all namespaces; Q_Keys of the upper half for the privileged only. */
	change(RDMA_NLDEV_CMD_SYS_SET, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1, 1);
	change(RDMA_NLDEV_CMD_SYS_SET, ATTR_PRIVILEGED_QKEY_MODE, 0, 1);
	for (i = 0; i < others.count; i++)
		automatic_off(others.index[i]);
	list_ours();
	for (i = 0; i < ours.count; i++)
		change(RDMA_NLDEV_CMD_DELLINK, RDMA_NLDEV_ATTR_DEV_INDEX,
		       ours.index[i], 4);
	for (i = 0; i < NETDEVS; i++) {
		char command[64];

		snprintf(command, sizeof(command),
			 "ip link del nlfz-net%d 2>/dev/null", i);
		if (system(command))
			continue;
	}
}

/*
 * Thousands of messages of all commands: enough of them succeed, others' messages go on, and
 * nothing is left.
 */
static void garbage(void)
{
	static const struct fuzz fuzz = {
		.word = "netlink",
		.begin = begin,
		.call = call,
		.enough = enough,
		.calls = 1500,
		.calls_in_short = 400,
	};
	struct region a, b;
	double limit;
	int i;

	need_root();
	if (!dev.pinion)
		skip("others' answers are their own");
	need_command("ip");
	link_make(&link_, NULL);
	a = region_new(20000, 1, ALL_ACCESS);
	b = region_new(20000, 7, ALL_ACCESS);
	exchange(&link_, &a, &b);
	list_devices(&others);
	CHECK(others.count && others.count < DEVICES);
	undo_at_end(put_back);
	for (i = 0; i < NETDEVS; i++)
		must_run(
			"ip link add nlfz-net%d type veth peer name nlfz-peer%d && ip link set nlfz-net%d up && ip link set nlfz-peer%d up && ip addr add 10.0.8%d.1/24 dev nlfz-net%d",
			i, i, i, i, i, i);
	fuzz_run(&fuzz);
	note("%u commands succeeded, %u errnos", fuzz_kinds(), fuzz_errnos());
	if (missing() >= 0)
		FAIL("command %d never succeeded", missing());
	CHECK(fuzz_seen->calls >= 500 && fuzz_errnos() >= 3);
	put_back();
	limit = now() + patience(60);
	for (list_ours(); ours.count; list_ours()) {
		if (now() > limit)
			FAIL("%d devices are left", ours.count);
		usleep(10000);
	}
	exchange(&link_, &a, &b);
}

static const struct test tests[] = {
	LONG_TEST(garbage, "NL1 nearly right messages of every command", 300),
};

HARNESS_MAIN("garbage for RDMA netlink", tests)
