/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Prints test results as KTAP, and nothing else. A test is a function that returns NULL, or a
 * message about the failure. For programs without a device, which also run on the host
 * (provider_ring, box_hub): lib/harness.c opens one for each test, and needs libibverbs and libmnl.
 */
#ifndef PINION_KTAP_H
#define PINION_KTAP_H

#include <stddef.h>
#include <stdio.h>

struct ktap_test {
	const char *name;
	const char *(*run)(void);
};

#define KTAP_STR(x) #x
#define KTAP_XSTR(x) KTAP_STR(x)

/* Fails the test unless @condition holds. */
#define ENSURE(condition)                                                \
	do {                                                             \
		if (!(condition))                                        \
			return __FILE__                                  \
				":" KTAP_XSTR(__LINE__) ": " #condition; \
	} while (0)

/* Runs all tests; the result is for main() to return. */
static inline int ktap_run(const struct ktap_test *tests, size_t count)
{
	int failed = 0;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("KTAP version 1\n1..%zu\n", count);
	for (i = 0; i < count; i++) {
		const char *why = tests[i].run();

		if (why) {
			printf("# %s\n", why);
			failed = 1;
		}
		printf("%sok %zu %s\n", why ? "not " : "", i + 1,
		       tests[i].name);
	}
	return failed;
}

#endif /* PINION_KTAP_H */
