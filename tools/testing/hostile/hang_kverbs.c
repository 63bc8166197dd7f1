// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The peer of a kernel user of verbs, such as NFS or RDS, has memory that never becomes present (see
 * hang.c): the kernel's queue pair can be drained and destroyed all the same (items H19, H20), and
 * goes on when the memory comes (H21). The module kverbs (../kverbs/peer.c) has that queue pair.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kverbs/peer.h"
#include "link.h"
#include "resources.h"
#include "rnd.h"
#include "slow.h"

#define PEER_FILE "/sys/kernel/debug/kverbs/peer"

/* Time limit for actions that must not wait, in seconds. */
enum { SECONDS = 10 };

/* What the kernel does with the memory of its peer, which never comes. */
enum { WRITES, READS, SENDS, RECEIVES, PLAYS };
static const char *const names[PLAYS] = { "write", "read", "send", "receive" };

/* In shared memory. */
struct board {
	volatile uint32_t kernel_qpn; /* 0: not known yet */
	volatile uint32_t qpn, rkey; /* of the process */
	_Atomic bool ready; /* it is connected, and these are known */
	_Atomic bool connected; /* so is the kernel's end */
	_Atomic bool waiting; /* one of them was seen to wait */
	_Atomic bool done; /* the process's own request has completed */
};

static struct board *board;
static struct slow memory;
static int play;
static bool it_comes;

static void await_that(_Atomic bool *thing)
{
	double limit = now() + patience(PATIENCE);

	while (!*thing) {
		CHECK(now() < limit);
		usleep(1000);
	}
}

/* ----------------------------------------------------------------- the owner of the memory */

static void hang(void *arg)
{
	struct qp_cfg cfg = { .mtu = IBV_MTU_1024 };
	struct ibv_sge sge = { .addr = (uintptr_t)memory.map,
			       .length = PEER_LENGTH };
	struct ibv_send_wr send = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct peer kernel;
	struct ibv_mr *mr;
	struct end end;
	double limit;

	(void)arg;
	device_open();
	mr = MUST(ibv_reg_mr(dev.pd, memory.map, SLOW_LEN, ODP_ALL));
	sge.lkey = mr->lkey;
	end_make(&end, &cfg);
	end.psn = PEER_PSN;
	kernel = end_peer(&end);
	limit = now() + patience(PATIENCE);
	while (!board->kernel_qpn && now() < limit)
		usleep(1000);
	kernel.qpn = board->kernel_qpn;
	end_init(&end);
	if (play == SENDS)
		post_recv(&end, &sge, 1, 1);
	end_connect(&end, &kernel);
	board->rkey = mr->rkey;
	board->qpn = end.qp->qp_num;
	board->ready = true;
	await_that(&board->connected);
	if (play == RECEIVES) {
		post(&end, &send);
		expect(await(end.scq), IBV_WC_SUCCESS);
	} else if (play == SENDS) {
		expect(await(end.rcq), IBV_WC_SUCCESS);
	}
	board->done = true;
	pause();
}

/* ------------------------------------------------------------------- the kernel's end */

static void kernel_does(int fd, const char *command)
{
	CHECK_EQ(pwrite(fd, command, strlen(command), 0), strlen(command));
}

struct kernel_end {
	unsigned int qpn, completions, status;
};

static struct kernel_end kernel_read(int fd)
{
	struct kernel_end end;
	char text[64] = "";

	CHECK(pread(fd, text, sizeof(text) - 1, 0) > 0);
	CHECK_EQ(sscanf(text, "%u %u %u", &end.qpn, &end.completions,
			&end.status),
		 3);
	return end;
}

/* The kernel's request waits for the memory of the process, or the process's request does. */
static void kernel_begin(int fd)
{
	char command[64];

	board->kernel_qpn = kernel_read(fd).qpn;
	await_that(&board->ready);
	snprintf(command, sizeof(command), "connect %u", board->qpn);
	kernel_does(fd, command);
	if (play == WRITES || play == READS)
		snprintf(command, sizeof(command), "%s %llu %u", names[play],
			 (unsigned long long)(uintptr_t)memory.map,
			 board->rkey);
	else
		snprintf(command, sizeof(command), "%s", names[play]);
	kernel_does(fd, command);
	board->connected = true;
	slow_await(&memory);
	CHECK_EQ(kernel_read(fd).completions, 0);
}

/* The request completes, and the bytes are right. */
static void kernel_see_it_come(int fd, const uint8_t *sent)
{
	double limit = now() + patience(PATIENCE);
	uint8_t here[PEER_LENGTH];

	while (!kernel_read(fd).completions) {
		CHECK(now() < limit);
		usleep(1000);
	}
	await_that(&board->done);
	CHECK_EQ(pread(fd, here, sizeof(here), PEER_DATA), sizeof(here));
	CHECK(!memcmp(here, memory.map, sizeof(here)));
	/* Of the two sides' bytes, both have those of the side that was to send. */
	CHECK(!memcmp(here, sent, sizeof(here)) ==
	      (play == WRITES || play == SENDS));
}

static void suffer(void *arg)
{
	uint8_t sent[PEER_LENGTH];
	struct kernel_end end;
	int fd = open(PEER_FILE, O_RDWR);

	(void)arg;
	CHECK(fd >= 0);
	rnd_fill(sent, sizeof(sent));
	CHECK_EQ(pwrite(fd, sent, sizeof(sent), PEER_DATA), sizeof(sent));
	kernel_begin(fd);
	board->waiting = true;
	if (it_comes)
		kernel_see_it_come(fd, sent);
	kernel_does(fd, "drain");
	/* There was one request. Draining ends it if it still waits, and completes nothing twice. */
	end = kernel_read(fd);
	CHECK_EQ(end.completions, 1);
	CHECK_EQ(end.status, it_comes ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
	/* Destroys. */
	CHECK_EQ(close(fd), 0);
}

/* --------------------------------------------------------------------- both processes */

static void perform(void)
{
	struct resources before;
	int hanger, victim, status = 0;
	double limit;
	bool ended = false;

	context("%s", names[play]);
	resources_read(&before);
	memory = slow_new();
	slow_hold(&memory, true);
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(board != MAP_FAILED);
	hanger = spawn(hang, NULL);
	victim = spawn(suffer, NULL);
	limit = now() + patience(PATIENCE);
	while (!board->waiting && !ended && now() < limit) {
		usleep(1000);
		ended = waitpid(victim, &status, WNOHANG) == victim;
	}
	if (it_comes)
		slow_hold(&memory, false);
	ended = ended || reap_within(victim, SECONDS, &status);
	/* Otherwise this test would hang, too. */
	kill(hanger, SIGKILL);
	slow_hold(&memory, false);
	reap(hanger);
	CHECK(board->waiting);
	CHECK(ended);
	CHECK_EQ(status, 0);
	resources_await(&before);
	slow_end(&memory);
	CHECK_EQ(munmap(board, sizeof(*board)), 0);
}

static void need_kverbs(void)
{
	need_root();
	need_odp();
	if (access(PEER_FILE, F_OK))
		skip("the module kverbs is not loaded");
}

/* A kernel user's request waits for memory of its peer: it is drained and destroyed at once. */
static void h19_kernel_asks(void)
{
	need_kverbs();
	for (play = WRITES; play <= SENDS; play++)
		perform();
}

/* Its peer's message waits for the peer's own memory; likewise. */
static void h20_kernel_receives(void)
{
	need_kverbs();
	play = RECEIVES;
	perform();
}

/* What has waited is done when the memory comes. */
static void h21_it_comes(void)
{
	need_kverbs();
	it_comes = true;
	for (play = WRITES; play < PLAYS; play++)
		perform();
}

static const struct test tests[] = {
	TEST(h19_kernel_asks,
	     "H19 a kernel user whose peer's memory never comes"),
	TEST(h20_kernel_receives,
	     "H20 a kernel user who hears nothing of a peer whose memory never comes"),
	TEST(h21_it_comes, "H21 a kernel user, when that memory comes"),
};

HARNESS_MAIN("a kernel user and memory that never comes", tests)
