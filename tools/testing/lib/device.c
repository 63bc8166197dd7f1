// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Finds and opens the device under test.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "file.h"

struct device dev, far_dev;

static char name[64];

static struct ibv_device *find_named(const char *wanted)
{
	struct ibv_device **list, *found = NULL;
	int i;

	list = ibv_get_device_list(NULL);
	for (i = 0; list && list[i] && !found; i++) {
		if (!wanted || !strcmp(wanted, ibv_get_device_name(list[i])))
			found = list[i];
	}
	/* Do not free the list: its devices could not be opened any more. */
	return found;
}

static struct ibv_device *find(void)
{
	return find_named(opt.device);
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

static int choose_gid(const struct device *device)
{
	struct ibv_gid_entry entry;
	int i;

	for (i = 0; i < device->port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(device->ctx, 1, i, &entry, 0))
			continue;
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && is_v4(&entry.gid))
			return i;
	}
	return 0;
}

struct ibv_gid_entry device_address(const struct device *device, bool v6)
{
	struct ibv_gid_entry entry;
	int i;

	for (i = 0; i < device->port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(device->ctx, 1, i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		if (v6 ? entry.gid.raw[0] == 0xfd : is_v4(&entry.gid))
			return entry;
	}
	FAIL("no address of that kind");
}

struct ibv_gid_entry device_use_address(struct device *device, bool v6)
{
	struct ibv_gid_entry entry = device_address(device, v6);

	device->gid = entry.gid;
	device->gid_index = entry.gid_index;
	return entry;
}

/* The firmware version of a device, which has the name of its driver; false if that cannot be read. */
static bool read_version(const char *device, char *version, size_t size)
{
	char path[128];
	FILE *file;
	bool got;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/fw_ver", device);
	file = fopen(path, "r");
	if (!file)
		return false;
	got = fgets(version, size, file);
	fclose(file);
	return got;
}

static bool is_pinion(struct ibv_device *device)
{
	char version[64];

	/* Must not fail: a pinion device taken for another one would skip half of the tests. */
	CHECK(read_version(ibv_get_device_name(device), version,
			   sizeof(version)));
	return !strncmp(version, "pinion", 6);
}

bool device_is_pinion(void)
{
	char version[64];

	return read_version(name, version, sizeof(version)) &&
	       !strncmp(version, "pinion", 6);
}

bool debugfs_is_due(void)
{
	return device_is_pinion() && !geteuid() && getenv("BED");
}

/* To which peers does the device send packets? As the module parameter `wire'. */
static int wire_of(struct ibv_device *device)
{
	long long wire = file_number("", "/sys/class/infiniband/%s/wire",
				     ibv_get_device_name(device));

	CHECK(wire >= 0);
	return (int)wire;
}

static void open_as(struct device *d, struct ibv_device *device, int gid_index)
{
	d->ctx = MUST(ibv_open_device(device));
	d->pd = MUST(ibv_alloc_pd(d->ctx));
	CHECK_EQ(ibv_query_device_ex(d->ctx, NULL, &d->attr), 0);
	CHECK_EQ(ibv_query_port(d->ctx, 1, &d->port), 0);
	d->gid_index = gid_index >= 0 ? gid_index : choose_gid(d);
	CHECK_EQ(ibv_query_gid(d->ctx, 1, d->gid_index, &d->gid), 0);
	d->pinion = is_pinion(device);
	d->persistent = d->attr.device_cap_flags_ex & 1ULL << 39;
	d->wire = d->pinion ? wire_of(device) : 0;
	d->packets = d->wire == 2;
}

int device_await_gid(const struct device *device, const union ibv_gid *gid)
{
	double limit = now() + patience(20);
	struct ibv_gid_entry entry;
	int i = 0;

	while (ibv_query_gid_ex(device->ctx, 1, i, &entry, 0) ||
	       entry.gid_type != IBV_GID_TYPE_ROCE_V2 ||
	       memcmp(&entry.gid, gid, sizeof(*gid))) {
		if (++i < device->port.gid_tbl_len)
			continue;
		CHECK(now() < limit);
		usleep(10000);
		i = 0;
	}
	return i;
}

void device_use_gid(struct device *device, const char *text)
{
	CHECK_EQ(inet_pton(AF_INET6, text, device->gid.raw), 1);
	device->gid_index = device_await_gid(device, &device->gid);
}

void device_open(void)
{
	open_as(&dev, MUST(find()), opt.gid_index);
}

void device_open_named(struct device *device, const char *named,
		       const char *net, int gid_index)
{
	device->net = net;
	open_as(device, MUST(find_named(named)), gid_index);
}

void far_open(void)
{
	const char *named = getenv("FAR"), *gid = getenv("FAR_GID");

	if (!named)
		skip("no device at the other end of a cable: FAR is not set");
	device_open_named(&far_dev, named, getenv("FAR_NET"),
			  gid ? atoi(gid) : -1);
}

const struct device *device_across(void)
{
	if (!getenv("FAR"))
		return &dev;
	if (!far_dev.ctx)
		far_open();
	return &far_dev;
}

enum ibv_mtu common_mtu(void)
{
	const struct device *across = device_across();

	return dev.port.active_mtu < across->port.active_mtu ?
		       dev.port.active_mtu :
		       across->port.active_mtu;
}

static void enter_net(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(setns(fd, CLONE_NEWNET), 0);
	close(fd);
}

/* The namespace to return to; open from device_enter() to device_leave(). */
static int our_net = -1;

void device_enter(const struct device *device)
{
	char path[128];

	if (!device->net)
		return;
	our_net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	CHECK(our_net >= 0);
	snprintf(path, sizeof(path), "/run/netns/%s", device->net);
	enter_net(path);
}

void device_leave(const struct device *device)
{
	if (!device->net)
		return;
	CHECK_EQ(setns(our_net, CLONE_NEWNET), 0);
	close(our_net);
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

static long long counter_of(const char *device, const char *counter)
{
	return file_number("",
			   "/sys/class/infiniband/%s/ports/1/hw_counters/%s",
			   device, counter);
}

long long device_counter(const char *counter)
{
	return counter_of(name, counter);
}

long long device_counter_of(const struct device *device, const char *counter)
{
	return counter_of(ibv_get_device_name(device->ctx->device), counter);
}

long long device_counter_now(const char *counter)
{
	usleep(100000);
	return device_counter(counter);
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

void counter_await_least(const char *counter, long long least)
{
	double end = now() + patience(60);

	while (device_counter(counter) < least) {
		if (now() > end)
			FAIL("%s is not %lld", counter, least);
		usleep(1000);
	}
}

void lacks_at(const char *file, int line, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (dev.pinion)
		failed(file, line, "a pinion device has it no more: %s", text);
	skip("%s", text);
}

void need_root(void)
{
	if (geteuid())
		skip("only root can");
}

void need_odp(void)
{
	if (!(dev.attr.odp_caps.general_caps & IBV_ODP_SUPPORT))
		lacks("issue: on-demand paging");
}

void need_implicit(void)
{
	if (!(dev.attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT))
		lacks("issue: implicit on-demand paging");
}

uint64_t port_counter(const char *counter)
{
	long long value =
		file_number("", "/sys/class/infiniband/%s/ports/1/counters/%s",
			    name, counter);

	if (value < 0)
		FAIL("no counter %s", counter);
	return value;
}

struct port_traffic port_traffic(void)
{
	return (struct port_traffic){
		.xmit_data = port_counter("port_xmit_data"),
		.rcv_data = port_counter("port_rcv_data"),
		.xmit_packets = port_counter("port_xmit_packets"),
		.rcv_packets = port_counter("port_rcv_packets"),
	};
}
