// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For LD_PRELOAD: keeps a client from connecting by rdma_cm before its server listens. With -R
 * perftest's server listens a second time after the two have shaken hands, and a client that
 * is faster is rejected. Here the client's Nth rdma_resolve_addr() waits until the server has
 * listened N times, the later ones until it has listened twice. $LISTENS is a folder with a
 * file for each time; the server, which has $LISTENER set, makes them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct sockaddr;

/* After the same time limit as in the tests it continues without waiting. */
enum { TIMES = 2, LIMIT_MS = 60000, STEP_MS = 10 };

int rdma_listen(void *id, int backlog);
int rdma_resolve_addr(void *id, struct sockaddr *from, struct sockaddr *to,
		      int timeout);

static const char *file(int times)
{
	static char path[4096];
	const char *folder = getenv("LISTENS");

	snprintf(path, sizeof(path), "%s/%d", folder ? folder : ".", times);
	return path;
}

int rdma_listen(void *id, int backlog)
{
	int (*listen)(void *, int) = dlsym(RTLD_NEXT, "rdma_listen");
	int err = listen(id, backlog), fd;
	static int times;

	if (err || !getenv("LISTENER"))
		return err;
	fd = open(file(++times), O_CREAT | O_WRONLY, 0600);
	if (fd >= 0)
		close(fd);
	return 0;
}

int rdma_resolve_addr(void *id, struct sockaddr *from, struct sockaddr *to,
		      int timeout)
{
	int (*resolve)(void *, struct sockaddr *, struct sockaddr *, int) =
		dlsym(RTLD_NEXT, "rdma_resolve_addr");
	static int times;
	int waited = 0;

	if (times < TIMES)
		times++;
	while (access(file(times), F_OK) && waited < LIMIT_MS) {
		usleep(STEP_MS * 1000);
		waited += STEP_MS;
	}
	return resolve(id, from, to, timeout);
}
