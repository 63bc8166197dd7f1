// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Allocates memory for queues, fills it with bytes that are invalid in new queues, and counts it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "buf.h"
#include "own.h"

static int kind_of(uint64_t resource_type)
{
	uint32_t kind = resource_type;

	CHECK(kind && kind < OWN_KINDS);
	CHECK_EQ(resource_type - kind, PINION_RES_TYPE_CQ - 1);
	return kind;
}

static void *give(struct ibv_pd *pd, void *pd_context, size_t size,
		  size_t alignment, uint64_t resource_type)
{
	int kind = kind_of(resource_type);
	struct own *own = pd_context;
	void *memory = NULL;

	CHECK(pd && size && !(alignment & (alignment - 1)));
	if (own->answer && own->left-- <= 0) {
		if (own->answer == OWN_DEFAULT)
			return IBV_ALLOCATOR_USE_DEFAULT;
		if (own->answer == OWN_NOTHING)
			return NULL;
	}
	CHECK_EQ(posix_memalign(&memory, alignment, size), 0);
	memset(memory, 0xff, size);
	if (own->answer == OWN_READ_ONLY && own->left < 0)
		CHECK_EQ(mprotect(memory, size, PROT_READ), 0);
	__atomic_add_fetch(&own->live[kind], 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&own->ever[kind], 1, __ATOMIC_RELAXED);
	own->last[kind] = memory;
	return memory;
}

static void take(struct ibv_pd *pd, void *pd_context, void *memory,
		 uint64_t resource_type)
{
	struct own *own = pd_context;

	CHECK(pd);
	__atomic_sub_fetch(&own->live[kind_of(resource_type)], 1,
			   __ATOMIC_RELAXED);
	if (own->answer == OWN_READ_ONLY)
		mprotect(memory, 4096, PROT_READ | PROT_WRITE);
	free(memory);
}

struct ibv_parent_domain_init_attr own_attr(struct own *own)
{
	return (struct ibv_parent_domain_init_attr){
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = give,
		.free = take,
		.pd_context = own,
	};
}

struct ibv_pd *own_domain(struct own *own, struct ibv_pd *pd)
{
	struct ibv_parent_domain_init_attr attr = own_attr(own);

	attr.pd = pd;
	return MUST(ibv_alloc_parent_domain(pd->context, &attr));
}

void own_check(const struct own *own)
{
	int kind;

	for (kind = 0; kind < OWN_KINDS; kind++)
		CHECK_EQ(own->live[kind], 0);
}
