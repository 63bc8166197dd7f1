// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Mistakes on purpose, one for each sanitizer: where it does not end this program, it sees
 * nothing of the others. Needs no device.
 *
 * Usage: planted address|undefined|thread
 * Exit status: the sanitizer's, or 0 when nobody minded; 2 if it was called otherwise.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int shared;

static void use_freed(void)
{
	/* Volatile, so that the compiler does not notice the error. */
	char *volatile p = malloc(8);

	free(p);
	*p = 1;
}

static void overflow(void)
{
	volatile int most = 0x7fffffff;

	most = most + 1;
}

static void *count(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 100000; i++)
		(*(volatile int *)&shared)++;
	return NULL;
}

static void race(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, count, NULL))
		return;
	count(NULL);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "address"))
		use_freed();
	else if (!strcmp(argv[1], "undefined"))
		overflow();
	else if (!strcmp(argv[1], "thread"))
		race();
	else
		return 2;
	return 0;
}
