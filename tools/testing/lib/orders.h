/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Failures by order, as the driver takes them from root; see pinion(4), inject.
 */
#ifndef PINION_TEST_ORDERS_H
#define PINION_TEST_ORDERS_H

#include "harness.h"

#define ORDERS "/sys/kernel/debug/pinion/inject"

/* There are orders, and none holds; else the test is skipped. */
void orders_begin(void);

/* Write @text. Return: 0 or an errno. */
int orders_try(const char *text);

void order(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A number of the first order's line. */
unsigned long long ordered(const char *name);

void orders_off(void);

/* The first has failed so often; then all are over. */
void orders_over(unsigned int times);

/* Has the pages of a region taken away now: "KEY [OFFSET LENGTH]". Return: 0 or an errno. */
int orders_invalidate(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* A failed test may have left orders: after all tests they are withdrawn. */
#define ORDERS_MAIN(about, tests)                                       \
	int main(int argc, char **argv)                                 \
	{                                                               \
		return orders_main(argc, argv, about, tests,            \
				   sizeof(tests) / sizeof((tests)[0])); \
	}

int orders_main(int argc, char **argv, const char *about,
		const struct test *tests, size_t count);

#endif /* PINION_TEST_ORDERS_H */
