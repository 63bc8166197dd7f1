// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Gets dma-bufs, and calls the ioctls of the exporter for tests.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/dma-heap.h>
#include <linux/udmabuf.h>

#include "dmabuf.h"
#include "picture.h"

/* Open it once, as root; tests may change their user id later. */
static int device_fd(const char *path, int *fd)
{
	if (*fd <= 0)
		*fd = open(path, O_RDWR | O_CLOEXEC);
	return *fd;
}

static int own_fd, heap_fd, udmabuf_fd;

static int get_udmabuf(size_t size)
{
	struct udmabuf_create create = { .size = size };
	int fd, memory;

	if (device_fd("/dev/udmabuf", &udmabuf_fd) < 0)
		return -1;
	memory = memfd_create("udmabuf", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	CHECK(memory >= 0);
	CHECK_EQ(ftruncate(memory, size), 0);
	CHECK_EQ(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	create.memfd = memory;
	fd = ioctl(udmabuf_fd, UDMABUF_CREATE, &create);
	close(memory);
	return fd;
}

static int get_heap(size_t size)
{
	struct dma_heap_allocation_data alloc = {
		.len = size,
		.fd_flags = O_RDWR | O_CLOEXEC,
	};

	if (device_fd("/dev/dma_heap/system", &heap_fd) < 0)
		return -1;
	CHECK_EQ(ioctl(heap_fd, DMA_HEAP_IOCTL_ALLOC, &alloc), 0);
	return alloc.fd;
}

static int get_vgem(size_t size)
{
	static struct card card = { .driver = "vgem" };

	return picture_get(&card, size);
}

static int get_virtio_gpu(size_t size)
{
	static struct card card = { .driver = "virtio_gpu" };

	return picture_get(&card, size);
}

static int get_own(size_t size, unsigned int flags)
{
	struct exporter_create create = { .size = size, .flags = flags };

	if (device_fd("/dev/pinion_exporter", &own_fd) < 0)
		return -1;
	CHECK_EQ(ioctl(own_fd, EXPORTER_CREATE, &create), 0);
	return create.fd;
}

static int get_scattered(size_t size)
{
	return get_own(size, 0);
}

static int get_contiguous(size_t size)
{
	return get_own(size, EXPORTER_CONTIGUOUS);
}

struct dmabuf_kind dmabuf_kinds[DMABUF_KINDS] = {
	{ "udmabuf", get_udmabuf },
	{ "the system heap", get_heap },
	{ "vgem", get_vgem },
	{ "virtio-gpu", get_virtio_gpu },
	{ "our exporter, scattered", get_scattered },
	{ "our exporter, contiguous", get_contiguous },
};

bool dmabuf_there(struct dmabuf_kind *kind)
{
	int fd = kind->get(PAGE);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static struct dmabuf dmabuf_of(int fd, size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CHECK(map != MAP_FAILED);
	return (struct dmabuf){
		.fd = fd,
		.size = size,
		.all = buf_of(map, size, 0, size),
	};
}

struct dmabuf dmabuf_new(struct dmabuf_kind *kind, size_t size)
{
	int fd = kind->get(size);

	if (fd < 0)
		skip("no %s: errno %d", kind->name, errno);
	return dmabuf_of(fd, size);
}

struct dmabuf dmabuf_own(size_t size, unsigned int flags)
{
	need_exporter();
	return dmabuf_of(get_own(size, flags), size);
}

void dmabuf_free(struct dmabuf *dmabuf)
{
	buf_free(dmabuf->all);
	close(dmabuf->fd);
}

struct buf *dmabuf_view(const struct dmabuf *dmabuf, size_t at, size_t length)
{
	struct buf *view = MUST(malloc(sizeof(*view)));

	*view = *dmabuf->all;
	view->data += at;
	view->want += at;
	view->length = length;
	return view;
}

struct region dmabuf_region_at(const struct device *device,
			       const struct dmabuf *dmabuf, size_t at,
			       size_t length, uint64_t iova, int access)
{
	struct ibv_mr *mr;

	mr = MUST(ibv_reg_dmabuf_mr(device->pd, at, length, iova, dmabuf->fd,
				    access));
	return region_of(dmabuf_view(dmabuf, at, length), mr, iova);
}

struct region dmabuf_region(const struct dmabuf *dmabuf, size_t at,
			    size_t length, uint64_t iova, int access)
{
	return dmabuf_region_at(&dev, dmabuf, at, length, iova, access);
}

void dmabuf_region_free(struct region *region)
{
	CHECK_EQ(ibv_dereg_mr(region->mr), 0);
	free(region->buf);
}

void need_exporter(void)
{
	if (device_fd("/dev/pinion_exporter", &own_fd) < 0)
		skip("no /dev/pinion_exporter: load tools/testing/exporter");
}

static int ask(unsigned long command, void *arg)
{
	need_exporter();
	return ioctl(own_fd, command, arg) ? errno : 0;
}

int dmabuf_move(const struct dmabuf *dmabuf, unsigned int delay_ms)
{
	struct exporter_move arg = { .fd = dmabuf->fd, .delay_ms = delay_ms };

	return ask(EXPORTER_MOVE, &arg);
}

void dmabuf_revoke(const struct dmabuf *dmabuf)
{
	struct exporter_fd arg = { .fd = dmabuf->fd };

	CHECK_EQ(ask(EXPORTER_REVOKE, &arg), 0);
}

void dmabuf_fail(const struct dmabuf *dmabuf, enum exporter_step step,
		 int error)
{
	struct exporter_fail arg = { .fd = dmabuf->fd,
				     .step = step,
				     .error = error };

	CHECK_EQ(ask(EXPORTER_FAIL, &arg), 0);
}

void dmabuf_fail_maps(const struct dmabuf *dmabuf, int error,
		      unsigned int times)
{
	struct exporter_fail arg = { .fd = dmabuf->fd,
				     .step = EXPORTER_MAP,
				     .error = error,
				     .times = times };

	CHECK_EQ(ask(EXPORTER_FAIL, &arg), 0);
}

struct exporter_stat dmabuf_stat(const struct dmabuf *dmabuf)
{
	struct exporter_stat arg = { .fd = dmabuf->fd };

	CHECK_EQ(ask(EXPORTER_STAT, &arg), 0);
	return arg;
}

uint64_t dmabuf_pins(const struct dmabuf *dmabuf)
{
	struct exporter_stat stat = dmabuf_stat(dmabuf);

	return stat.pins - stat.unpins;
}

uint64_t dmabuf_pins_mapped(void)
{
	struct dmabuf dmabuf = dmabuf_own(4096, 0);
	struct utsname kernel;
	struct ibv_mr *mr;
	uint64_t pins;

	CHECK_EQ(uname(&kernel), 0);
	if (kernel.release[0] != '6')
		return 0;
	mr = MUST(ibv_reg_dmabuf_mr(dev.pd, 0, 4096, 0, dmabuf.fd, 0));
	pins = dmabuf_pins(&dmabuf);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	dmabuf_free(&dmabuf);
	return pins;
}

void dmabuf_check_unused_at(const char *file, int line,
			    const struct dmabuf *dmabuf)
{
	struct exporter_stat stat = dmabuf_stat(dmabuf);

	if (stat.attaches != stat.detaches || stat.maps != stat.unmaps ||
	    stat.pins != stat.unpins || stat.late || stat.touched)
		failed(file, line,
		       "%llu attached, %llu mapped, %llu pinned; %llu late, %llu bytes touched",
		       stat.attaches - stat.detaches, stat.maps - stat.unmaps,
		       stat.pins - stat.unpins, stat.late, stat.touched);
}

uint64_t dmabuf_live(void)
{
	uint64_t live;

	CHECK_EQ(ask(EXPORTER_LIVE, &live), 0);
	return live;
}

void dmabuf_await_live(uint64_t most)
{
	double end = now() + patience(60);

	while (dmabuf_live() > most) {
		if (now() > end)
			FAIL("%llu buffers are left, not %llu",
			     (unsigned long long)dmabuf_live(),
			     (unsigned long long)most);
		usleep(10000);
	}
}
