// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Kills a process, and checks that it died of that.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "killed.h"

void killed(int pid)
{
	int status;

	CHECK_EQ(kill(pid, SIGKILL), 0);
	status = reap(pid);
	/* It has already printed the reason. */
	if (WIFEXITED(status) && WEXITSTATUS(status))
		_exit(WEXITSTATUS(status));
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		FAIL("a child was to be killed, and ended with status %#x",
		     status);
}
