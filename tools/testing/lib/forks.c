// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process that forks while its other threads are in a library.
 */
#include <pthread.h>
#include <unistd.h>

#include "forks.h"
#include "link.h"

struct calls {
	void (*call)(void *arg);
	void (*child)(void *arg);
	void *arg;
	_Atomic bool enough;
};

static void *call_all_the_time(void *arg)
{
	struct calls *calls = arg;

	while (!calls->enough)
		calls->call(calls->arg);
	return NULL;
}

static void call_as_a_child(void *arg)
{
	struct calls *calls = arg;

	/* If it waits for a thread that is not here, that is for ever. */
	alarm(patience(PATIENCE));
	calls->child(calls->arg);
}

void fork_beside(void (*call)(void *arg), void (*child)(void *arg), void *arg)
{
	struct calls calls = { .call = call, .child = child, .arg = arg };
	pthread_t threads[2];
	int i;

	for (i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, call_all_the_time,
					&calls),
			 0);
	for (i = 0; i < 50; i++) {
		context("child %d", i);
		reap_ok(spawn(call_as_a_child, &calls));
	}
	calls.enough = true;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}
