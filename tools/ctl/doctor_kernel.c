// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * doctor: is the module installed, can it be loaded, and has it refused to work here?
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ctl.h"
#include "doctor.h"

static bool exists(const char *folder, const char *name)
{
	char *path = print("%s%s", folder, name);
	bool is = !access(path, F_OK);

	free(path);
	return is;
}

static bool file_has(char *path, const char *text)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	bool has = false;

	free(path);
	if (!file)
		return false;
	while (!has && getline(&line, &size, file) > 0)
		has = strstr(line, text);
	free(line);
	fclose(file);
	return has;
}

/* The module's message in the kernel log when it refused to load, or NULL. May need root. */
static char *module_complaint(void)
{
	enum { READ_ALL = 3, SIZE = 10 };
	int length = klogctl(SIZE, NULL, 0);
	char *log, *at, *complaint = NULL;

	if (length <= 0)
		return NULL;
	log = need(malloc(length + 1));
	length = klogctl(READ_ALL, log, length);
	log[length < 0 ? 0 : length] = 0;
	/* The last of them. */
	for (at = log; (at = strstr(at, "pinion: ")); at++) {
		if (strncmp(at + 8, "DMA addresses", 13) &&
		    strncmp(at + 8, "no 64-bit DMA", 13))
			continue;
		free(complaint);
		complaint = print("%.*s", (int)strcspn(at + 8, "\n"), at + 8);
	}
	free(log);
	return complaint;
}

/* The EFI variable: four bytes of attributes, then one byte with the value. */
static bool secure_boot(void)
{
	unsigned char value[5] = {};
	int fd = open("/sys/firmware/efi/efivars/"
		      "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
		      O_RDONLY | O_CLOEXEC);
	bool on = fd >= 0 && read(fd, value, 5) == 5 && value[4] == 1;
	const char *enforced =
		file_line("/sys/module/module/parameters/sig_enforce");

	if (fd >= 0)
		close(fd);
	return on || (enforced && *enforced == 'Y');
}

static void doctor_signature(void)
{
	if (secure_boot())
		found(HINT, "secure boot",
		      print("the kernel loads signed modules only, and what is built here is signed by nobody it knows"),
		      print("sign pinion.ko with a key of `mokutil --import' (DKMS does so by itself once its key is enrolled), or turn Secure Boot off"));
}

static void doctor_headers(const char *release, enum finding finding)
{
	char *build = print("%s/build/Makefile", release);

	if (exists("/lib/modules/", build))
		found(FINE, "headers",
		      print("those of Linux %s are there", release), NULL);
	else
		found(finding, "headers",
		      print("those of Linux %s are missing, with which a module is built",
			    release),
		      print("apt-get install linux-headers-%s", release));
	free(build);
}

static void doctor_module_missing(const char *release, bool devices)
{
	enum finding finding = devices ? HINT : WRONG;

	if (!exists("/lib/modules/", release)) {
		found(finding, "module",
		      print("Linux %s has no modules here, as in a container",
			    release),
		      print("load pinion on the host, or use pinion-box"));
		return;
	}
	if (file_has(print("/lib/modules/%s/modules.dep", release),
		     "pinion.ko")) {
		found(finding, "module",
		      print("pinion is installed for Linux %s and not loaded",
			    release),
		      print("modprobe pinion; rdma link add pinion0 type pinion netdev NETDEV"));
		doctor_signature();
		return;
	}
	found(finding, "module",
	      print("there is no pinion for Linux %s", release),
	      print("the package pinion-dkms, or `make kernel && make install-module'"));
	doctor_headers(release, finding);
	doctor_signature();
}

void doctor_kernel(bool devices)
{
	const char *version = file_line("/sys/module/pinion/version");
	struct utsname name;
	char *complaint;

	uname(&name);
	if (version) {
		found(FINE, "module",
		      print("pinion %s is loaded, Linux %s", version,
			    name.release),
		      NULL);
		/* Else it would not have been loaded. */
		found(FINE, "dma",
		      print("addresses lead back to pages, as pinion needs them"),
		      NULL);
	} else {
		doctor_module_missing(name.release, devices);
	}
	complaint = version ? NULL : module_complaint();
	if (complaint)
		found(WRONG, "dma", complaint,
		      print("boot without swiotlb=force, with iommu=pt, or use pinion-box"));
	if (access("/sys/class/infiniband_verbs", F_OK))
		found(WRONG, "verbs", print("programs cannot use verbs"),
		      print("modprobe ib_uverbs"));
	if (access("/dev/infiniband/rdma_cm", F_OK))
		found(HINT, "rdma_cm",
		      print("programs cannot connect by librdmacm (rping, perftest -R)"),
		      print("modprobe rdma_ucm"));
	if (!devices)
		found(WRONG, "device", print("there is no RDMA device"),
		      print("rdma link add pinion0 type pinion netdev NETDEV, of which `ip link' has a list"));
}
