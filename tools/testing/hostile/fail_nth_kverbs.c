// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Calls of kernel verbs with their first, second, ... allocation failing (item N37). The module
 * kverbs (tools/testing/kverbs) makes them in the context of the test. Needs a kernel with fault
 * injection.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sweep.h"

static struct link link_;
static const char *name;
static int fd;

static int call(void)
{
	return write(fd, name, strlen(name)) < 0 ? errno : 0;
}

/*
 * Each allocation of each kernel verb fails once: the call has an error, destruction does not fail,
 * and nothing is left.
 */
static void n37_kernel_verbs(void)
{
	/* About half of what there is to fail. */
	static const struct {
		const char *name;
		unsigned int at_least;
	} calls[] = {
		{ "pd", 2 },
		{ "unsafe_pd", 2 },
		{ "cq_direct", 3 },
		{ "cq_softirq", 3 },
		{ "cq_workqueue", 3 },
		{ "rc", 8 },
		{ "ud", 8 },
		{ "srq", 6 },
		{ "mr", 4 },
		{ "mr_gaps", 5 },
		{ "ah", 2 },
		{ "group", 1 },
		/* These allocate nothing: only the copy of the name fails. */
		{ "map", 1 },
		{ "connect", 1 },
		{ "query", 1 },
	};
	size_t i;

	need_root();
	sweeps_begin(&link_);
	fd = open("/sys/kernel/debug/kverbs/calls", O_WRONLY);
	if (fd < 0 && errno == ENOENT)
		skip("the module kverbs is not loaded");
	CHECK(fd >= 0);
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		name = calls[i].name;
		sweep(&(struct op){ .name = name,
				    .attempt = call,
				    .at_least = calls[i].at_least,
				    .lasting = 1,
				    SWEEP_NO_RESTRACK });
		CHECK_EQ(call(), 0);
	}
	CHECK_EQ(close(fd), 0);
	sweeps_end(&link_);
}

static const struct test tests[] = {
	LONG_TEST(n37_kernel_verbs, "N37 kernel verbs", 300),
};

HARNESS_MAIN("kernel verbs with failing allocations", tests)
