// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process that outlives its device: regions on demand, explicit and implicit, of private
 * memory and of a file, and of dma-bufs of every exporter there is; then neither device
 * nor module. Removes nothing itself.
 *
 * Usage: survivor DEVICE
 * Says `ready' when its regions are in use, then waits for the end of its standard input:
 * by then the device is gone. Exit status: 0 if all memory has the right contents, also
 * read from its file descriptors, and goes on as memory of a process does.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dmabuf.h"
#include "link.h"

enum {
	LEN = 64 * 4096,
	MOST = 3 + DMABUF_KINDS,
};

static struct link link_;
static struct region all, regions[MOST];
static struct dmabuf dmabufs[DMABUF_KINDS];
static int num_regions, num_dmabufs, file;

static void on_demand(struct buf *buf, bool implicit)
{
	struct ibv_mr *mr =
		MUST(implicit ? ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL) :
				ibv_reg_mr(dev.pd, buf->data, LEN, ODP_ALL));

	regions[num_regions++] = region_of(buf, mr, (uintptr_t)buf->data);
}

static struct buf *file_buf(void)
{
	void *map;

	file = memfd_create("survivor", MFD_CLOEXEC);
	CHECK_EQ(ftruncate(file, LEN), 0);
	map = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(map != MAP_FAILED);
	return buf_of(map, LEN, 0, LEN);
}

static void register_all(void)
{
	struct buf *shared = file_buf();
	int i;

	all = region_new(LEN, 100, ALL_ACCESS);
	on_demand(buf_new(LEN, 0), false);
	on_demand(buf_new(LEN, 77), true);
	on_demand(shared, false);
	for (i = 0; i < DMABUF_KINDS; i++) {
		struct dmabuf *dmabuf = &dmabufs[num_dmabufs];

		if (!dmabuf_there(&dmabuf_kinds[i])) {
			note("no %s", dmabuf_kinds[i].name);
			continue;
		}
		*dmabuf = dmabuf_new(&dmabuf_kinds[i], LEN);
		regions[num_regions++] =
			dmabuf_region(dmabuf, 0, LEN, 0, ALL_ACCESS);
		num_dmabufs++;
	}
}

static void use_all(void)
{
	int i;

	for (i = 0; i < num_regions; i++) {
		context("region %d", i);
		exchange(&link_, &all, &regions[i]);
	}
	context("%s", "");
}

static void await_the_end(void)
{
	char c;

	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
}

static void check_all(void)
{
	uint8_t *back = MUST(malloc(LEN));
	int i;

	buf_check(all.buf);
	for (i = 0; i < num_regions; i++) {
		context("region %d", i);
		buf_check(regions[i].buf);
	}
	context("%s", "");
	CHECK_EQ(pread(file, back, LEN, 0), LEN);
	CHECK(!memcmp(back, regions[2].buf->want, LEN));
	free(back);
}

/* The device no longer watches the memory, so changes must succeed. */
static void change_all(void)
{
	bool ours = access("/dev/pinion_exporter", F_OK) == 0;
	int i;

	buf_forget(regions[0].buf);
	buf_forget(regions[1].buf);
	for (i = 0; i < num_regions; i++) {
		buf_fill(regions[i].buf);
		/* The last two regions are of the exporter for tests. */
		if (ours && i >= num_regions - 2) {
			struct dmabuf *dmabuf =
				&dmabufs[num_dmabufs - num_regions + i];

			dmabuf_check_unused(dmabuf);
			CHECK_EQ(dmabuf_move(dmabuf, 0), 0);
			CHECK_EQ(dmabuf_stat(dmabuf).touched, 0);
		}
	}
	check_all();
}

int main(int argc, char **argv)
{
	int i;

	if (argc != 2 || argv[1][0] == '-') {
		fprintf(stderr, "Usage: survivor DEVICE\n");
		return 2;
	}
	opt.device = argv[1];
	rnd_seed(getpid());
	/* Finds its name, too. */
	CHECK(!device_missing());
	device_open();
	link_make(&link_, NULL);
	register_all();
	use_all();
	await_the_end();
	check_all();
	change_all();
	/* Without a device registration fails, and deregistration may. */
	CHECK(!ibv_reg_mr(dev.pd, all.buf->data, LEN, ODP_ALL));
	for (i = 0; i < num_regions; i++)
		CHECK(ibv_dereg_mr(regions[i].mr) == 0 || errno);
	check_all();
	note("%d regions, %d of dma-bufs", num_regions, num_dmabufs);
	return 0;
}
