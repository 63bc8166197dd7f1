// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A table of the objects that were given to the program. Some calls have a pointer only,
 * which may also be an object of the real libmlx5.
 */
#include <pthread.h>

#include "dv.h"

enum { BUCKETS = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dv_object *buckets[BUCKETS];

static void table_lock(void)
{
	pthread_mutex_lock(&lock);
}

static void table_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/*
 * A child of fork() has the lock as it was, but none of the threads that could unlock it. So fork()
 * waits until no thread has it.
 */
static void __attribute__((constructor)) table_survives_fork(void)
{
	pthread_atfork(table_lock, table_unlock, table_unlock);
}

/* A hash that spreads addresses that are close to each other. */
static struct dv_object **bucket(const struct dv_object *object)
{
	return &buckets[(uintptr_t)object / 64 % BUCKETS];
}

void dv_remember(struct dv_object *object)
{
	struct dv_object **head = bucket(object);

	table_lock();
	object->next = *head;
	*head = object;
	table_unlock();
}

static struct dv_object *look(const struct dv_object *object)
{
	struct dv_object *at;

	for (at = *bucket(object); at && at != object; at = at->next)
		;
	return at;
}

struct dv_object *dv_find(const void *given)
{
	const char *inside = given;
	struct dv_object *found;

	table_lock();
	found = look(given);
	if (!found)
		found = look(
			(void *)(inside - offsetof(struct dv_object, umem)));
	table_unlock();
	return found;
}

void dv_forget(struct dv_object *object)
{
	struct dv_object **at;

	table_lock();
	for (at = bucket(object); *at != object; at = &(*at)->next)
		;
	*at = object->next;
	table_unlock();
}
