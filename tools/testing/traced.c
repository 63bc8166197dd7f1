// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A program whose registrations, waits and invalidations are counted, for the test of the scripts
 * in tools/trace: what it did is on its standard output, as NAME VALUE.
 *
 * Usage: traced DEVICE
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"

enum { MOST = 12, PAGES = 16 };

static struct link link_;

static void say(const char *name, unsigned long long value)
{
	printf("%s %llu\n", name, value);
}

/* Some are deregistered, the others end with the process; one is refused, and one is changed. */
static void registrations(void)
{
	unsigned long long bytes = 0;
	struct region regions[MOST];
	int i, num = rnd_in(4, MOST), ended = rnd_in(1, num - 1);
	void *gone = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (i = 0; i < num; i++) {
		size_t length = rnd_in(1, 20 * PAGE);

		regions[i] = region_new(length, rnd_below(PAGE), ALL_ACCESS);
		bytes += length;
	}
	region_rereg(&regions[0], IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL,
		     IBV_ACCESS_LOCAL_WRITE);
	CHECK(gone != MAP_FAILED);
	CHECK_EQ(munmap(gone, PAGE), 0);
	MUST_NOT(ibv_reg_mr(dev.pd, gone, PAGE, ALL_ACCESS), EFAULT);
	for (i = 0; i < ended; i++)
		CHECK_EQ(ibv_dereg_mr(regions[i].mr), 0);
	/* And those of main() and pages(). */
	say("registered", num + 2);
	say("registered_bytes", bytes + 2 * PAGES * PAGE);
	say("changed", 1);
	say("refused", 1);
}

/* Some messages that do not wait, and one whose receiver is not ready until it has waited. */
static void waits(struct region *own)
{
	struct ibv_sge sge = sge_of(own, 0, 100), sink = sge_of(own, 200, 100);
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	long long before = device_counter("rnr_nak_retry_err");
	int i, num = rnd_in(5, 50);

	CHECK(before >= 0);
	for (i = 0; i < num; i++) {
		post_recv(&link_.b, &sink, 1, i);
		expect(send_sge(&link_.a, sge), IBV_WC_SUCCESS);
		expect(await(link_.b.rcq), IBV_WC_SUCCESS);
	}
	CHECK_EQ(device_counter("rnr_nak_retry_err"), before);
	post(&link_.a, &wr);
	counter_await_least("rnr_nak_retry_err", before + 2);
	post_recv(&link_.b, &sink, 1, i);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	/* The kernel keeps what it has read for 10 ms. */
	usleep(200000);
	say("timer_waits", device_counter("rnr_nak_retry_err") - before);
	say("qpn", link_.a.qp->qp_num);
	/* And the one of pages(). */
	say("messages", num + 2);
}

/* The pages of an on-demand region come by a message, and go by madvise(2). */
static void pages(struct region *own)
{
	const size_t half = PAGES / 2 * PAGE;
	struct region region = region_new(PAGES * PAGE, 0, ODP_ALL);
	int i;

	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(own, 0, PAGES * PAGE),
		    region.base, region.rkey),
	       IBV_WC_SUCCESS);
	/* The middle one is in the range of a region that has pages, and hits none of them. */
	for (i = 0; i < 3; i++)
		CHECK_EQ(madvise(region.buf->data + i / 2 * half, half,
				 MADV_DONTNEED),
			 0);
	say("key", region.rkey);
	say("pages", PAGES);
}

int main(int argc, char **argv)
{
	struct region own;
	const char *missing;

	if (argc != 2 || argv[1][0] == '-') {
		fprintf(stderr, "Usage: traced DEVICE\n");
		return 2;
	}
	opt.device = argv[1];
	missing = device_missing();
	if (missing) {
		fprintf(stderr, "traced: %s\n", missing);
		return 1;
	}
	rnd_seed(getpid());
	device_open();
	say("pid", getpid());
	registrations();
	link_make(&link_, NULL);
	own = region_new(PAGES * PAGE, 0, ALL_ACCESS);
	waits(&own);
	pages(&own);
	return 0;
}
