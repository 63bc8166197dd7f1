// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <poll.h>
#include <stddef.h>

#include "channel.h"
#include "peers.h"
#include "process.h"

static pid_t watcher;

static void await(const struct job *job, int type)
{
	struct pollfd p = { .fd = channel_fd(), .events = POLLIN };
	const struct frame *said;

	if (!job_lookup(job->conf, "hosts", NULL))
		return;
	do {
		poll(&p, 1, -1);
		said = channel_read();
	} while (!said || said->type != type);
}

void peers_await_go(const struct job *job)
{
	if (job_lookup(job->conf, "hosts", NULL))
		send_frame(FRAME_UP, NULL, 0);
	await(job, FRAME_GO);
}

void peers_watch(const struct job *job)
{
	if (job_lookup(job->conf, "listen", NULL))
		watcher = script_start("listens.sh", job->setup_env);
}

void peers_reaped(pid_t pid, int status)
{
	if (!watcher || pid != watcher)
		return;
	watcher = 0;
	if (!status)
		send_frame(FRAME_LISTENS, NULL, 0);
}

void peers_await_end(const struct job *job)
{
	await(job, FRAME_END);
}
