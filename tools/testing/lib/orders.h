/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Failures by order, as the driver takes them from root; see pinion(4), inject.
 */
#ifndef PINION_TEST_ORDERS_H
#define PINION_TEST_ORDERS_H

#include <stdint.h>

/* The file, or -1 and errno. */
int orders_open(int flags);

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

/* Open a debugfs file of @device. Return: a descriptor; -1 with errno set. */
int orders_file(const char *device, const char *file, int flags);

/* Write @text to it. Return: 0 or an errno. */
int orders_force(const char *device, const char *file, const char *text);

/* Has the pages of a region taken away now: "KEY [OFFSET LENGTH]". Return: 0 or an errno. */
int orders_invalidate(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

#endif /* PINION_TEST_ORDERS_H */
