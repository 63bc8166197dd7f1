// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine.h"

pid_t machine_start(char **argv, const char *log, int sock, int sock_out,
		    int network)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	/* Leave the terminal's foreground process group, because ^C is for the command inside. */
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
	if (fd < 0)
		_exit(1);
	dup2(fd, 1);
	dup2(fd, 2);
	fd = open("/dev/null", O_RDONLY);
	dup2(fd, 0);
	/* First move them to high numbers, so that no dup2() overwrites one of them. */
	sock = fcntl(sock, F_DUPFD, 10);
	sock_out = fcntl(sock_out, F_DUPFD, 10);
	if (network >= 0)
		network = fcntl(network, F_DUPFD, 10);
	dup2(sock, 3);
	dup2(sock_out, 4);
	if (network >= 0)
		dup2(network, 5);
	for (fd = network >= 0 ? 6 : 5; fd < 64; fd++)
		close(fd);
	execvp(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(1);
}

void machine_await(pid_t machine)
{
	int i;

	for (i = 0; i < 500; i++) {
		if (waitpid(machine, NULL, WNOHANG) != 0)
			break;
		usleep(10000);
	}
}

void machine_end(pid_t machine)
{
	kill(-machine, SIGKILL);
	kill(machine, SIGKILL);
	for (;;) {
		char path[64];
		FILE *f;
		int pid;
		int any = 0;

		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		snprintf(path, sizeof(path), "/proc/self/task/%d/children",
			 getpid());
		f = fopen(path, "r");
		if (!f)
			return;
		while (fscanf(f, "%d", &pid) == 1) {
			kill(pid, SIGKILL);
			any = 1;
		}
		fclose(f);
		if (!any)
			return;
		usleep(1000);
	}
}
