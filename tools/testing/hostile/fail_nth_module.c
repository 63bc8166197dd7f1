// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The module is loaded and unloaded with its first, second, ... allocation failing (items N35 and
 * N36): it loads, or there is an error and nothing is left of it. All devices go for that time, and
 * come back. Needs a kernel with fault injection.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "command.h"
#include "file.h"
#include "resources.h"
#include "sweep.h"
#include "undo.h"

#define MODULE_IS "/sys/module/pinion"

enum { DEVICES = 4 };

/* The devices that were there, and how the module was loaded. */
static struct {
	char name[64], netdev[IFNAMSIZ];
} devices[DEVICES];
static int device_count;
static char parameters[128];
static int module;

static bool is_loaded(void)
{
	return !access(MODULE_IS, F_OK);
}

static void first_line(char *text, size_t size, const char *format,
		       const char *of)
{
	char path[400];
	FILE *file;

	text[0] = 0;
	snprintf(path, sizeof(path), format, of);
	file = fopen(path, "r");
	if (!file)
		return;
	if (fgets(text, size, file))
		text[strcspn(text, "\n")] = 0;
	fclose(file);
}

static bool is_ours(const char *name)
{
	char version[64];

	first_line(version, sizeof(version), "/sys/class/infiniband/%s/fw_ver",
		   name);
	return !strncmp(version, "pinion", 6);
}

static bool has_folder(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", name);
	return !access(path, F_OK);
}

static void remember(void)
{
	DIR *folder = MUST(opendir("/sys/class/infiniband"));
	const struct dirent *entry;
	char wire[16];

	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.' || !is_ours(entry->d_name))
			continue;
		CHECK(device_count < DEVICES);
		snprintf(devices[device_count].name, sizeof(devices[0].name),
			 "%.63s", entry->d_name);
		first_line(devices[device_count].netdev, IFNAMSIZ,
			   "/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/0",
			   entry->d_name);
		CHECK(devices[device_count].netdev[0]);
		device_count++;
	}
	closedir(folder);
	first_line(wire, sizeof(wire), MODULE_IS "/parameters/%s", "wire");
	snprintf(parameters, sizeof(parameters), "wire=%s", wire);
}

static int load(void)
{
	return syscall(SYS_finit_module, module, parameters, 0) ? errno : 0;
}

static int unload(void)
{
	return syscall(SYS_delete_module, "pinion", O_NONBLOCK) ? errno : 0;
}

static void add_devices(void)
{
	int i;

	for (i = 0; i < device_count; i++)
		must_run("rdma link add %s type pinion netdev %s",
			 devices[i].name, devices[i].netdev);
}

static void put_back(void)
{
	int i;

	if (!is_loaded() && load())
		return;
	for (i = 0; i < device_count; i++) {
		char command[1000];

		snprintf(
			command, sizeof(command),
			"[ -e /sys/class/infiniband/%s ] || rdma link add %s type pinion netdev %s",
			devices[i].name, devices[i].name, devices[i].netdev);
		if (system(command))
			continue;
	}
}

/* The module is used by nobody for a moment after its last device has gone. */
static void must_unload(void)
{
	double limit = now() + patience(60);
	int err;

	while ((err = unload())) {
		if (now() > limit)
			FAIL("the module is not unloaded: errno %d", err);
		usleep(10000);
	}
}

static void begin(void)
{
	const char *path = getenv("MODULE");
	int i;

	need_root();
	fault_prepare();
	if (!dev.pinion)
		skip("another module");
	if (system("command -v rdma >/dev/null"))
		skip("no rdma here");
	if (!path || (module = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		skip("no file of the module: MODULE");
	remember();
	CHECK_EQ(ibv_dealloc_pd(dev.pd), 0);
	CHECK_EQ(ibv_close_device(dev.ctx), 0);
	undo_at_end(put_back);
	for (i = 0; i < device_count; i++)
		must_run("rdma link del %s", devices[i].name);
	must_unload();
}

/* Messages go as before. */
static void end(void)
{
	struct region a, b;
	struct link link;

	if (!is_loaded())
		CHECK_EQ(load(), 0);
	add_devices();
	device_open();
	link_make(&link, NULL);
	a = region_new(20000, 1, ALL_ACCESS);
	b = region_new(20000, 7, ALL_ACCESS);
	exchange(&link, &a, &b);
}

/* ------------------------------------------------------------- what may be left behind */

/* Whoever listens to events of the network is called. */
static void cause_event(void)
{
	static int mtu = 60000;
	struct ifreq request = { .ifr_name = "lo" };
	int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	CHECK(file >= 0);
	CHECK_EQ(ioctl(file, SIOCGIFMTU, &request), 0);
	mtu = request.ifr_mtu;
	request.ifr_mtu = mtu - 1;
	CHECK_EQ(ioctl(file, SIOCSIFMTU, &request), 0);
	request.ifr_mtu = mtu;
	CHECK_EQ(ioctl(file, SIOCSIFMTU, &request), 0);
	close(file);
}

/* Is all of the module gone? The kernel itself reports its memory and work queues, on the console. */
static bool is_gone(char *text, size_t size)
{
	snprintf(text, size, "module %d, debugfs %d, %d platform devices",
		 is_loaded(), !access("/sys/kernel/debug/pinion", F_OK),
		 device_parents());
	if (is_loaded() || !access("/sys/kernel/debug/pinion", F_OK) ||
	    device_parents())
		return false;
	cause_event();
	return true;
}

/*
 * Each allocation of the module's init but for those of its many files in debugfs, and some of all of
 * loading it.
 */
static void n35_load(void)
{
	static const char *const debugfs[] = { "debugfs_create_dir",
					       "__debugfs_create_file",
					       "debugfs_start_creating" };
	static const char *const events = "trace_module_notify";
	struct op op = { "the module's init", load,
			 must_unload,	      .at_least = 20,
			 .clean = is_gone,    .no_device = true,
			 .lasting = 5 };

	begin();
	fault_only_in_function("do_one_initcall");
	fault_not_in(debugfs, ARRAY_SIZE(debugfs));
	sweep(&op);
	fault_anywhere();
	/* The kernel warns if it has no memory for the events of a module. */
	fault_not_in(&events, 1);
	op.name = "load";
	op.at_least = 500;
	op.lasting = !in_short();
	sweep_some(&op, in_short() ? 150 : 40);
	end();
}

/* Unloading it has succeeded: all of it has gone, its devices, too. */
static void load_again(void)
{
	char text[256];
	int i;

	if (!is_gone(text, sizeof(text)))
		FAIL("it was unloaded: %s", text);
	for (i = 0; i < device_count; i++)
		CHECK(!has_folder(devices[i].name));
	CHECK_EQ(load(), 0);
}

static bool is_there(char *text, size_t size)
{
	snprintf(text, size, "the module is not there");
	return is_loaded();
}

/* Those who look at a device hold the module for a moment. */
static void await_unused(void)
{
	double limit = now() + patience(60);

	while (file_number("", MODULE_IS "/refcnt")) {
		if (now() > limit)
			FAIL("the module is in use");
		usleep(10000);
	}
}

static void add_device(void)
{
	must_run("rdma link add %s type pinion netdev %s", devices[0].name,
		 devices[0].netdev);
	await_unused();
}

static void load_with_device(void)
{
	load_again();
	add_device();
}

/* The device is there, too, and can be used. */
static bool has_device(char *text, size_t size)
{
	if (!is_there(text, size))
		return false;
	snprintf(text, size, "the device is not there");
	if (!has_folder(devices[0].name))
		return false;
	opt.device = devices[0].name;
	device_open();
	region_new(9000, 5, ALL_ACCESS);
	CHECK_EQ(ibv_close_device(dev.ctx), 0);
	await_unused();
	return true;
}

/* Each allocation of unloading it, and with a device: it goes, or all stays. */
static void n36_unload(void)
{
	struct op op = { "unload",	   unload,	     load_again,
			 .at_least = 1,	   .survives = true, .clean = is_there,
			 .no_device = true };

	begin();
	fault_not_in_checks();
	load_again();
	sweep(&op);
	add_device();
	op.name = "unload with a device";
	op.at_least = 10;
	op.undo = load_with_device;
	op.clean = has_device;
	sweep_some(&op, in_short() ? 4 : 1);
	must_unload();
	end();
}

static const struct test tests[] = {
	LONG_TEST(n35_load, "N35 loading the module", 300),
	LONG_TEST(n36_unload, "N36 unloading the module", 300),
};

HARNESS_MAIN("the module itself with failing allocations", tests)
