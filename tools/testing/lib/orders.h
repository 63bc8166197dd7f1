/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Injected failures ("orders"), and other files of the driver's debugfs; see pinion(4), inject.
 */
#ifndef PINION_TEST_ORDERS_H
#define PINION_TEST_ORDERS_H

#include "harness.h"

#define ORDERS "/sys/kernel/debug/pinion/inject"

/* Cancel all orders. Skips the test where the driver takes none. */
void orders_begin(void);

/* Give the order @text. Return: 0 or an errno. */
int orders_try(const char *text);

/* Give an order; the test fails if it is refused. */
void order(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The number behind @name in the line of the first order. */
unsigned long long ordered(const char *name);

/* Cancel all orders. */
void orders_off(void);

/* Check that the first order has made @times calls fail; then cancel all. */
void orders_over(unsigned int times);

/* Invalidate pages of a region now: "KEY [OFFSET LENGTH]". Return: 0 or an errno. */
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
