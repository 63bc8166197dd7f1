/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Swap space on a RAM disk, and memory that is put there.
 */
#ifndef PINION_TEST_SWAP_H
#define PINION_TEST_SWAP_H

#include "buf.h"

/*
 * Make an unused RAM disk the swap space until the test has ended. Only root can. Returns NULL, or the
 * reason why there is none.
 */
const char *swap_begin(void);
/* The same; skips the test if there is none. */
void need_swap(void);
/* Returns how many KiB of this process are in swap then. */
long swap_page_out(struct buf *buf);
/* How many pages the kernel has written to swap. */
long long swap_written(void);

#endif /* PINION_TEST_SWAP_H */
