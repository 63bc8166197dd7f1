// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Asks the kernel, by RDMA netlink and files, what exists. Changes nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "buf.h"
#include "device.h"
#include "resources.h"

typedef void (*visit_t)(const struct nlattr *attrs, int length, void *arg);

struct request {
	struct nlmsghdr hdr;
	struct nlattr attr;
	uint32_t index;
	struct nlattr kind_attr;
	uint32_t kind;
};

#define ATTR_NEXT(attr)                                 \
	((const struct nlattr *)((const char *)(attr) + \
				 NLA_ALIGN((attr)->nla_len)))
#define ATTR_DATA(attr) ((const void *)((const char *)(attr) + NLA_HDRLEN))

static const struct nlattr *find_attr(const struct nlattr *attr, int length,
				      int type)
{
	const char *end = (const char *)attr + length;

	for (; (const char *)attr + NLA_HDRLEN <= end && attr->nla_len;
	     attr = ATTR_NEXT(attr)) {
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
	}
	return NULL;
}

static uint64_t attr_u64(const struct nlattr *attrs, int length, int type)
{
	const struct nlattr *attr = find_attr(attrs, length, type);
	uint64_t value = 0;

	if (attr)
		memcpy(&value, ATTR_DATA(attr), attr->nla_len - NLA_HDRLEN);
	return value;
}

static bool receive(int fd, visit_t visit, void *arg)
{
	static char buf[1 << 16] __attribute__((aligned(8)));
	struct nlmsghdr *hdr;
	int length;

	for (;;) {
		length = recv(fd, buf, sizeof(buf), 0);
		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			return false;
		for (hdr = (void *)buf; NLMSG_OK(hdr, length);
		     hdr = NLMSG_NEXT(hdr, length)) {
			if (hdr->nlmsg_type == NLMSG_DONE)
				return true;
			if (hdr->nlmsg_type == NLMSG_ERROR)
				return false;
			/* The list changed during the dump, so it is inconsistent. */
			if (hdr->nlmsg_flags & NLM_F_DUMP_INTR)
				return false;
			visit(NLMSG_DATA(hdr), hdr->nlmsg_len - NLMSG_HDRLEN,
			      arg);
			if (!(hdr->nlmsg_flags & NLM_F_MULTI))
				return true;
		}
	}
}

/* Dump @op, for the device @index if that is not negative, of one @kind or 0. */
static bool ask_more(int op, int index, uint32_t kind, visit_t visit, void *arg)
{
	struct request request = {
		.hdr = { .nlmsg_len = NLMSG_HDRLEN,
			 .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, op),
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
	};
	struct timeval limit = { .tv_sec = patience(60) };
	bool ok;
	int fd;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (index >= 0) {
		request.hdr.nlmsg_len = offsetof(struct request, kind_attr);
		request.attr.nla_len = NLA_HDRLEN + sizeof(uint32_t);
		request.attr.nla_type = RDMA_NLDEV_ATTR_DEV_INDEX;
		request.index = index;
	}
	if (kind) {
		request.hdr.nlmsg_len = sizeof(request);
		request.kind_attr.nla_len = NLA_HDRLEN + sizeof(uint32_t);
		request.kind_attr.nla_type = RDMA_NLDEV_ATTR_STAT_RES;
		request.kind = kind;
	}
	ok = send(fd, &request, request.hdr.nlmsg_len, 0) > 0 &&
	     receive(fd, visit, arg);
	close(fd);
	return ok;
}

static bool ask(int op, int index, visit_t visit, void *arg)
{
	return ask_more(op, index, 0, visit, arg);
}

static void visit_device(const struct nlattr *attrs, int length, void *arg)
{
	const struct nlattr *attr;

	attr = find_attr(attrs, length, RDMA_NLDEV_ATTR_DEV_NAME);
	if (attr && !strcmp(ATTR_DATA(attr), device_name()))
		*(int *)arg =
			attr_u64(attrs, length, RDMA_NLDEV_ATTR_DEV_INDEX);
}

static int device_index(void)
{
	int index = -1;

	ask(RDMA_NLDEV_CMD_GET, -1, visit_device, &index);
	return index;
}

static void visit_summary(const struct nlattr *attrs, int length, void *arg)
{
	const struct nlattr *attr, *table, *entry;
	struct resources *res = arg;
	const char *end;

	attr = find_attr(attrs, length, RDMA_NLDEV_ATTR_DEV_NAME);
	table = find_attr(attrs, length, RDMA_NLDEV_ATTR_RES_SUMMARY);
	if (!attr || !table || strcmp(ATTR_DATA(attr), device_name()))
		return;
	end = (const char *)table + table->nla_len;
	for (entry = ATTR_DATA(table);
	     (const char *)entry < end && res->kinds < RESOURCE_KINDS;
	     entry = ATTR_NEXT(entry)) {
		int inner = entry->nla_len - NLA_HDRLEN;

		attr = find_attr(ATTR_DATA(entry), inner,
				 RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME);
		if (!attr)
			continue;
		snprintf(res->kind[res->kinds].name, sizeof(res->kind[0].name),
			 "%s", (const char *)ATTR_DATA(attr));
		res->kind[res->kinds++].count =
			attr_u64(ATTR_DATA(entry), inner,
				 RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR);
	}
	res->known = true;
}

/* rdma resource does not list windows and dead keys; the debugfs of the driver does. */
static void read_keys(struct resources *res)
{
	char path[128], line[512];
	uint64_t count = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/kernel/debug/pinion/%s/keys",
		 device_name());
	file = fopen(path, "r");
	if (!file || res->kinds == RESOURCE_KINDS)
		return;
	while (fgets(line, sizeof(line), file))
		count += line[0] == '0';
	fclose(file);
	strcpy(res->kind[res->kinds].name, "keys");
	res->kind[res->kinds++].count = count;
}

void resources_read(struct resources *res)
{
	int tries;

	for (tries = 0; tries < 10; tries++) {
		memset(res, 0, sizeof(*res));
		if (ask(RDMA_NLDEV_CMD_RES_GET, -1, visit_summary, res) &&
		    res->known)
			break;
		res->known = false;
		usleep(10000);
	}
	read_keys(res);
}

bool resources_differ(const struct resources *a, const struct resources *b,
		      char *text, size_t size)
{
	const struct resources *one = a, *other = b;
	long long had, has;
	size_t used = 0;
	int i, round;

	if (!a->known || !b->known) {
		snprintf(text, size, "what there is, the kernel does not say");
		return true;
	}
	/* Those of a, then what only b has. */
	for (round = 0; round < 2; round++, one = b, other = a) {
		for (i = 0; i < one->kinds && used < size; i++) {
			const char *name = one->kind[i].name;

			had = resources_count(a, name);
			has = resources_count(b, name);
			if (had == has ||
			    (round && resources_count(other, name) >= 0))
				continue;
			used += snprintf(text + used, size - used,
					 "%s %lld, before %lld ", name, has,
					 had);
		}
	}
	return used > 0;
}

void resources_await(const struct resources *before)
{
	double end = now() + patience(60);
	struct resources after;
	char text[256];

	for (;;) {
		resources_read(&after);
		if (!resources_differ(before, &after, text, sizeof(text)))
			return;
		if (now() > end)
			FAIL("left behind: %s", text);
		usleep(10000);
	}
}

long long resources_count(const struct resources *res, const char *name)
{
	int i;

	for (i = 0; i < res->kinds; i++) {
		if (!strcmp(res->kind[i].name, name))
			return res->kind[i].count;
	}
	return -1;
}

static void visit_nothing(const struct nlattr *attrs, int length, void *arg)
{
	(void)attrs;
	(void)length;
	(void)arg;
}

void resources_describe(void)
{
	int index = device_index();

	ask(RDMA_NLDEV_CMD_RES_QP_GET, index, visit_nothing, NULL);
	ask(RDMA_NLDEV_CMD_RES_CQ_GET, index, visit_nothing, NULL);
	ask(RDMA_NLDEV_CMD_RES_SRQ_GET, index, visit_nothing, NULL);
}

struct mr_list {
	struct mr_info *infos;
	int max, count;
};

static void visit_mrs(const struct nlattr *attrs, int length, void *arg)
{
	const struct nlattr *table, *entry;
	struct mr_list *list = arg;
	const char *end;

	table = find_attr(attrs, length, RDMA_NLDEV_ATTR_RES_MR);
	if (!table)
		return;
	end = (const char *)table + table->nla_len;
	for (entry = ATTR_DATA(table);
	     (const char *)entry < end && list->count < list->max;
	     entry = ATTR_NEXT(entry)) {
		struct mr_info *info = &list->infos[list->count++];
		const struct nlattr *inner = ATTR_DATA(entry);
		int size = entry->nla_len - NLA_HDRLEN;

		*info = (struct mr_info){
			.found = true,
			.rkey = attr_u64(inner, size, RDMA_NLDEV_ATTR_RES_RKEY),
			.lkey = attr_u64(inner, size, RDMA_NLDEV_ATTR_RES_LKEY),
			.mrn = attr_u64(inner, size, RDMA_NLDEV_ATTR_RES_MRN),
			.pdn = attr_u64(inner, size, RDMA_NLDEV_ATTR_RES_PDN),
			.length = attr_u64(inner, size,
					   RDMA_NLDEV_ATTR_RES_MRLEN),
		};
	}
}

int resources_mrs(struct mr_info *infos, int max)
{
	struct mr_list list = { .infos = infos, .max = max };
	int index = device_index();

	if (index < 0 ||
	    !ask(RDMA_NLDEV_CMD_RES_MR_GET, index, visit_mrs, &list))
		return -1;
	return list.count;
}

bool resources_mr(uint32_t rkey, struct mr_info *info)
{
	struct mr_info infos[256];
	int i, count = resources_mrs(infos, ARRAY_SIZE(infos));

	for (i = 0; i < count; i++) {
		if (infos[i].rkey == rkey) {
			*info = infos[i];
			return true;
		}
	}
	return false;
}

struct row_query {
	uint64_t length;
	struct mr_row *rows;
	int max, count;
};

/* A name, how to print it perhaps, and the value, one after the other. */
static void read_rows(const struct nlattr *table, struct row_query *query)
{
	const char *end = (const char *)table + table->nla_len;
	const struct nlattr *attr;
	struct mr_row *row = NULL;

	for (attr = ATTR_DATA(table); (const char *)attr < end;
	     attr = ATTR_NEXT(attr)) {
		int type = attr->nla_type & NLA_TYPE_MASK;

		if (type == RDMA_NLDEV_ATTR_DRIVER_STRING) {
			row = query->count < query->max ?
				      &query->rows[query->count++] :
				      NULL;
			if (row)
				snprintf(row->name, sizeof(row->name), "%s",
					 (const char *)ATTR_DATA(attr));
		} else if (row && type >= RDMA_NLDEV_ATTR_DRIVER_S32 &&
			   type <= RDMA_NLDEV_ATTR_DRIVER_U64) {
			memcpy(&row->value, ATTR_DATA(attr),
			       attr->nla_len - NLA_HDRLEN);
		}
	}
}

static void visit_rows(const struct nlattr *attrs, int length, void *arg)
{
	const struct nlattr *table, *entry, *rows;
	struct row_query *query = arg;
	const char *end;

	table = find_attr(attrs, length, RDMA_NLDEV_ATTR_RES_MR);
	if (!table)
		return;
	end = (const char *)table + table->nla_len;
	for (entry = ATTR_DATA(table); (const char *)entry < end;
	     entry = ATTR_NEXT(entry)) {
		int size = entry->nla_len - NLA_HDRLEN;

		if (attr_u64(ATTR_DATA(entry), size,
			     RDMA_NLDEV_ATTR_RES_MRLEN) != query->length)
			continue;
		rows = find_attr(ATTR_DATA(entry), size,
				 RDMA_NLDEV_ATTR_DRIVER);
		if (rows)
			read_rows(rows, query);
	}
}

int resources_mr_rows(uint64_t length, struct mr_row *rows, int max)
{
	struct row_query query = { .length = length, .rows = rows, .max = max };
	int index = device_index();

	if (index < 0 ||
	    !ask(RDMA_NLDEV_CMD_RES_MR_GET, index, visit_rows, &query))
		return -1;
	return query.count;
}

struct stat_query {
	uint32_t mrn;
	const char *name;
	uint64_t value;
	bool found;
};

static void read_counters(const struct nlattr *table, struct stat_query *query)
{
	const char *end = (const char *)table + table->nla_len;
	const struct nlattr *entry, *name;

	for (entry = ATTR_DATA(table); (const char *)entry < end;
	     entry = ATTR_NEXT(entry)) {
		int size = entry->nla_len - NLA_HDRLEN;

		name = find_attr(ATTR_DATA(entry), size,
				 RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME);
		if (!name || strcmp(ATTR_DATA(name), query->name))
			continue;
		query->value =
			attr_u64(ATTR_DATA(entry), size,
				 RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE);
		query->found = true;
	}
}

static void visit_stats(const struct nlattr *attrs, int length, void *arg)
{
	const struct nlattr *table, *entry, *counters;
	struct stat_query *query = arg;
	const char *end;

	table = find_attr(attrs, length, RDMA_NLDEV_ATTR_RES_MR);
	if (!table)
		return;
	end = (const char *)table + table->nla_len;
	for (entry = ATTR_DATA(table); (const char *)entry < end;
	     entry = ATTR_NEXT(entry)) {
		int size = entry->nla_len - NLA_HDRLEN;

		counters = find_attr(ATTR_DATA(entry), size,
				     RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
		if (counters && attr_u64(ATTR_DATA(entry), size,
					 RDMA_NLDEV_ATTR_RES_MRN) == query->mrn)
			read_counters(counters, query);
	}
}

bool resources_mr_counter(uint32_t rkey, const char *name, uint64_t *value)
{
	struct stat_query query = { .name = name };
	struct mr_info info;

	if (!resources_mr(rkey, &info))
		return false;
	query.mrn = info.mrn;
	ask_more(RDMA_NLDEV_CMD_STAT_GET, device_index(),
		 RDMA_NLDEV_ATTR_RES_MR, visit_stats, &query);
	*value = query.value;
	return query.found;
}

uint64_t region_counter(const struct region *region, const char *name)
{
	uint64_t value;

	if (!resources_mr_counter(region->rkey, name, &value))
		skip("no counter %s of regions", name);
	return value;
}
