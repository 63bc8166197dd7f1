/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Framebuffers that are never displayed, as dma-bufs of a graphics driver.
 */
#ifndef PINION_TEST_PICTURE_H
#define PINION_TEST_PICTURE_H

#include <stddef.h>

struct card {
	const char *driver;
	int fd; /* 0: not looked for yet */
};

/* An fd of a buffer of @size bytes with lines of one page; -1 if there is no such driver. */
int picture_get(struct card *card, size_t size);

#endif /* PINION_TEST_PICTURE_H */
