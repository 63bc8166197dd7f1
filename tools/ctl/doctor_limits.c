// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * doctor: limits of registrations, and other things that a machine may lack.
 */
#define _GNU_SOURCE
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ctl.h"
#include "doctor.h"

#define CAP_IPC_LOCK 14

/* The number behind @name in a file of "NAME NUMBER" lines, or -1. */
static long long file_number(const char *path, const char *name, int base)
{
	FILE *file = fopen(path, "re");
	size_t length = strlen(name);
	long long value = -1;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length))
			value = strtoull(line + length, NULL, base);
	if (file)
		fclose(file);
	return value;
}

static bool may_lock_all(void)
{
	long long caps = file_number("/proc/self/status", "CapEff:", 16);

	return caps > 0 && caps >> CAP_IPC_LOCK & 1;
}

static void doctor_memlock(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (may_lock_all())
		found(FINE, "memlock",
		      print("no limit for who has CAP_IPC_LOCK"), NULL);
	else if (limit.rlim_cur == RLIM_INFINITY)
		found(FINE, "memlock", print("unlimited"), NULL);
	else
		found(HINT, "memlock",
		      print("registrations beyond %llu KiB in all fail with ENOMEM",
			    (unsigned long long)limit.rlim_cur >> 10),
		      print("the line `* - memlock unlimited' in /etc/security/limits.d/rdma.conf, and log in again; of a service: LimitMEMLOCK=infinity"));
}

static void doctor_hugepages(void)
{
	long long all = file_number("/proc/meminfo", "HugePages_Total:", 10);
	long long left = file_number("/proc/meminfo", "HugePages_Free:", 10);

	/* A kernel without them. */
	if (all < 0)
		return;
	if (all)
		found(FINE, "hugepages",
		      print("%lld, %lld of them free", all, left), NULL);
	else
		found(HINT, "hugepages",
		      print("none are reserved; memory of MAP_HUGETLB cannot be had"),
		      print("sysctl vm.nr_hugepages=64"));
}

/* Does a pinion device send packets? Then the port is its own. */
static bool port_is_ours(void)
{
	const char *value;
	glob_t wires = {};
	bool ours = false;
	size_t i;

	glob("/sys/class/infiniband/*/wire", 0, NULL, &wires);
	for (i = 0; i < wires.gl_pathc; i++) {
		value = file_line("%s", wires.gl_pathv[i]);
		ours |= value && *value != '0';
	}
	globfree(&wires);
	return ours;
}

/* Look for the UDP port of RoCE v2 in a table of sockets. */
static bool port_taken(const char *path)
{
	FILE *file = fopen(path, "re");
	bool taken = false;
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		taken |= strstr(line, ":12B7 ") != NULL;
	if (file)
		fclose(file);
	return taken;
}

static void doctor_port(void)
{
	if ((port_taken("/proc/net/udp") || port_taken("/proc/net/udp6")) &&
	    access("/sys/module/rdma_rxe", F_OK) && !port_is_ours())
		found(HINT, "udp",
		      print("somebody has opened UDP port 4791, which RoCE v2 of software devices needs"),
		      print("ss -lunp sport = 4791"));
}

static void netns_visit(const struct attrs *attrs, void *arg)
{
	const struct nlattr *mode = attrs->at[RDMA_NLDEV_SYS_ATTR_NETNS_MODE];

	if (mode)
		*(bool *)arg = !netlink_number(mode);
}

static void doctor_netns(void)
{
	const struct question question = { .command = RDMA_NLDEV_CMD_SYS_GET };
	bool exclusive = false;

	if (!netlink_ask(&question, netns_visit, &exclusive) && exclusive)
		found(HINT, "netns",
		      print("each device is seen in one network namespace only"),
		      print("rdma dev set NAME netns PID, or rdma system set netns shared"));
}

void doctor_limits(void)
{
	doctor_memlock();
	doctor_hugepages();
	doctor_port();
	doctor_netns();
}
