// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The victim sends messages of all kinds between two queue pairs of its own, and compares
 * each, until it is told to stop.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transfer.h"
#include "victim.h"

enum { LEN = 40000 };

static void live(void *arg)
{
	struct qp_cfg datagrams = { .type = IBV_QPT_UD };
	volatile struct victim *v = arg;
	struct link link, ud;
	struct region a, b;

	device_open();
	link_make(&link, NULL);
	link_make(&ud, &datagrams);
	a = region_new(LEN, 1003, ALL_ACCESS);
	b = region_new(LEN, 2017, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	v->addr = b.base;
	v->length = LEN;
	v->lkey = b.lkey;
	v->qpn = link.b.qp->qp_num;
	v->ud_qpn = ud.b.qp->qp_num;
	v->handle = link.b.qp->handle;
	__atomic_store_n(&v->rkey, b.rkey, __ATOMIC_RELEASE);
	while (!v->stop) {
		struct transfer t = transfer_in_pieces(
			transfer_opcodes[rnd_below(TRANSFER_OPCODES)],
			rnd_below(LEN - 4096) / 2);

		transfer(&link, &a, &b, &t);
		t.opcode = IBV_WR_SEND;
		t.length = rnd_below(1000);
		transfer(&ud, &a, &b, &t);
		v->rounds++;
	}
}

volatile struct victim *victim_start(void)
{
	volatile struct victim *v;

	v = mmap(NULL, sizeof(*v), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(v != MAP_FAILED);
	v->pid = spawn(live, (void *)v);
	while (!__atomic_load_n(&v->rkey, __ATOMIC_ACQUIRE))
		usleep(1000);
	return v;
}

/* A child that has ended is still there for kill(), until it is reaped. */
static bool has_ended(int pid)
{
	siginfo_t info = {};

	CHECK_EQ(waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	return info.si_pid;
}

void victim_end(volatile struct victim *v)
{
	unsigned long rounds = v->rounds;

	/* Check that it still makes progress now. */
	while (v->rounds < rounds + 3 && !has_ended(v->pid))
		usleep(1000);
	v->stop = true;
	reap_ok(v->pid);
	note("the bystander did %lu rounds", v->rounds);
	CHECK(v->rounds >= 3);
}
