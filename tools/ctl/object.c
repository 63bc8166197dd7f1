// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Objects as the core reports them for every driver: netlink attributes with the names of rdma(8).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "object.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Names by value; NULL or absent if a value has no name. */
struct names {
	const char *const *name;
	size_t num;
};
#define NAMES(...)                                      \
	{ .name = (const char *const[]){ __VA_ARGS__ }, \
	  .num = LENGTH(((const char *const[]){ __VA_ARGS__ })) }

static const struct names qp_types = NAMES("SMI", "GSI", "RC", "UC", "UD",
					   "RAW_IPV6", "RAW_ETHERTYPE", NULL,
					   "RAW_PACKET", "XRC_INI", "XRC_TGT");
static const struct names qp_states =
	NAMES("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR");
static const struct names path_states = NAMES("MIGRATED", "REARM", "ARMED");
static const struct names srq_types = NAMES("BASIC", "XRC", "TM");
static const struct names poll_contexts =
	NAMES("DIRECT", "SOFTIRQ", "WORKQUEUE", "UNBOUND_WORKQUEUE");
static const struct names off_on = NAMES("off", "on");

enum attr_kind { NUMBER, HEX, TEXT };

struct attr_field {
	uint16_t attr;
	const char *name;
	enum attr_kind kind;
	const struct names *names;
};

struct object {
	const char *name;
	uint16_t command; /* RDMA_NLDEV_CMD_RES_*_GET */
	uint16_t list; /* what its elements are in */
	const struct attr_field
		*fields; /* its number first; ends without a name */
	const struct column *columns;
};

static const struct object objects[] = {
	{
		.name = "mr",
		.command = RDMA_NLDEV_CMD_RES_MR_GET,
		.list = RDMA_NLDEV_ATTR_RES_MR,
		.fields =
			(const struct attr_field[]){
				{ RDMA_NLDEV_ATTR_RES_MRN, "mrn", NUMBER, NULL },
				{ RDMA_NLDEV_ATTR_RES_LKEY, "lkey", HEX, NULL },
				{ RDMA_NLDEV_ATTR_RES_RKEY, "rkey", HEX, NULL },
				{ RDMA_NLDEV_ATTR_RES_IOVA, "iova", HEX, NULL },
				{ RDMA_NLDEV_ATTR_RES_MRLEN, "length", NUMBER,
				  NULL },
				{ RDMA_NLDEV_ATTR_RES_PDN, "pdn", NUMBER, NULL },
				{},
			},
		.columns =
			(const struct column[]){
				{ "dev", -8 },
				{ "mrn", 5 },
				{ "lkey", 10 },
				{ "length", 10 },
				{ "kind", -9 },
				{ "address", 14 },
				{ "pid", 6 },
				{ "comm", -16 },
				{},
			},
	},
	{
		.name = "qp",
		.command = RDMA_NLDEV_CMD_RES_QP_GET,
		.list = RDMA_NLDEV_ATTR_RES_QP,
		.fields =
			(const struct attr_field[]){
				{ RDMA_NLDEV_ATTR_RES_LQPN, "lqpn", NUMBER,
				  NULL },
				{ RDMA_NLDEV_ATTR_PORT_INDEX, "port", NUMBER,
				  NULL },
				{ RDMA_NLDEV_ATTR_RES_TYPE, "type", NUMBER,
				  &qp_types },
				{ RDMA_NLDEV_ATTR_RES_SUBTYPE, "subtype", TEXT,
				  NULL },
				{ RDMA_NLDEV_ATTR_RES_STATE, "state", NUMBER,
				  &qp_states },
				{ RDMA_NLDEV_ATTR_RES_RQPN, "rqpn", NUMBER,
				  NULL },
				{ RDMA_NLDEV_ATTR_RES_SQ_PSN, "sq_psn", NUMBER,
				  NULL },
				{ RDMA_NLDEV_ATTR_RES_RQ_PSN, "rq_psn", NUMBER,
				  NULL },
				{ RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE,
				  "path_mig_state", NUMBER, &path_states },
				{ RDMA_NLDEV_ATTR_RES_PDN, "pdn", NUMBER, NULL },
				{},
			},
		.columns =
			(const struct column[]){
				{ "dev", -8 },
				{ "port", 4 },
				{ "lqpn", 8 },
				{ "type", -7 },
				{ "state", -5 },
				{ "rqpn", 8 },
				{ "sq_waiting", 10 },
				{ "rq_waiting", 10 },
				{ "pid", 6 },
				{ "comm", -16 },
				{},
			},
	},
	{
		.name = "cq",
		.command = RDMA_NLDEV_CMD_RES_CQ_GET,
		.list = RDMA_NLDEV_ATTR_RES_CQ,
		.fields =
			(const struct attr_field[]){
				{ RDMA_NLDEV_ATTR_RES_CQN, "cqn", NUMBER, NULL },
				{ RDMA_NLDEV_ATTR_RES_CQE, "cqe", NUMBER, NULL },
				{ RDMA_NLDEV_ATTR_RES_USECNT, "users", NUMBER,
				  NULL },
				{ RDMA_NLDEV_ATTR_RES_POLL_CTX, "poll_ctx",
				  NUMBER, &poll_contexts },
				{ RDMA_NLDEV_ATTR_DEV_DIM,
				  "adaptive_moderation", NUMBER, &off_on },
				{ RDMA_NLDEV_ATTR_RES_CTXN, "ctxn", NUMBER,
				  NULL },
				{},
			},
		.columns =
			(const struct column[]){
				{ "dev", -8 },
				{ "cqn", 6 },
				{ "cqe", 7 },
				{ "users", 5 },
				{ "unpolled", 8 },
				{ "overflow", 8 },
				{ "pid", 6 },
				{ "comm", -16 },
				{},
			},
	},
	{
		.name = "srq",
		.command = RDMA_NLDEV_CMD_RES_SRQ_GET,
		.list = RDMA_NLDEV_ATTR_RES_SRQ,
		.fields =
			(const struct attr_field[]){
				{ RDMA_NLDEV_ATTR_RES_SRQN, "srqn", NUMBER,
				  NULL },
				{ RDMA_NLDEV_ATTR_RES_TYPE, "type", NUMBER,
				  &srq_types },
				{ RDMA_NLDEV_ATTR_RES_PDN, "pdn", NUMBER, NULL },
				{ RDMA_NLDEV_ATTR_RES_CQN, "cqn", NUMBER, NULL },
				{},
			},
		.columns =
			(const struct column[]){
				{ "dev", -8 },
				{ "srqn", 6 },
				{ "type", -5 },
				{ "pdn", 6 },
				{ "entries", 7 },
				{ "waiting", 7 },
				{ "limit", 5 },
				{ "pid", 6 },
				{ "comm", -16 },
				{},
			},
	},
};

const struct object *object_named(const char *name)
{
	size_t i;

	for (i = 0; i < LENGTH(objects); i++)
		if (!strcmp(objects[i].name, name))
			return &objects[i];
	return NULL;
}

const struct column *object_columns(const struct object *object)
{
	return object->columns;
}

/* ---------------------------------------------------------------- selection */

struct selection selection_of(char **words)
{
	struct selection selection = { .pairs = words };
	int num = 0;

	while (words[num])
		num++;
	if (num % 2) {
		selection.device = words[0];
		selection.pairs++;
	}
	return selection;
}

bool selection_has(const struct selection *selection, const struct row *row)
{
	char **pair;

	for (pair = selection->pairs; *pair; pair += 2) {
		bool key = !strcmp(pair[0], "key");

		if (row_has(row, pair[0], pair[1]))
			continue;
		/* By either. */
		if (!key || (!row_has(row, "lkey", pair[1]) &&
			     !row_has(row, "rkey", pair[1])))
			return false;
	}
	return true;
}

/* --------------------------------------------------------------- their attributes */

static void row_attr(struct row *row, const struct attr_field *field,
		     const struct nlattr *attr)
{
	uint64_t value;

	if (field->kind == TEXT) {
		row_text(row, field->name, mnl_attr_get_str(attr));
		return;
	}
	value = netlink_number(attr);
	if (field->kind == HEX)
		row_hex(row, field->name, value);
	else if (field->names && value < field->names->num &&
		 field->names->name[value])
		row_text(row, field->name, field->names->name[value]);
	else
		row_number(row, field->name, value);
}

/* The owner: a process, or a kernel consumer. */
static void row_owner(struct row *row, const struct attrs *attrs)
{
	const struct nlattr *attr = attrs->at[RDMA_NLDEV_ATTR_RES_PID];
	const char *comm;
	char *name;

	if (attr) {
		row_number(row, "pid", netlink_number(attr));
		comm = file_line("/proc/%u/comm", mnl_attr_get_u32(attr));
		row_text(row, "comm", comm ? comm : "");
		return;
	}
	attr = attrs->at[RDMA_NLDEV_ATTR_RES_KERN_NAME];
	if (attr) {
		name = print("[%s]", mnl_attr_get_str(attr));
		row_text(row, "comm", name);
		free(name);
	}
}

/* A driver's attribute: name, optional print type, and value. */
static void row_driver(struct row *row, const struct nlattr *list)
{
	const char *name = NULL;
	const struct nlattr *attr;
	bool hex = false;

	if (!list)
		return;
	mnl_attr_for_each_nested(attr, list)
	{
		switch (mnl_attr_get_type(attr)) {
		case RDMA_NLDEV_ATTR_DRIVER_STRING:
			/* A text of the driver's has a name before it, too. */
			if (name) {
				row_text(row, name, mnl_attr_get_str(attr));
				name = NULL;
			} else {
				name = mnl_attr_get_str(attr);
			}
			hex = false;
			break;
		case RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE:
			hex = netlink_number(attr) == RDMA_NLDEV_PRINT_TYPE_HEX;
			break;
		case RDMA_NLDEV_ATTR_DRIVER_S32:
		case RDMA_NLDEV_ATTR_DRIVER_U32:
		case RDMA_NLDEV_ATTR_DRIVER_S64:
		case RDMA_NLDEV_ATTR_DRIVER_U64:
			if (name && hex)
				row_hex(row, name, netlink_number(attr));
			else if (name)
				row_number(row, name, netlink_number(attr));
			name = NULL;
			break;
		}
	}
}

static void counter_visit(const struct attrs *attrs, void *arg)
{
	const struct nlattr *name =
		attrs->at[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME];
	const struct nlattr *value =
		attrs->at[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE];

	if (name && value)
		row_number(arg, mnl_attr_get_str(name), netlink_number(value));
}

void row_counters(struct row *row, const struct nlattr *list)
{
	netlink_each(list, counter_visit, row);
}

/* ----------------------------------------------------------------------- all of them */

struct walk {
	const struct object *object;
	const struct device *device;
	object_visit_t visit;
	void *arg;
	struct row row;
};

static void walk_element(const struct attrs *attrs, void *arg)
{
	struct walk *walk = arg;
	const struct attr_field *field;

	row_clear(&walk->row);
	row_text(&walk->row, "dev", walk->device->name);
	for (field = walk->object->fields; field->name; field++)
		if (attrs->at[field->attr])
			row_attr(&walk->row, field, attrs->at[field->attr]);
	row_owner(&walk->row, attrs);
	row_driver(&walk->row, attrs->at[RDMA_NLDEV_ATTR_DRIVER]);
	walk->visit(walk->device, &walk->row, walk->arg);
}

static void walk_message(const struct attrs *attrs, void *arg)
{
	struct walk *walk = arg;

	netlink_each(attrs->at[walk->object->list], walk_element, walk);
}

static void walk_device(struct walk *walk)
{
	const struct question question = {
		.command = walk->object->command,
		.dump = true,
		.num = 1,
		.with = { { RDMA_NLDEV_ATTR_DEV_INDEX, walk->device->index } },
	};
	int rc = netlink_ask(&question, walk_message, walk);

	/* It may have gone just now. */
	if (rc && rc != -ENODEV)
		die("%s: the kernel does not list its %ss: %s",
		    walk->device->name, walk->object->name, strerror(-rc));
}

void objects_each(const struct object *object,
		  const struct selection *selection, object_visit_t visit,
		  void *arg)
{
	struct walk walk = { .object = object, .visit = visit, .arg = arg };
	struct device one, *all = NULL;
	int i, num = 1;

	if (selection->device)
		one = device_named(selection->device);
	else
		all = devices_all(&num);
	for (i = 0; i < num; i++) {
		walk.device = all ? &all[i] : &one;
		walk_device(&walk);
	}
	row_clear(&walk.row);
	free(walk.row.fields);
	free(all);
}
