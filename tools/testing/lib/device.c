// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Finds and opens the device under test.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"

struct device dev;

static char name[64];

static struct ibv_device *find(void)
{
	struct ibv_device **list, *found = NULL;
	int i;

	list = ibv_get_device_list(NULL);
	for (i = 0; list && list[i] && !found; i++) {
		if (!opt.device ||
		    !strcmp(opt.device, ibv_get_device_name(list[i])))
			found = list[i];
	}
	/* The list stays: a device of a freed one may not be opened. */
	return found;
}

const char *device_missing(void)
{
	struct ibv_device *device = find();
	struct ibv_context *ctx;

	if (!device)
		return opt.device ? "no such verbs device; see ibv_devices" :
				    "no verbs device; see pinion-box(1)";
	snprintf(name, sizeof(name), "%s", ibv_get_device_name(device));
	ctx = ibv_open_device(device);
	if (!ctx)
		return "the device cannot be opened";
	ibv_close_device(ctx);
	return NULL;
}

static bool is_v4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

static int choose_gid(void)
{
	struct ibv_gid_entry entry;
	int i;

	for (i = 0; i < dev.port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(dev.ctx, 1, i, &entry, 0))
			continue;
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && is_v4(&entry.gid))
			return i;
	}
	return 0;
}

static bool is_pinion(struct ibv_device *device)
{
	char path[128], version[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/fw_ver",
		 ibv_get_device_name(device));
	/* Each device has one: else ours would be a stranger, and half of the tests skip. */
	file = MUST(fopen(path, "r"));
	MUST(fgets(version, sizeof(version), file));
	fclose(file);
	return !strncmp(version, "pinion", 6);
}

static bool sends_packets(void)
{
	FILE *file = fopen("/sys/module/pinion/parameters/wire", "r");
	bool all;

	if (!file)
		return false;
	all = fgetc(file) == '2';
	fclose(file);
	return all;
}

void device_open(void)
{
	struct ibv_device *device = MUST(find());

	dev.ctx = MUST(ibv_open_device(device));
	dev.pd = MUST(ibv_alloc_pd(dev.ctx));
	CHECK_EQ(ibv_query_device_ex(dev.ctx, NULL, &dev.attr), 0);
	CHECK_EQ(ibv_query_port(dev.ctx, 1, &dev.port), 0);
	dev.gid_index = opt.gid_index >= 0 ? opt.gid_index : choose_gid();
	CHECK_EQ(ibv_query_gid(dev.ctx, 1, dev.gid_index, &dev.gid), 0);
	dev.pinion = is_pinion(device);
	dev.packets = dev.pinion && sends_packets();
}

struct ibv_context *device_another(void)
{
	return MUST(ibv_open_device(MUST(find())));
}

struct ibv_context *device_beside(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++) {
		struct ibv_device_attr attr;
		struct ibv_context *ctx;

		if (!strcmp(name, ibv_get_device_name(list[i])))
			continue;
		ctx = MUST(ibv_open_device(list[i]));
		CHECK_EQ(ibv_query_device(ctx, &attr), 0);
		if (attr.vendor_id == dev.attr.orig_attr.vendor_id)
			return ctx;
		CHECK_EQ(ibv_close_device(ctx), 0);
	}
	return NULL;
}

const char *device_name(void)
{
	return name;
}

long long device_counter(const char *counter)
{
	long long value = -1;
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/hw_counters/%s", name,
		 counter);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fscanf(file, "%lld", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

void counter_await_at(const char *file, int line, const char *counter,
		      long long want)
{
	double end = now() + patience(60);
	long long value;

	do {
		usleep(100000);
		value = device_counter(counter);
	} while (value < want && now() < end);
	if (value != want)
		failed(file, line, "%s is %lld, not %lld", counter, value,
		       want);
}

void need_root(void)
{
	if (geteuid())
		skip("only root can");
}

void need_odp(void)
{
	if (dev.attr.odp_caps.general_caps & IBV_ODP_SUPPORT)
		return;
	if (dev.pinion)
		FAIL("the device has no on-demand paging any more");
	skip("issue: on-demand paging");
}

uint64_t port_counter(const char *name)
{
	unsigned long long value;
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/counters/%s", device_name(),
		 name);
	file = fopen(path, "r");
	if (!file)
		FAIL("no %s", path);
	CHECK_EQ(fscanf(file, "%llu", &value), 1);
	fclose(file);
	return value;
}
