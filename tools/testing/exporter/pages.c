// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Pages of a buffer, present and former ones.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "buffer.h"

#define LEFT	0xdb	/* fills pages that a buffer has left */

void exporter_free_pages(struct page **pages, unsigned long num, u32 flags)
{
	unsigned long i;

	if (!pages)
		return;
	if (flags & EXPORTER_CONTIGUOUS)
		free_pages_exact(page_address(pages[0]), num << PAGE_SHIFT);
	else
		for (i = 0; i < num; i++)
			__free_page(pages[i]);
	kvfree(pages);
}

static int get_contiguous(struct page **pages, unsigned long num)
{
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | __GFP_RETRY_MAYFAIL;
	void *memory = alloc_pages_exact(num << PAGE_SHIFT, gfp);
	unsigned long i;

	if (!memory)
		return -ENOMEM;
	for (i = 0; i < num; i++)
		pages[i] = virt_to_page(memory + (i << PAGE_SHIFT));
	return 0;
}

static int get_scattered(struct page **pages, unsigned long num)
{
	unsigned long i, j;

	for (i = 0; i < num; i++) {
		pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!pages[i]) {
			while (i--)
				__free_page(pages[i]);
			return -ENOMEM;
		}
		cond_resched();
	}
	/* The allocator tends to return contiguous pages, so shuffle them. */
	for (i = num - 1; i > 0; i--) {
		j = get_random_u32_below(i + 1);
		swap(pages[i], pages[j]);
	}
	return 0;
}

struct page **exporter_get_pages(unsigned long num, u32 flags)
{
	struct page **pages = kvmalloc_array(num, sizeof(*pages), GFP_KERNEL);
	int err;

	if (!pages)
		return NULL;
	if (flags & EXPORTER_CONTIGUOUS)
		err = get_contiguous(pages, num);
	else
		err = get_scattered(pages, num);
	if (!err)
		return pages;
	kvfree(pages);
	return NULL;
}

void exporter_fill(struct page **pages, unsigned long num, int byte)
{
	unsigned long i;

	for (i = 0; i < num; i++)
		memset(page_address(pages[i]), byte, PAGE_SIZE);
}

u64 exporter_differ(struct page **pages, unsigned long num)
{
	unsigned long i, at;
	u64 wrong = 0;

	for (i = 0; pages && i < num; i++) {
		const u8 *bytes = page_address(pages[i]);

		if (!memchr_inv(bytes, LEFT, PAGE_SIZE))
			continue;
		for (at = 0; at < PAGE_SIZE; at++)
			wrong += bytes[at] != LEFT;
	}
	return wrong;
}

void exporter_bury(struct buffer *buffer, struct page **pages)
{
	struct page ***grave = &buffer->graves[buffer->next_grave++ % MAX_GRAVES];

	buffer->touched += exporter_differ(*grave, buffer->num);
	exporter_free_pages(*grave, buffer->num, buffer->flags);
	exporter_fill(pages, buffer->num, LEFT);
	*grave = pages;
}
