/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Pictures that nobody looks at, as dma-bufs of a graphics driver.
 */
#ifndef PINION_TEST_PICTURE_H
#define PINION_TEST_PICTURE_H

#include <stddef.h>

struct card {
	const char *driver;
	int fd; /* 0: not looked for yet */
};

/* An fd, lines of a page each, @size bytes in all; or -1: there is no such driver. */
int picture_get(struct card *card, size_t size);

#endif /* PINION_TEST_PICTURE_H */
