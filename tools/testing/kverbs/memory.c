// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory with a model. To scatter the pages of a list, every other allocated page is freed.
 */
#include <linux/highmem.h>
#include <linux/random.h>

#include "kverbs.h"

struct memory *memory_new(struct kunit *test, unsigned int first, unsigned int end)
{
	struct memory *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct page *between[MEMORY_PAGES];
	int i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->first = first;
	m->length = MEMORY_PAGES * PAGE_SIZE - first - (PAGE_SIZE - end);
	m->model = kvmalloc(MEMORY_PAGES * PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m->model);
	get_random_bytes(m->model, MEMORY_PAGES * PAGE_SIZE);
	sg_init_table(m->sg, MEMORY_PAGES);
	for (i = 0; i < MEMORY_PAGES; i++) {
		unsigned int at = i ? 0 : first;
		unsigned int until = i == MEMORY_PAGES - 1 ? end : PAGE_SIZE;

		m->page[i] = alloc_page(GFP_KERNEL);
		between[i] = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_TRUE(test, m->page[i] && between[i]);
		memcpy(page_address(m->page[i]), m->model + i * PAGE_SIZE, PAGE_SIZE);
		sg_set_page(&m->sg[i], m->page[i], until - at, at);
	}
	for (i = 0; i < MEMORY_PAGES; i++)
		__free_page(between[i]);
	KUNIT_ASSERT_EQ(test, MEMORY_PAGES,
			ib_dma_map_sg(kverbs_device, m->sg, MEMORY_PAGES, DMA_BIDIRECTIONAL));
	return m;
}

void memory_free(struct memory *m)
{
	int i;

	ib_dma_unmap_sg(kverbs_device, m->sg, MEMORY_PAGES, DMA_BIDIRECTIONAL);
	for (i = 0; i < MEMORY_PAGES; i++)
		__free_page(m->page[i]);
	kvfree(m->model);
}

/* Checks all of the pages, including the bytes outside of the list. */
void memory_check(struct kunit *test, struct memory *m)
{
	int i;

	for (i = 0; i < MEMORY_PAGES; i++)
		KUNIT_EXPECT_MEMEQ(test, page_address(m->page[i]), m->model + i * PAGE_SIZE,
				   PAGE_SIZE);
}

void memory_expect(struct memory *m, size_t at, const void *from, size_t length)
{
	memcpy(m->model + m->first + at, from, length);
}

struct flat *flat_new(struct kunit *test, size_t length)
{
	struct flat *flat = kunit_kzalloc(test, sizeof(*flat), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, flat);
	flat->length = length;
	flat->data = kmalloc(length, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, flat->data);
	get_random_bytes(flat->data, length);
	flat->address = ib_dma_map_single(kverbs_device, flat->data, length, DMA_BIDIRECTIONAL);
	KUNIT_ASSERT_FALSE(test, ib_dma_mapping_error(kverbs_device, flat->address));
	return flat;
}

void flat_free(struct flat *flat)
{
	ib_dma_unmap_single(kverbs_device, flat->address, flat->length, DMA_BIDIRECTIONAL);
	kfree(flat->data);
}

struct ib_sge flat_sge(struct pair *pair, struct flat *flat, size_t length)
{
	return (struct ib_sge){ flat->address, length, pair->pd->local_dma_lkey };
}
