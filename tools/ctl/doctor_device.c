// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * doctor: can programs use a device? They need an active port, an address, a device file that they
 * may open, and a provider in libibverbs.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "ctl.h"
#include "doctor.h"

#define VERBS "/sys/class/infiniband_verbs"

/* The caller frees the result. */
static char *port_netdev(const char *name, unsigned int port)
{
	const char *line;

	line = file_line("/sys/class/infiniband/%s/ports/%u/gid_attrs/ndevs/0",
			 name, port);
	return need(strdup(line && *line ? line : "its netdev"));
}

static void doctor_port(const char *name, unsigned int port)
{
	char *state, *netdev = port_netdev(name, port);
	const char *line;

	line = file_line("/sys/class/infiniband/%s/ports/%u/state", name, port);
	state = need(strdup(line ? line : ""));
	if (strstr(state, "ACTIVE"))
		found(FINE, "port", print("%s port %u is active", name, port),
		      NULL);
	else
		found(WRONG, "port",
		      print("%s port %u is not active (%s)", name, port, state),
		      print("ip link set %s up, and see that it has a carrier",
			    netdev));
	free(state);
	free(netdev);
}

/* Counts GIDs of RoCE v2, and those of them that are of an IP address. */
static void doctor_gids(const char *name, unsigned int port)
{
	const char none[] = "0000:0000:0000:0000:0000:0000:0000:0000";
	int i, num = 0, of_ip = 0;
	const char *line;
	char *netdev;
	bool is;

	line = file_line("/sys/class/infiniband/%s/ports/%u/link_layer", name,
			 port);
	if (!line || strcmp(line, "Ethernet"))
		return;
	for (i = 0;; i++) {
		line = file_line("/sys/class/infiniband/%s/ports/%u/gids/%d",
				 name, port, i);
		if (!line)
			break;
		if (!strcmp(line, none))
			continue;
		is = strncmp(line, "fe80:", 5);
		line = file_line(
			"/sys/class/infiniband/%s/ports/%u/gid_attrs/types/%d",
			name, port, i);
		if (!line || strcmp(line, "RoCE v2"))
			continue;
		num++;
		of_ip += is;
	}
	netdev = port_netdev(name, port);
	if (of_ip)
		found(FINE, "gid",
		      print("%s port %u has %d of RoCE v2, %d of IP addresses",
			    name, port, num, of_ip),
		      NULL);
	else
		found(num ? HINT : WRONG, "gid",
		      print("%s port %u has no GID of an IP address, by which rdma_cm finds it",
			    name, port),
		      print("ip addr add 10.0.0.1/24 dev %s", netdev));
	free(netdev);
}

/* uverbsN, or NULL. */
static char *device_file(const char *name)
{
	DIR *dir = opendir(VERBS);
	struct dirent *entry;
	char *file = NULL;
	const char *line;

	while (dir && !file && (entry = readdir(dir))) {
		line = file_line(VERBS "/%s/ibdev", entry->d_name);
		if (line && !strcmp(line, name))
			file = print("/dev/infiniband/%s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return file;
}

/* Root gets EPERM only: of a cgroup, for devices that a container or a service was not given. */
static void doctor_file_refused(const char *name, const char *file, int err)
{
	if (err == EPERM)
		found(WRONG, "file",
		      print("%s of %s is there, but not for this container or service: its cgroup's device rules forbid it",
			    file, name),
		      print("docker run --device=/dev/infiniband, not as a volume; of a service: DeviceAllow=char-infiniband_verbs"));
	else if (err == EACCES)
		found(WRONG, "file",
		      print("%s of %s may not be opened by you", file, name),
		      print("chmod 666 %s, as rdma-core's udev rules do",
			    file));
	else
		found(WRONG, "file",
		      print("%s of %s cannot be opened: %s", file, name,
			    strerror(err)),
		      NULL);
}

/* Return: may we open it? */
static bool doctor_file(const char *name)
{
	char *file = device_file(name);
	int fd = -1;

	if (!file)
		found(WRONG, "file",
		      print("%s has none that programs open", name),
		      print("modprobe ib_uverbs"));
	else if (access(file, F_OK))
		found(WRONG, "file", print("%s of %s is not there", file, name),
		      print("start udev; of a container: --device=/dev/infiniband"));
	else if ((fd = open(file, O_RDWR | O_CLOEXEC)) < 0)
		doctor_file_refused(name, file, errno);
	free(file);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* "65" of the symbol version IBVERBS_PRIVATE_65, as all parts of a libibverbs have it; or "". */
static const char *private_version(const char *path)
{
	static const char mark[] = "IBVERBS_PRIVATE_";
	static char version[16];
	FILE *file = fopen(path, "re");
	char *bytes, *at;
	size_t length;

	version[0] = 0;
	if (!file)
		return version;
	bytes = need(malloc(1 << 22));
	length = fread(bytes, 1, 1 << 22, file);
	fclose(file);
	at = memmem(bytes, length, mark, sizeof(mark) - 1);
	if (at && at + sizeof(mark) + 8 < bytes + length)
		snprintf(version, sizeof(version), "%.*s",
			 (int)strspn(at + sizeof(mark) - 1, "0123456789"),
			 at + sizeof(mark) - 1);
	free(bytes);
	return version;
}

/* The path of the libibverbs that this program is linked with. */
static char *libibverbs(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char *line = NULL, *path = NULL;
	size_t size = 0;

	while (maps && !path && getline(&line, &size, maps) > 0)
		if (strstr(line, "/libibverbs.so"))
			path = print("%.*s",
				     (int)strcspn(strchr(line, '/'), "\n"),
				     strchr(line, '/'));
	free(line);
	if (maps)
		fclose(maps);
	return path;
}

/* Why libibverbs does not know the device: no provider, or one of another version. */
static void doctor_provider_missing(const char *name)
{
	char *library = libibverbs();
	const char *version = private_version(library ? library : "");
	glob_t providers = {};
	char *pattern;

	pattern = print("%.*s/libibverbs/libpinion-rdmav*.so",
			library ? (int)(strrchr(library, '/') - library) : 0,
			library ? library : "");
	if (access("/etc/libibverbs.d/pinion.driver", F_OK))
		found(WRONG, "provider",
		      print("libibverbs knows no %s: there is no /etc/libibverbs.d/pinion.driver",
			    name),
		      print("the package pinion-verbs-provider, or `make lib && make install-provider'; of another driver: ibverbs-providers"));
	else if (glob(pattern, 0, NULL, &providers))
		found(WRONG, "provider",
		      print("libibverbs knows no %s: there is no %s", name,
			    pattern),
		      print("`make lib && make install-provider' for this rdma-core"));
	else
		found(WRONG, "provider",
		      print("libibverbs (version %s) knows no %s: %s is of another rdma-core, whose number is in its name",
			    version, name, providers.gl_pathv[0]),
		      print("`make lib && make install-provider' again, after each update of rdma-core"));
	globfree(&providers);
	free(pattern);
	free(library);
}

static void doctor_provider(const char *name)
{
	struct ibv_device **all = ibv_get_device_list(NULL), **device;
	struct ibv_context *context;

	for (device = all; device && *device; device++)
		if (!strcmp(ibv_get_device_name(*device), name))
			break;
	if (!device || !*device) {
		doctor_provider_missing(name);
	} else {
		context = ibv_open_device(*device);
		if (context) {
			found(FINE, "provider",
			      print("libibverbs opens %s", name), NULL);
			ibv_close_device(context);
		} else {
			found(WRONG, "provider",
			      print("libibverbs does not open %s: %s", name,
				    strerror(errno)),
			      errno == EAGAIN ?
				      print("a limit of the cgroup (rdma.max), or the device is broken: see the kernel's messages") :
				      print("VERBS_LOG_LEVEL=4 VERBS_LOG_FILE=/dev/stderr ibv_devinfo -d %s",
					    name));
		}
	}
	if (all)
		ibv_free_device_list(all);
}

void doctor_device(const struct device *device)
{
	uint32_t port;

	for (port = 1; port <= device->ports; port++) {
		doctor_port(device->name, port);
		doctor_gids(device->name, port);
	}
	if (doctor_file(device->name))
		doctor_provider(device->name);
}
