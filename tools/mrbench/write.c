// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An RDMA WRITE from a device to itself. A WRITE of 0 bytes looks up no key, so the difference to
 * one of 64 bytes is the lookup of two keys (of one key for inline data) and the copy.
 */
#include <errno.h>

#include "experiments.h"
#include "loop.h"
#include "report.h"

#define MAX_WRITES 2001

static int write_once(struct loop *loop, uint64_t size, unsigned int flags,
		      uint64_t *ns)
{
	return loop_write(loop, size, flags,
			  (uintptr_t)loop->buffer + loop->size, loop->mr->rkey,
			  ns);
}

static void writes(struct loop *loop, struct target *target, uint64_t size,
		   unsigned int flags)
{
	const char *what = flags ? "inline write" : "write";
	int num = opt.iterations ? opt.iterations : MAX_WRITES, i, err = 0;
	static uint64_t ns[MAX_WRITES];

	if (num > MAX_WRITES)
		num = MAX_WRITES;
	for (i = 0; i < 10 && !err; i++)
		err = write_once(loop, size, flags, &ns[0]);
	for (i = 0; i < num && !err; i++)
		err = write_once(loop, size, flags, &ns[i]);
	if (err)
		report_failure(what, target->name, "bytes", size, err);
	else
		report_row(what, target->name, "bytes", size,
			   (struct figure[]){
				   { "median_ns", median_of(ns, num), 0 },
				   { "min_ns", min_of(ns, num), 0 },
			   },
			   2);
}

static uint64_t largest_write(void)
{
	uint64_t largest = 4096;
	int i;

	for (i = 0; i < opt.num_writes; i++)
		if (opt.writes[i] > largest)
			largest = opt.writes[i];
	return largest;
}

void measure_writes(struct target *targets, int num)
{
	int t, i;

	for (t = 0; t < num; t++) {
		struct loop loop = { 0 };

		if (!targets[t].context)
			continue;
		if (targets[t].context->device->transport_type !=
		    IBV_TRANSPORT_IB) {
			report_failure("write", targets[t].name, "bytes", 0,
				       EOPNOTSUPP);
		} else if (!loop_open(&loop, &targets[t], largest_write())) {
			report_failure("write", targets[t].name, "bytes", 0,
				       errno);
		} else {
			for (i = 0; i < opt.num_writes; i++)
				writes(&loop, &targets[t], opt.writes[i], 0);
			for (i = 0; i < opt.num_writes; i++)
				if (opt.writes[i] &&
				    opt.writes[i] <= LOOP_INLINE)
					writes(&loop, &targets[t],
					       opt.writes[i], IBV_SEND_INLINE);
		}
		loop_close(&loop);
	}
}
