/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared declarations. main.c starts processes, kills some and sums up; process.c is one
 * process; connection.c creates queue pairs and connects them; operation.c makes requests and
 * checks them.
 */
#ifndef PINION_STRESS_H
#define PINION_STRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "rnd.h"

enum {
	MAX_PROCESSES = 64,
	MAX_QPS = 64,
	POOL = 1 << 20, /* random bytes, the same for all */
	WINDOW = 160 << 10, /* greatest length of an operation */
	RECVS = 8,
	RECV_SIZE = 20000,
	MAX_PIECES = 4,
	UD_SPACE = 40,
	QKEY = 0x11223344,
	EXIT_GONE = 3, /* exit status: the device was removed */
	EXIT_WRONG = 4, /* exit status: wrong data, or a call failed */
};

/* Description of one side of a connection, which only the other side reads. */
struct side {
	_Atomic uint32_t seq; /* odd while it is being written */
	_Atomic uint32_t seen; /* the other side's seq that we have read */
	uint32_t qpn, psn, rkey;
	uint64_t window, atomics;
};

struct shared {
	_Atomic bool stop;
	_Atomic uint64_t ops, bytes, receives, connects, kills, errors;
	struct side side[MAX_PROCESSES][MAX_QPS];
};

/* Memory of a connection. Operations use random offsets, which the 64 extra bytes allow. */
struct memory {
	char source[WINDOW + 64];
	char back[WINDOW + 64];
	char window[WINDOW + 64]; /* the other side reads and writes it */
	char recv[RECVS][RECV_SIZE + UD_SPACE + 64];
	uint64_t atomics[2] __attribute__((aligned(4096)));
	uint64_t old;
};

enum state { FRESH, WAITING, CONNECTED };

struct conn {
	enum state state;
	enum ibv_qp_type type;
	int peer;
	struct side *mine, *other;
	uint32_t connected_to;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct memory *mem;
	struct side remote; /* the description that we connected to */
	bool busy;
	int expect; /* completions to come for the current operation */
	/* the current operation, to check it when it completes */
	int kind;
	uint32_t length, from, to, seed;
	uint64_t counter; /* the last value of the other side's atomic word */
	bool counter_known;
};

/* main.c: for all processes. */
extern const char *device_name;
extern int processes, qps, gid_index;
extern bool may_go;
extern int slow; /* by which factor this machine is slower than a plain one */
extern uint64_t seed_of_run;
extern struct shared *shared;
extern char *pool;

/* process.c: state of one process. */
extern int me;
extern struct ibv_pd *pd;
extern struct ibv_cq *cq;
extern union ibv_gid gid;
extern struct conn conns[MAX_QPS];

/* Runs process number @index until shared->stop. */
void process(int index) __attribute__((noreturn));
/* A call has failed: exits with EXIT_GONE if the device was removed, else with EXIT_WRONG. */
void give_up(const char *what) __attribute__((noreturn));
/* Prints what was found and what was expected, and exits with EXIT_WRONG. */
void wrong(struct conn *c, const char *what, uint64_t is, uint64_t want)
	__attribute__((noreturn));

/* connection.c */
enum ibv_mtu mtu_of(const struct conn *c);
int post_recv(struct conn *c, int i);
/*
 * make() creates a queue pair, try_connect() connects it once the other side has one, too, and
 * drop() destroys it.
 */
void make(struct conn *c);
void try_connect(struct conn *c);
void drop(struct conn *c);

/* operation.c */
/* Posts a random operation. */
void start(struct conn *c);
/* The operation has completed: checks it. */
void check_done(struct conn *c);
/* Receive request @i has completed: checks it. */
void received(struct conn *c, int i, const struct ibv_wc *wc);

#endif /* PINION_STRESS_H */
