/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A buffer of the exporter. The reservation lock protects pages, failures and counts, except for
 * counts made without it.
 */
#ifndef PINION_EXPORTER_BUFFER_H
#define PINION_EXPORTER_BUFFER_H

#include <linux/atomic.h>
#include <linux/dma-buf.h>

#include "exporter.h"

/* The number of moves whose old pages are watched; older ones are checked and freed. */
#define MAX_GRAVES	4

struct buffer {
	struct dma_buf *dmabuf;
	struct page **pages;
	unsigned long num;
	u32 flags;
	bool revoked;
	int error[EXPORTER_STEPS];
	u32 map_fails;			/* remaining failures; 0: always, if there is an error */
	struct page **graves[MAX_GRAVES];
	unsigned int next_grave;
	u64 maps, unmaps, pins, unpins, moves, late, touched;
	atomic64_t attaches, detaches;
};

/* pages.c */
struct page **exporter_get_pages(unsigned long num, u32 flags);
void exporter_free_pages(struct page **pages, unsigned long num, u32 flags);
void exporter_fill(struct page **pages, unsigned long num, int byte);
/* Watches @pages, which the buffer has left, in place of the oldest ones. */
void exporter_bury(struct buffer *buffer, struct page **pages);
/* Number of bytes that have changed since the pages were left. */
u64 exporter_differ(struct page **pages, unsigned long num);

/* dmabuf.c */
bool exporter_is_ours(const struct dma_buf *dmabuf);
extern atomic64_t exporter_live;	/* number of buffers */
int exporter_create_buffer(struct exporter_create *arg);

/* move.c */
extern struct workqueue_struct *exporter_wq;
int exporter_move(struct buffer *buffer, u32 delay_ms);
int exporter_revoke(struct buffer *buffer);

#endif /* PINION_EXPORTER_BUFFER_H */
