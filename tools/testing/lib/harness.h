/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Runs each test in a process of its own, with a time limit, and reports as KTAP.
 * A test returns, or leaves through one of the macros below. The exit of the process
 * destroys what the test created, and the harness checks that nothing is left.
 */
#ifndef PINION_TEST_HARNESS_H
#define PINION_TEST_HARNESS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rnd.h"

struct options {
	const char *device; /* NULL: the first one */
	int gid_index; /* -1: the first RoCE v2 one with an IPv4 address */
	int seconds; /* for each test that runs for a time */
	uint64_t seed;
	const char *only; /* tests whose name contains this */
};

extern struct options opt;

/* Exactly one of the functions is set. */
struct test {
	const char *name;
	int timeout; /* seconds; raised to a minimum that all tests have */
	void (*run)(void);
	void (*run_of)(int number);
	void (*run_with)(const void *argument);
	int number; /* for run_of */
	const void *argument; /* for run_with */
};

/* A test that may take longer than most; @time in seconds. */
#define LONG_TEST(function, what, time) \
	{ .name = (what), .timeout = (time), .run = (function) }
/* One of several tests that only differ in a number: an enum, a length, true or false. */
#define LONG_TEST_OF(function, with, what, time) \
	{ .name = (what),                        \
	  .timeout = (time),                     \
	  .run_of = (function),                  \
	  .number = (with) }
/* In anything else: @with points to a string, a struct or a function. */
#define LONG_TEST_WITH(function, with, what, time) \
	{ .name = (what),                          \
	  .timeout = (time),                       \
	  .run_with = (function),                  \
	  .argument = (with) }

#define TEST(function, what) LONG_TEST(function, what, 0)
#define TEST_OF(function, with, what) LONG_TEST_OF(function, with, what, 0)
#define TEST_WITH(function, with, what) LONG_TEST_WITH(function, with, what, 0)

int harness_main(int argc, char **argv, const char *about,
		 const struct test *tests, size_t count);

#define HARNESS_MAIN(about, tests)                                       \
	int main(int argc, char **argv)                                  \
	{                                                                \
		return harness_main(argc, argv, about, tests,            \
				    sizeof(tests) / sizeof((tests)[0])); \
	}

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

void failed(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
void skip(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* A line of diagnosis. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Set which case of a table the test runs; shown when it fails. */
void context(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define FAIL(...) failed(__FILE__, __LINE__, __VA_ARGS__)

#define CHECK(condition)                                          \
	do {                                                      \
		if (!(condition))                                 \
			FAIL("%s (errno %d)", #condition, errno); \
	} while (0)

#define CHECK_EQ(got, want)                                               \
	do {                                                              \
		long long got_ = (long long)(got);                        \
		long long want_ = (long long)(want);                      \
		if (got_ != want_)                                        \
			FAIL("%s is %lld (%#llx), not %s = %lld (%#llx)", \
			     #got, got_, got_, #want, want_, want_);      \
	} while (0)

/* A call that must give a pointer. */
#define MUST(call)                                          \
	({                                                  \
		typeof(call) must_ = (call);                \
		if (!must_)                                 \
			FAIL("%s: errno %d", #call, errno); \
		must_;                                      \
	})

/* A call that must give NULL, and say why in errno. */
#define MUST_NOT(call, why)                                                \
	do {                                                               \
		errno = 0;                                                 \
		if ((call))                                                \
			FAIL("%s succeeded, want errno %d", #call, why);   \
		if (errno != (why))                                        \
			FAIL("%s: errno is %d, not %s = %d", #call, errno, \
			     #why, why);                                   \
	} while (0)

double now(void);

/* Is this kernel user-mode Linux? */
bool in_user_mode_linux(void);
/*
 * slow(): by which factor this machine is slower than a plain one, from SLOW in the
 * environment. patience(): @seconds times this factor. The harness and every wait with a
 * time limit use it.
 */
unsigned int slow(void);
double patience(double seconds);
/* Is this a short run (--seconds 1)? Tests may then leave out cases. */
bool in_short(void);
/* Should a test go on? Until @end, and up to a minute more until @seen_enough. */
bool go_on(double end, bool seen_enough);
/*
 * Call @attempt up to @tries times until it returns true. Other load on the machine may spoil
 * attempts; @spoilt says how. Each repetition is printed, and scripts/check counts them.
 */
bool one_of(int tries, const char *spoilt, bool (*attempt)(void *arg),
	    void *arg);

/* From now on this process, a child, prints nothing, nor why it fails. */
void be_silent(void);
/* Fork a child that runs @body and exits 0; it is killed when this process ends. */
int spawn(void (*body)(void *arg), void *arg);
/* Wait for a child; returns its status as of waitpid(). */
int reap(int pid);
/* The same, in *@status, if it ends within patience(@seconds); else false. */
bool reap_within(int pid, double seconds, int *status);
void reap_ok(int pid);
/* A child has ended with this status: end as it did, unless it exited with 0. */
void child_ended(int status);

#endif /* PINION_TEST_HARNESS_H */
