// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For LD_PRELOAD: programs that get dma-bufs from a GPU find a render node whose memory is a
 * memfd, exported by /dev/udmabuf. It has only the ioctls that pyverbs uses on an i915.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <drm/i915_drm.h>
#include <linux/udmabuf.h>

enum { MAX_FDS = 4096, MAX_OBJECTS = 64, PAGE = 4096 };

/* An open render node; its objects follow each other in its memfd. */
static struct node {
	bool open;
	unsigned int count;
	struct {
		uint64_t offset, size;
	} objects[MAX_OBJECTS];
} nodes[MAX_FDS];

#define REAL(function) ((typeof(&(function)))dlsym(RTLD_NEXT, #function))

static struct node *node_of(int fd)
{
	return fd >= 0 && fd < MAX_FDS && nodes[fd].open ? &nodes[fd] : NULL;
}

static int open_node(void)
{
	int fd = memfd_create("render node", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	if (fd < 0)
		return fd;
	if (fd >= MAX_FDS || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK)) {
		close(fd);
		errno = EMFILE;
		return -1;
	}
	nodes[fd] = (struct node){ .open = true };
	return fd;
}

static int refuse(int error)
{
	errno = error;
	return -1;
}

static int tell_version(struct drm_version *version)
{
	static const char name[] = "i915";

	if (version->name && version->name_len >= sizeof(name) - 1)
		memcpy(version->name, name, sizeof(name) - 1);
	version->name_len = sizeof(name) - 1;
	return 0;
}

static int create(int fd, struct node *node, struct drm_i915_gem_create *arg)
{
	uint64_t size = (arg->size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	struct stat st;

	if (!size || node->count == MAX_OBJECTS)
		return refuse(ENOMEM);
	if (fstat(fd, &st) || ftruncate(fd, st.st_size + size))
		return -1;
	node->objects[node->count].offset = st.st_size;
	node->objects[node->count].size = size;
	arg->handle = ++node->count;
	arg->size = size;
	return 0;
}

static int export(int fd, const struct node *node, struct drm_prime_handle *arg)
{
	struct udmabuf_create create = {
		.memfd = fd,
		.flags = UDMABUF_FLAGS_CLOEXEC,
		.offset = node->objects[arg->handle - 1].offset,
		.size = node->objects[arg->handle - 1].size,
	};
	int exporter = REAL(open)("/dev/udmabuf", O_RDWR | O_CLOEXEC);

	if (exporter < 0)
		return -1;
	arg->fd = REAL(ioctl)(exporter, UDMABUF_CREATE, &create);
	REAL(close)(exporter);
	return arg->fd < 0 ? -1 : 0;
}

static int node_ioctl(int fd, struct node *node, unsigned long request,
		      void *arg)
{
	/* The arguments of most ioctls begin with the handle, which is never 0. */
	uint32_t handle = *(uint32_t *)arg;
	bool known = handle && handle <= node->count;

	switch (request) {
	case DRM_IOCTL_VERSION:
		return tell_version(arg);
	case DRM_IOCTL_I915_GEM_CREATE:
		return create(fd, node, arg);
	case DRM_IOCTL_PRIME_HANDLE_TO_FD:
		return known ? export(fd, node, arg) : refuse(ENOENT);
	case DRM_IOCTL_I915_GEM_MMAP_GTT:
		if (!known)
			return refuse(ENOENT);
		((struct drm_i915_gem_mmap_gtt *)arg)->offset =
			node->objects[handle - 1].offset;
		return 0;
	case DRM_IOCTL_GEM_CLOSE:
		return known ? 0 : refuse(ENOENT);
	}
	return refuse(ENOTTY);
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	if (!strncmp(path, "/dev/dri/renderD", 16))
		return open_node();
	va_start(args, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(args, mode_t);
	va_end(args);
	return REAL(open)(path, flags, mode);
}

int ioctl(int fd, unsigned long request, ...)
{
	struct node *node = node_of(fd);
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	return node ? node_ioctl(fd, node, request, arg) :
		      REAL(ioctl)(fd, request, arg);
}

int close(int fd)
{
	struct node *node = node_of(fd);

	if (node)
		node->open = false;
	return REAL(close)(fd);
}
