// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Data about objects of libibverbs, by address. Read by many calls, from any thread.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "record.h"

#define BUCKETS 1024

struct entry {
	struct entry *next;
	const void *object;
	max_align_t room[];
};

static struct entry *buckets[BUCKETS];
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static struct entry **bucket_of(const void *object)
{
	return &buckets[((uintptr_t)object >> 4) % BUCKETS];
}

/* The pointer to the entry, or where to insert it. The lock is held. */
static struct entry **place_of(const void *object)
{
	struct entry **place = bucket_of(object);

	while (*place && (*place)->object != object)
		place = &(*place)->next;
	return place;
}

void *kept_new(const void *object, size_t size)
{
	struct entry *entry = calloc(1, sizeof(*entry) + size);

	if (!entry)
		return NULL;
	kept_end(object);
	entry->object = object;
	pthread_rwlock_wrlock(&lock);
	entry->next = *bucket_of(object);
	*bucket_of(object) = entry;
	pthread_rwlock_unlock(&lock);
	return entry->room;
}

void *kept(const void *object)
{
	struct entry *entry;

	pthread_rwlock_rdlock(&lock);
	entry = *place_of(object);
	pthread_rwlock_unlock(&lock);
	return entry ? entry->room : NULL;
}

void kept_end(const void *object)
{
	struct entry **place, *entry;

	pthread_rwlock_wrlock(&lock);
	place = place_of(object);
	entry = *place;
	if (entry)
		*place = entry->next;
	pthread_rwlock_unlock(&lock);
	free(entry);
}
