/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The resource types for which the allocator of a parent domain is called on a pinion
 * device: memory for rings of queues. See pinion-queues(7).
 */
#ifndef PINION_QUEUES_H
#define PINION_QUEUES_H

#include <stdint.h>

/* resource_type of ibv_alloc_parent_domain(3)'s alloc and free */
#define PINION_RES_TYPE_CQ ((uint64_t)0x2b50696e << 32 | 1)
#define PINION_RES_TYPE_SQ ((uint64_t)0x2b50696e << 32 | 2)
#define PINION_RES_TYPE_RQ ((uint64_t)0x2b50696e << 32 | 3)
#define PINION_RES_TYPE_SRQ ((uint64_t)0x2b50696e << 32 | 4)

#endif /* PINION_QUEUES_H */
