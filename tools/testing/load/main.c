// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Processes that exchange data over many queue pairs at once, by all kinds of operations, with
 * random sizes and offsets, and check it. Meanwhile some are killed and started again, and the
 * device may be removed.
 *
 * Each connection is between two processes. Each side describes its queue pair in shared memory,
 * with a sequence number that changes with the description. The sides connect when each has seen
 * the other's current description. A side whose queue pair fails, or that sees the other's number
 * change, makes a new queue pair. No process ever waits for another one.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stress.h"

const char *device_name;
int processes = 8, qps = 8, gid_index = 1;
bool may_go;
int slow = 1;
uint64_t seed_of_run;
struct shared *shared;
char *pool;

static int seconds = 10, kill_ms;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static pid_t spawn(int index)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		process(index);
	return pid;
}

static int run(void)
{
	double end = now() + seconds, next_kill = now() + kill_ms * 1e-3;
	pid_t pids[MAX_PROCESSES] = { 0 }, pid;
	int i, status, failed = 0, gone = 0, alive = processes, started = 0;

	for (i = 0; i < processes; i++)
		pids[i] = spawn(i);
	while (alive) {
		if (!started && atomic_load(&shared->ops)) {
			printf("# under way\n");
			started = 1;
		}
		/*
		 * If no operation has completed by the end, go on for up to a minute, as the
		 * machine may be slow.
		 */
		if ((now() > end && (started || now() > end + 60 * slow)) ||
		    failed || gone)
			atomic_store(&shared->stop, true);
		if (now() > end + 120 * slow) {
			printf("# some do not end\n");
			failed = 1;
			for (i = 0; i < processes; i++)
				if (pids[i])
					kill(pids[i], SIGKILL);
			end = now() + 1000;
		}
		if (kill_ms && now() > next_kill &&
		    !atomic_load(&shared->stop)) {
			i = rnd() % processes;
			if (pids[i] && !kill(pids[i], SIGKILL))
				atomic_fetch_add(&shared->kills, 1);
			next_kill = now() + kill_ms * 1e-3;
		}
		pid = waitpid(-1, &status, WNOHANG);
		if (pid <= 0) {
			usleep(5000);
			continue;
		}
		for (i = 0; i < processes && pids[i] != pid; i++)
			;
		pids[i] = 0;
		alive--;
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
			if (!atomic_load(&shared->stop)) {
				pids[i] = spawn(i);
				alive++;
			}
		} else if (WIFEXITED(status) &&
			   WEXITSTATUS(status) == EXIT_GONE) {
			gone = 1;
		} else if (status) {
			printf("# process %d ended with status %#x\n", i,
			       status);
			failed = 1;
		}
	}
	printf("# %llu operations, %llu MB, %llu receives, %llu connections, %llu errors, %llu kills%s\n",
	       (unsigned long long)shared->ops,
	       (unsigned long long)shared->bytes >> 20,
	       (unsigned long long)shared->receives,
	       (unsigned long long)shared->connects,
	       (unsigned long long)shared->errors,
	       (unsigned long long)shared->kills,
	       gone ? ", the device went away" : "");
	if (!shared->ops) {
		printf("# nothing was done\n");
		failed = 1;
	}
	return failed;
}

static void usage(FILE *to)
{
	fprintf(to,
		"Usage: stress [OPTIONS]\n\n"
		"  --device NAME    the device (needed)\n"
		"  --gid-index N    of its port (default 1)\n"
		"  --processes N    2, 4, 8, ... (default 8)\n"
		"  --qps N          queue pairs of each (default 8)\n"
		"  --seconds N      how long (default 10)\n"
		"  --kill MS        kill -9 one of them every MS milliseconds\n"
		"  --may-go         the device may go away while they run\n"
		"  --seed N         of the random numbers\n\n"
		"Exit status: 0 all data was right, 1 not, 2 wrong call\n");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", 1, NULL, 'd' },    { "gid-index", 1, NULL, 'g' },
		{ "processes", 1, NULL, 'p' }, { "qps", 1, NULL, 'q' },
		{ "seconds", 1, NULL, 's' },   { "kill", 1, NULL, 'k' },
		{ "may-go", 0, NULL, 'm' },    { "seed", 1, NULL, 'r' },
		{ "help", 0, NULL, 'h' },      {}
	};
	int opt, i;

	seed_of_run = time(NULL);
	if (atoi(getenv("SLOW") ?: "1") > 1)
		slow = atoi(getenv("SLOW"));
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'd':
			device_name = optarg;
			break;
		case 'g':
			gid_index = atoi(optarg);
			break;
		case 'p':
			processes = atoi(optarg);
			break;
		case 'q':
			qps = atoi(optarg);
			break;
		case 's':
			seconds = atoi(optarg);
			break;
		case 'k':
			kill_ms = atoi(optarg);
			break;
		case 'm':
			may_go = true;
			break;
		case 'r':
			seed_of_run = strtoull(optarg, NULL, 0);
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (!device_name || processes < 2 || processes > MAX_PROCESSES ||
	    processes & (processes - 1) || qps < 1 || qps > MAX_QPS) {
		usage(stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	rnd_seed(seed_of_run);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pool = mmap(NULL, POOL, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pool == MAP_FAILED)
		return 2;
	for (i = 0; i < POOL; i++)
		pool[i] = rnd();
	printf("# seed %llu\n", (unsigned long long)seed_of_run);
	return run();
}
