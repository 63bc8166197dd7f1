// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Makes and leaves a group of the unified hierarchy.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"
#include "device.h"
#include "file.h"

#define GROUP "pinion-test"

static char root[] = "/tmp/pinion-cgroup-XXXXXX";

static void forget(void)
{
	CHECK_EQ(umount2(root, MNT_DETACH), 0);
	CHECK_EQ(rmdir(root), 0);
}

int cgroup_remove(const char *path)
{
	double end = now() + patience(60);
	int err;

	while ((err = rmdir(path)) && errno == EBUSY && now() < end)
		usleep(10000);
	return err;
}

static void remove_group(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" GROUP, root);
	cgroup_remove(path);
}

void cgroup_enter(const char *controller)
{
	char path[128], text[64];
	int err;

	need_root();
	MUST(mkdtemp(root));
	if (mount("cgroup2", root, "cgroup2", 0, NULL)) {
		err = errno;
		rmdir(root);
		skip("no cgroup2: errno %d", err);
	}
	snprintf(text, sizeof(text), "+%s", controller);
	err = file_write(text, "%s/cgroup.subtree_control", root);
	if (err) {
		forget();
		skip("no controller %s: errno %d", controller, err);
	}
	/* A test that failed may have left its group. */
	remove_group();
	snprintf(path, sizeof(path), "%s/" GROUP, root);
	CHECK_EQ(mkdir(path, 0755), 0);
	cgroup_set("cgroup.procs", "0");
}

void cgroup_leave(void)
{
	CHECK_EQ(file_write("0", "%s/cgroup.procs", root), 0);
	remove_group();
	forget();
}

void cgroup_set(const char *file, const char *value)
{
	int err = file_write(value, "%s/" GROUP "/%s", root, file);

	if (err)
		FAIL("%s: errno %d", file, err);
}

long long cgroup_get(const char *file, const char *name)
{
	char path[128], line[256];
	long long value = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/" GROUP "/%s", root, file);
	f = MUST(fopen(path, "r"));
	while (fgets(line, sizeof(line), f)) {
		char *at = strstr(line, name);

		if (at) {
			value = atoll(at + strlen(name) + 1);
			break;
		}
	}
	fclose(f);
	return value;
}
