/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Equal pages that the kernel merges into one (KSM).
 */
#ifndef PINION_TEST_MERGE_H
#define PINION_TEST_MERGE_H

#include "buf.h"

/* Until the test ends equal pages are merged; skips the test if the kernel does not. */
void merge_begin(void);
/* This memory may be merged. */
void merge_allow(void *at, size_t length);
/* Wait until so many pages of this process are merged. */
void merge_await(long least);
/* Merge each page of @buf with one of a copy, which is unmapped then; nothing else from then on. */
void merge_with_copy(struct buf *buf);

#endif /* PINION_TEST_MERGE_H */
