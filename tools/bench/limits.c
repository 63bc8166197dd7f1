// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures limits of this machine and prints lines `NAME VALUE': an empty ioctl in
 * microseconds, one memcpy of 1 MiB and one process_vm_readv() of 1 MiB in GB/s. Each value is
 * the best of several rounds.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 1 << 20, ROUNDS = 20 };

static char *from, *to;
static int fd;
static pid_t child;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void empty_ioctl(void)
{
	ioctl(fd, 0, NULL);
}

static void copy(void)
{
	memcpy(to, from, SIZE);
	__asm__ volatile("" ::: "memory");
}

static void copy_other(void)
{
	struct iovec local = { to, SIZE }, remote = { from, SIZE };

	if (process_vm_readv(child, &local, 1, &remote, 1, 0) != SIZE)
		exit(1);
}

/* Seconds of one call, the best of ROUNDS averages over @count. */
static double best(void (*call)(void), int count)
{
	double least = 1e9;
	int i, round;

	for (round = 0; round < ROUNDS; round++) {
		double start = now();

		for (i = 0; i < count; i++)
			call();
		start = (now() - start) / count;
		if (start < least)
			least = start;
	}
	return least;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--help")) {
		puts("Usage: limits [DEVICE FILE]\n"
		     "Exit status: 0, or 1 if something cannot be measured");
		return 0;
	}
	fd = open(argc > 1 ? argv[1] : "/dev/infiniband/uverbs0", O_RDWR);
	if (fd < 0) {
		perror("limits: cannot open the device file");
		return 1;
	}
	from = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	to = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (from == MAP_FAILED || to == MAP_FAILED)
		return 1;
	memset(from, 1, SIZE);

	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	printf("ioctl_us %.3f\n", best(empty_ioctl, 2000) * 1e6);
	printf("memcpy_user_GBs %.3f\n", SIZE / best(copy, 50) * 1e-9);
	printf("process_vm_readv_GBs %.3f\n",
	       SIZE / best(copy_other, 10) * 1e-9);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
