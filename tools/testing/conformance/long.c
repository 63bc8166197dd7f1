// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registrations that take seconds: they end if the process is killed, and let other processes
 * run meanwhile (class 22, items LG1 to LG6).
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "buf.h"
#include "link.h"
#include "memory.h"
#include "pins.h"
#include "resources.h"

/* How long a registration has to take, in seconds. */
#define TIME 2.0
enum { SAMPLE = 2 * MEMORY_PIECE };

static char *at;
static size_t length;

/*
 * The most that a process of user-mode Linux may use if it goes on: with more scattered pages it
 * has more mappings than the host allows.
 */
static size_t most(void)
{
	return in_user_mode_linux() ? 6 * SAMPLE : 32ul << 30;
}

/*
 * Allocates memory whose registration takes at least TIME, and returns how long it takes; its
 * pages fault when they are pinned.
 */
static double prepare(size_t limit)
{
	double begun, took = 1e9;
	struct ibv_mr *mr;
	int i;

	need_root();
	/* Take the shortest of three: the machine may do other things, too. */
	for (i = 0; i < 3; i++) {
		at = memory_again(SAMPLE);
		memset(at, 1, MEMORY_PIECE);
		begun = now();
		mr = MUST(ibv_reg_mr(dev.pd, at + MEMORY_PIECE, MEMORY_PIECE,
				     ALL_ACCESS));
		if (now() - begun < took)
			took = now() - begun;
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		CHECK_EQ(munmap(at, SAMPLE), 0);
	}
	took *= SAMPLE / MEMORY_PIECE;
	length = (size_t)(TIME / took + 1) * SAMPLE;
	if (length > limit)
		length = limit;
	at = memory_again(length);
	took *= (double)length / SAMPLE;
	note("%zu MiB, about %.1f s", length >> 20, took);
	return took;
}

static struct ibv_mr *reg(void)
{
	return ibv_reg_mr(dev.pd, at, length, ALL_ACCESS);
}

static void registers(void *arg)
{
	(void)arg;
	device_open();
	ibv_dereg_mr(MUST(reg()));
}

static void reregisters(void *arg)
{
	struct region r;

	(void)arg;
	device_open();
	r = region_new(9000, 5, ALL_ACCESS);
	CHECK_EQ(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, at,
			      length, 0),
		 0);
}

/* A loaded machine may be late sometimes, but not every time. */
enum { TRIES = 10 };

struct killed {
	void (*body)(void *arg);
};

/*
 * A process killed in the middle of a registration ends well before the registration would have
 * finished.
 */
static bool ends_at_once(void *arg)
{
	double whole = prepare(32ul << 30);
	const struct killed *killed = arg;
	struct resources before;
	double begun, took;
	long long pages;
	int pid, status;

	resources_read(&before);
	pages = pinned_pages();
	pid = spawn(killed->body, NULL);
	begun = now();
	while (vm_pin(pid) < (long)(length >> 10) &&
	       now() < begun + patience(60))
		usleep(1000);
	usleep(whole / 5 * 1e6);
	begun = now();
	CHECK_EQ(kill(pid, SIGKILL), 0);
	status = reap(pid);
	took = now() - begun;
	if (status)
		CHECK_EQ(status, SIGKILL);
	if (status)
		note("gone after %.2f s", took);
	else
		note("it was through before that");
	resources_await(&before);
	CHECK_EQ(pinned_pages(), pages);
	CHECK_EQ(munmap(at, length), 0);
	return status && took < 0.6 * whole;
}

/* A process is killed in a long registration: it ends at once. */
static void killed(const void *body)
{
	struct killed killed = { body };

	if (!one_of(TRIES, "it had ended, or went on when it was killed",
		    ends_at_once, &killed))
		FAIL("it went on when it was killed, %d times", TRIES);
}

static volatile sig_atomic_t rung;

static void ring(int signal)
{
	(void)signal;
	rung++;
}

/* A signal with a handler: registration succeeds or has no effect, and the handler runs once. */
static void lg3_handled(void)
{
	struct sigaction action = { .sa_handler = ring };
	struct itimerval timer = {};
	double whole = prepare(most()), end;
	struct ibv_mr *mr;

	timer.it_value.tv_usec = whole / 4 * 1e6;
	timer.it_value.tv_sec = timer.it_value.tv_usec / 1000000;
	timer.it_value.tv_usec %= 1000000;
	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &timer, NULL), 0);
	mr = reg();
	if (mr) {
		CHECK_EQ(vm_pin(0), length >> 10);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	} else {
		CHECK_EQ(errno, EINTR);
	}
	CHECK_EQ(vm_pin(0), 0);
	/* The registration may have finished before the timer. */
	for (end = now() + patience(60); !rung && now() < end;)
		usleep(10000);
	CHECK_EQ(rung, 1);
}

/* ----------------------------------------------- other processes can run */

struct clock {
	_Atomic bool stop;
	volatile double longest;
	volatile unsigned long ticks;
};

static struct clock *clock_;

static void run_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	CHECK_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* Measures the longest time between two looks at the clock. */
static void looks_at_the_time(void *arg)
{
	double last = now(), next;

	(void)arg;
	while (!clock_->stop) {
		next = now();
		if (next - last > clock_->longest)
			clock_->longest = next - last;
		last = next;
		clock_->ticks++;
	}
}

static bool others_may(void *arg)
{
	double begun, reg_end, dereg_end;
	struct ibv_mr *mr;
	int pid;

	(void)arg;
	*clock_ = (struct clock){};
	prepare(most());
	pid = spawn(looks_at_the_time, NULL);
	while (!clock_->ticks)
		sched_yield();
	begun = now();
	mr = MUST(reg());
	reg_end = now();
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	dereg_end = now();
	clock_->stop = true;
	reap_ok(pid);
	CHECK_EQ(munmap(at, length), 0);
	note("%.2f + %.2f s; another waited %.0f ms at most", reg_end - begun,
	     dereg_end - reg_end, clock_->longest * 1e3);
	/* Up to half a second may be due to load on the machine. */
	return clock_->longest < 0.5 ||
	       clock_->longest < 0.3 * (reg_end - begun);
}

/* Another process on the same processor does not wait for a long registration. */
static void lg4_others(void)
{
	clock_ = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(clock_ != MAP_FAILED);
	run_here();
	if (!one_of(TRIES, "another waited long", others_may, NULL))
		FAIL("another waited too long, %d times", TRIES);
}

/* A terabyte can be registered: no limit on tables, of the core's or ours, is below it. */
static void lg5_terabyte(void)
{
	void *nowhere;

	CHECK(dev.attr.orig_attr.max_mr_size >= 1ull << 40);
	nowhere = mmap(NULL, 1ul << 40, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (nowhere == MAP_FAILED)
		skip("no terabyte of addresses");
	need_root();
	MUST_NOT(ibv_reg_mr(dev.pd, nowhere, 1ul << 40, ALL_ACCESS), EFAULT);
	CHECK_EQ(vm_pin(0), 0);
}

/* ------------------------------------------- signals, on demand */

/*
 * Creates so many mappings that locking them all takes longer than the time to the next signal.
 * The kernel locks all when it registers the first notifier of a process.
 */
static void have_many_mappings(void)
{
	enum { MAPPINGS = 12000 };
	char *map = mmap(NULL, 2 * MAPPINGS * PAGE, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t i;

	CHECK(map != MAP_FAILED);
	for (i = 0; i < MAPPINGS; i++)
		CHECK_EQ(mprotect(map + 2 * i * PAGE, PAGE, PROT_READ), 0);
}

static void ring_often(void)
{
	struct sigaction action = { .sa_handler = ring,
				    .sa_flags = SA_RESTART };
	/* Often for this kernel: one with checkers would do nothing else. */
	long us = 100 * patience(1) * patience(1);
	struct itimerval timer = { { 0, us }, { 0, us } };

	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void watched_explicit(void *arg)
{
	struct region r;

	(void)arg;
	device_open();
	r.buf = buf_new(9000, 5);
	have_many_mappings();
	ring_often();
	r = region_reg(dev.pd, r.buf, ODP_ALL);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
}

/* The first access is a message's, and must not fail because of a signal. */
static void watched_implicit(void *arg)
{
	struct region all, r;
	struct link link;
	struct ibv_mr *mr;

	(void)arg;
	device_open();
	link_make(&link, NULL);
	all = region_new(9000, 77, ALL_ACCESS);
	r.buf = buf_new(9000, 5);
	have_many_mappings();
	ring_often();
	mr = MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL));
	r = region_of(r.buf, mr, (uintptr_t)r.buf->data);
	exchange(&link, &all, &r);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

/* Each in a new process, whose memory has no notifier yet. */
static void lg6_watched(void)
{
	int i, rounds = in_short() ? 1 : 4;

	need_odp();
	for (i = 0; i < rounds; i++) {
		context("round %d", i);
		reap_ok(spawn(watched_explicit, NULL));
		reap_ok(spawn(watched_implicit, NULL));
	}
}

static const struct test tests[] = {
	LONG_TEST_WITH(killed, registers,
		       "LG1 killed while it registers (class 22)", 300),
	LONG_TEST_WITH(killed, reregisters, "LG2 killed in rereg (class 22)",
		       300),
	LONG_TEST(lg3_handled, "LG3 a signal that is handled", 300),
	LONG_TEST(lg4_others, "LG4 others get the processor (class 22)", 300),
	TEST(lg5_terabyte, "LG5 a terabyte of nothing"),
	LONG_TEST(lg6_watched, "LG6 a signal that is handled, on demand", 120),
};

HARNESS_MAIN("Registrations that take long", tests)
