// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Data about objects of libibverbs, by address. Read by many calls, from any thread.
 */
#define _GNU_SOURCE
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
/* Who writes is let in before new readers: with some threads that poll there are always readers. */
static pthread_rwlock_t lock =
	PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void kept_wait(void)
{
	pthread_rwlock_wrlock(&lock);
}

static void kept_go_on(void)
{
	pthread_rwlock_unlock(&lock);
}

/* Here the owner is another thread to the lock, so it cannot be unlocked. */
static void kept_begin_as_child(void)
{
	lock = (pthread_rwlock_t)
		PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
}

/*
 * A child of fork() has the lock as it was, but none of the threads that could unlock it. So fork()
 * waits until no thread has it.
 */
static void __attribute__((constructor)) kept_survive_fork(void)
{
	pthread_atfork(kept_wait, kept_go_on, kept_begin_as_child);
}

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
