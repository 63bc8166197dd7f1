/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Injected failures ("orders"), and other files of the driver's debugfs; see pinion(4), inject.
 */
#ifndef PINION_TEST_ORDERS_H
#define PINION_TEST_ORDERS_H

#include <stdint.h>

/* Open the file of orders. Return: a descriptor; -1 with errno set. */
int orders_open(int flags);

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

/* Open a debugfs file of @device. Return: a descriptor; -1 with errno set. */
int orders_file(const char *device, const char *file, int flags);

/* Write @text to it. Return: 0 or an errno. */
int orders_force(const char *device, const char *file, const char *text);

/* Invalidate pages of a region now: "KEY [OFFSET LENGTH]". Return: 0 or an errno. */
int orders_invalidate(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

#endif /* PINION_TEST_ORDERS_H */
