// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Asks the kernel, by RDMA netlink and files, what objects there are. Changes nothing.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "device.h"
#include "netlink.h"
#include "resources.h"

/* Dump @command, for the device @index if that is not negative, of one @kind or 0. */
static bool ask(int command, int index, uint32_t kind, mnl_cb_t visit,
		void *arg)
{
	struct nlmsghdr *request = netlink_request(command, NLM_F_DUMP);

	if (index >= 0)
		mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	if (kind)
		mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_STAT_RES, kind);
	return !netlink_call(request, visit, arg);
}

static bool is_of_device(const struct nlmsghdr *message)
{
	const struct nlattr *name =
		netlink_attr(message, RDMA_NLDEV_ATTR_DEV_NAME);

	return name && !strcmp(mnl_attr_get_str(name), device_name());
}

static int visit_device(const struct nlmsghdr *message, void *arg)
{
	if (is_of_device(message))
		*(int *)arg = netlink_number(
			netlink_attr(message, RDMA_NLDEV_ATTR_DEV_INDEX));
	return MNL_CB_OK;
}

static int device_index(void)
{
	int index = -1;

	ask(RDMA_NLDEV_CMD_GET, -1, 0, visit_device, &index);
	return index;
}

/* Returns false if there is no room for another kind. */
static bool add_kind(struct resources *res, const char *name, uint64_t count)
{
	if (res->kinds == RESOURCE_KINDS)
		return false;
	snprintf(res->kind[res->kinds].name, sizeof(res->kind[0].name), "%s",
		 name);
	res->kind[res->kinds++].count = count;
	return true;
}

static int visit_summary(const struct nlmsghdr *message, void *arg)
{
	const struct nlattr *table, *entry, *name;
	struct resources *res = arg;
	uint64_t count;

	table = netlink_attr(message, RDMA_NLDEV_ATTR_RES_SUMMARY);
	if (!table || !is_of_device(message))
		return MNL_CB_OK;
	mnl_attr_for_each_nested(entry, table)
	{
		name = netlink_nested(entry,
				      RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME);
		count = netlink_number(netlink_nested(
			entry, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR));
		/* Without room for all of them it is not known what there is. */
		if (name && !add_kind(res, mnl_attr_get_str(name), count))
			return MNL_CB_OK;
	}
	res->known = true;
	return MNL_CB_OK;
}

static FILE *open_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/pinion/%s/%s",
		 device_name(), name);
	return fopen(path, "r");
}

/*
 * rdma resource does not list windows and dead keys; the debugfs of the driver does. Returns false
 * if the list could not be read.
 */
static bool read_keys(struct resources *res)
{
	FILE *file = open_file("keys");
	uint64_t count = 0;
	char line[512];
	bool whole;

	if (!file)
		return !debugfs_is_due();
	while (fgets(line, sizeof(line), file))
		count += line[0] == '0';
	whole = !ferror(file);
	fclose(file);
	return whole && add_kind(res, "keys", count);
}

/*
 * Nor objects that the core does not list, as address handles, umems and doorbell pages: each is
 * there as "driver NAME". "dm" counts bytes. Returns false if they could not be read.
 */
static bool read_objects(struct resources *res)
{
	FILE *file = open_file("objects");
	char word[8], name[16];
	bool whole = true;
	long long count;

	if (!file)
		return !debugfs_is_due();
	while (whole && fscanf(file, "%7s %lld", word, &count) == 2) {
		snprintf(name, sizeof(name), "driver %s", word);
		whole = add_kind(res, name, count);
	}
	whole = whole && feof(file);
	fclose(file);
	return whole;
}

/*
 * Of the whole machine: those that nobody has closed or unmapped. Returns false if their number could
 * not be read.
 */
static bool read_dmabufs(struct resources *res)
{
	FILE *file = fopen("/sys/kernel/debug/dma_buf/bufinfo", "r");
	unsigned long long count;
	char line[512];
	bool told = false, whole;

	if (!file)
		return !debugfs_is_due();
	while (fgets(line, sizeof(line), file)) {
		/* Another line of each is the total of its devices. */
		told |= strstr(line, " objects, ") &&
			sscanf(line, "Total %llu", &count) == 1;
	}
	whole = told && !ferror(file);
	fclose(file);
	return whole && add_kind(res, "dma-bufs", count);
}

void resources_read(struct resources *res)
{
	int tries;

	for (tries = 0; tries < 10; tries++) {
		memset(res, 0, sizeof(*res));
		if (ask(RDMA_NLDEV_CMD_RES_GET, -1, 0, visit_summary, res) &&
		    res->known && read_keys(res) && read_objects(res) &&
		    read_dmabufs(res))
			break;
		res->known = false;
		usleep(10000);
	}
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
	/* First the kinds of a, then those that only b has. */
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

/* The table of a dump's message has an entry for each object. Those of the kernel have no process. */
static int count_described(const struct nlmsghdr *message, void *arg)
{
	static const int tables[] = { RDMA_NLDEV_ATTR_RES_QP,
				      RDMA_NLDEV_ATTR_RES_CQ,
				      RDMA_NLDEV_ATTR_RES_SRQ };
	const struct nlattr *table, *entry;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		table = netlink_attr(message, tables[i]);
		if (!table)
			continue;
		mnl_attr_for_each_nested(entry, table)
		{
			if (netlink_nested(entry, RDMA_NLDEV_ATTR_RES_PID))
				++*(int *)arg;
		}
	}
	return MNL_CB_OK;
}

int resources_describe(void)
{
	static const int commands[] = { RDMA_NLDEV_CMD_RES_QP_GET,
					RDMA_NLDEV_CMD_RES_CQ_GET,
					RDMA_NLDEV_CMD_RES_SRQ_GET };
	int index = device_index(), objects = 0;
	size_t i;

	if (index < 0)
		return -1;
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!ask(commands[i], index, 0, count_described, &objects))
			return -1;
	return objects;
}

/* ---------------------------------------------------------------- regions */

struct region_query {
	void (*visit)(const struct nlattr *region, void *arg);
	void *arg;
};

static int visit_regions(const struct nlmsghdr *message, void *arg)
{
	const struct nlattr *region, *table;
	struct region_query *query = arg;

	table = netlink_attr(message, RDMA_NLDEV_ATTR_RES_MR);
	if (!table)
		return MNL_CB_OK;
	mnl_attr_for_each_nested(region, table)
		query->visit(region, query->arg);
	return MNL_CB_OK;
}

/* Call @visit for each region of the device. @command dumps them, or of one @kind of objects. */
static bool each_region(int command, uint32_t kind,
			void (*visit)(const struct nlattr *region, void *arg),
			void *arg)
{
	struct region_query query = { visit, arg };
	int index = device_index();

	return index >= 0 && ask(command, index, kind, visit_regions, &query);
}

static uint64_t number_in(const struct nlattr *region, int type)
{
	return netlink_number(netlink_nested(region, type));
}

struct mr_list {
	struct mr_info *infos;
	int max, count;
};

static void list_region(const struct nlattr *region, void *arg)
{
	struct mr_list *list = arg;

	if (list->count == list->max)
		return;
	list->infos[list->count++] = (struct mr_info){
		.found = true,
		.rkey = number_in(region, RDMA_NLDEV_ATTR_RES_RKEY),
		.lkey = number_in(region, RDMA_NLDEV_ATTR_RES_LKEY),
		.mrn = number_in(region, RDMA_NLDEV_ATTR_RES_MRN),
		.pdn = number_in(region, RDMA_NLDEV_ATTR_RES_PDN),
		.length = number_in(region, RDMA_NLDEV_ATTR_RES_MRLEN),
	};
}

int resources_mrs(struct mr_info *infos, int max)
{
	struct mr_list list = { .infos = infos, .max = max };

	return each_region(RDMA_NLDEV_CMD_RES_MR_GET, 0, list_region, &list) ?
		       list.count :
		       -1;
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

/* The attributes come in turn: a name, perhaps how to print it, the value. */
static void read_rows(const struct nlattr *region, void *arg)
{
	const struct nlattr *attr, *table;
	struct row_query *query = arg;
	struct mr_row *row = NULL;

	table = netlink_nested(region, RDMA_NLDEV_ATTR_DRIVER);
	if (!table ||
	    number_in(region, RDMA_NLDEV_ATTR_RES_MRLEN) != query->length)
		return;
	mnl_attr_for_each_nested(attr, table)
	{
		int type = mnl_attr_get_type(attr);

		if (type == RDMA_NLDEV_ATTR_DRIVER_STRING) {
			row = query->count < query->max ?
				      &query->rows[query->count++] :
				      NULL;
			if (row)
				snprintf(row->name, sizeof(row->name), "%s",
					 mnl_attr_get_str(attr));
		} else if (row && type >= RDMA_NLDEV_ATTR_DRIVER_S32 &&
			   type <= RDMA_NLDEV_ATTR_DRIVER_U64) {
			row->value = netlink_number(attr);
		}
	}
}

int resources_mr_rows(uint64_t length, struct mr_row *rows, int max)
{
	struct row_query query = { .length = length, .rows = rows, .max = max };

	return each_region(RDMA_NLDEV_CMD_RES_MR_GET, 0, read_rows, &query) ?
		       query.count :
		       -1;
}

struct stat_query {
	uint32_t mrn;
	const char *name;
	uint64_t value;
	bool found;
};

static void read_counters(const struct nlattr *region, void *arg)
{
	const struct nlattr *counter, *table, *name;
	struct stat_query *query = arg;

	table = netlink_nested(region, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	if (!table || number_in(region, RDMA_NLDEV_ATTR_RES_MRN) != query->mrn)
		return;
	mnl_attr_for_each_nested(counter, table)
	{
		name = netlink_nested(
			counter, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME);
		if (!name || strcmp(mnl_attr_get_str(name), query->name))
			continue;
		query->value = number_in(
			counter, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE);
		query->found = true;
	}
}

bool resources_mrn_counter(uint32_t mrn, const char *name, uint64_t *value)
{
	struct stat_query query = { .mrn = mrn, .name = name };

	each_region(RDMA_NLDEV_CMD_STAT_GET, RDMA_NLDEV_ATTR_RES_MR,
		    read_counters, &query);
	*value = query.value;
	return query.found;
}

bool resources_mr_counter(uint32_t rkey, const char *name, uint64_t *value)
{
	struct mr_info info;

	return resources_mr(rkey, &info) &&
	       resources_mrn_counter(info.mrn, name, value);
}

uint64_t key_counter(uint32_t rkey, const char *name)
{
	uint64_t value;

	if (!resources_mr_counter(rkey, name, &value))
		lacks("no counter %s of regions", name);
	return value;
}

uint64_t region_counter(const struct region *region, const char *name)
{
	return key_counter(region->rkey, name);
}

int device_parents(void)
{
	DIR *folder = MUST(opendir("/sys/bus/platform/devices"));
	const struct dirent *entry;
	int count = 0;

	while ((entry = readdir(folder)))
		count += !strncmp(entry->d_name, "pinion", 6);
	closedir(folder);
	return count;
}
