// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Starts the processes of a fuzzer and adds up what they say. Knows nothing of their calls.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"
#include "victim.h"

/*
 * Making a process, its context and objects takes as long as a thousand calls. Two processes are
 * there at a time, so that their calls meet and none waits for a processor. One whose calls or whose
 * end wait for longer than its time, as some of the connection manager's do, does not count.
 */
enum { AT_ONCE = 2, MOST_AT_ONCE = 10, PROCESS_SECONDS = 5, NOTE_SECONDS = 60 };

static struct {
	int pid; /* 0: none */
	double begun;
} slots[MOST_AT_ONCE];

struct fuzz_seen *fuzz_seen;

static void count(unsigned long *what)
{
	__atomic_add_fetch(what, 1, __ATOMIC_RELAXED);
}

void fuzz_returned(int kind, int err)
{
	count(&fuzz_seen->calls);
	if (err) {
		if (err > 0 && err < FUZZ_ERRNOS)
			count(&fuzz_seen->failed[err]);
		return;
	}
	count(&fuzz_seen->good);
	if (kind >= 0 && kind < FUZZ_KINDS)
		count(&fuzz_seen->good_of[kind]);
}

static unsigned int not_zero(const unsigned long *counts, unsigned int n)
{
	unsigned int i, sum = 0;

	for (i = 0; i < n; i++)
		sum += !!counts[i];
	return sum;
}

unsigned int fuzz_kinds(void)
{
	return not_zero(fuzz_seen->good_of, FUZZ_KINDS);
}

unsigned int fuzz_errnos(void)
{
	return not_zero(fuzz_seen->failed, FUZZ_ERRNOS);
}

int fuzz_missing(const uint8_t *kinds, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!fuzz_seen->good_of[kinds[i]])
			return kinds[i];
	}
	return -1;
}

void fuzz_flip(void *bytes, size_t length)
{
	uint8_t *byte = bytes;

	if (!length)
		return;
	do
		byte[rnd_below(length)] ^= 1 << rnd_below(8);
	while (rnd_below(3) == 0);
}

uint8_t *fuzz_arena(size_t length)
{
	enum { AROUND = 64 << 20 };
	uint8_t *all, *arena;

	all = mmap(NULL, 2 * AROUND, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(all != MAP_FAILED);
	/* The middle of a part whose address and length are such a power of two. */
	arena = all + AROUND - (uintptr_t)all % AROUND + AROUND / 2;
	CHECK_EQ(mprotect(arena, length, PROT_READ | PROT_WRITE), 0);
	return arena;
}

static void process(void *arg)
{
	const struct fuzz *fuzz = arg;
	int calls = in_short() ? fuzz->calls_in_short : fuzz->calls;

	device_open();
	if (fuzz->begin)
		fuzz->begin();
	count(&fuzz_seen->processes);
	/* Ends calls that wait. */
	alarm(patience(PROCESS_SECONDS));
	while (calls--)
		fuzz->call();
	if (fuzz->end)
		fuzz->end();
}

/* The calls since the last note: counts.sh adds all notes up, also of a run that is interrupted. */
static void tell(const struct fuzz *fuzz, struct fuzz_seen *told)
{
	struct fuzz_seen now_seen = *fuzz_seen;

	note("%s: %lu, %lu of them succeeded, in %lu processes", fuzz->word,
	     now_seen.calls - told->calls, now_seen.good - told->good,
	     now_seen.processes - told->processes);
	*told = now_seen;
}

/* Fail unless a process that has ended did so by itself, or by its alarm in a call that waited. */
static void judge(int status)
{
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM)
		child_ended(status);
}

/* A place for another process; -1: there are enough. */
static int free_slot(void)
{
	int i, status, in_time = 0, found = -1;

	for (i = 0; i < MOST_AT_ONCE; i++) {
		if (slots[i].pid &&
		    waitpid(slots[i].pid, &status, WNOHANG) == slots[i].pid) {
			judge(status);
			slots[i].pid = 0;
		}
		if (!slots[i].pid)
			found = i;
		else if (now() < slots[i].begun + patience(PROCESS_SECONDS + 1))
			in_time++;
	}
	return in_time < AT_ONCE ? found : -1;
}

void fuzz_run(const struct fuzz *fuzz)
{
	volatile struct victim *v = victim_start();
	double end = now() + opt.seconds, next = now() + NOTE_SECONDS;
	struct fuzz_seen told = {};
	unsigned long rounds = 0;
	int i;

	fuzz_seen = mmap(NULL, sizeof(*fuzz_seen), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(fuzz_seen != MAP_FAILED);
	while (go_on(end, fuzz->enough())) {
		i = free_slot();
		if (i < 0) {
			usleep(1000);
		} else {
			rnd_seed(opt.seed + rounds++);
			slots[i].begun = now();
			slots[i].pid = spawn(process, (void *)fuzz);
		}
		if (now() > next) {
			tell(fuzz, &told);
			next = now() + NOTE_SECONDS;
		}
	}
	for (i = 0; i < MOST_AT_ONCE; i++) {
		if (slots[i].pid)
			judge(reap(slots[i].pid));
	}
	tell(fuzz, &told);
	/* Each one reached its first call. */
	CHECK_EQ(fuzz_seen->processes, rounds);
	victim_end(v);
}
