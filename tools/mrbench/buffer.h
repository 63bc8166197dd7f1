/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The memory that is registered.
 */
#ifndef MRBENCH_BUFFER_H
#define MRBENCH_BUFFER_H

#include "mrbench.h"

/*
 * Allocate @size bytes in pages of the kind opt.pages, all present. NULL with errno set if there is
 * no such memory.
 */
void *buffer_make(uint64_t size);
void buffer_free(void *buffer, uint64_t size);

/* The size of pages of the kind opt.pages. */
uint64_t buffer_page(void);

#endif
