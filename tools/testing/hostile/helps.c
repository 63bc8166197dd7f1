// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A sender whose window is full processes its packets itself where no other thread can (item PK5).
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "killed.h"
#include "link.h"

/* Several times the window of a connection, 1 MiB at most, in one list. */
enum { MESSAGES = 64, EACH = 65536 };
/* Small requests that follow: each doorbell runs the executor again. */
enum { DOORBELLS = 100 };

static struct link link_;
static struct region from, to;

static void stay_on(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	CHECK_EQ(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
}

/* Before all threads that are not of real time, work items among them; or like these again. */
static void run_first(bool first)
{
	struct sched_param param = { .sched_priority = first };

	CHECK_EQ(sched_setscheduler(0, first ? SCHED_FIFO : SCHED_OTHER,
				    &param),
		 0);
}

/* A process that leaves its processor to nobody. It is in memory that it shares with the test. */
struct hog {
	int cpu, pid;
	bool runs; /* atomic: before all others, from now on */
};

static void occupy(void *arg)
{
	struct hog *hog = arg;

	stay_on(hog->cpu);
	run_first(true);
	__atomic_store_n(&hog->runs, true, __ATOMIC_RELEASE);
	for (;;)
		;
}

static void occupy_all(struct hog *hogs, int n)
{
	double limit = now() + patience(PATIENCE);
	int i;

	for (i = 1; i < n; i++) {
		hogs[i] = (struct hog){ .cpu = i };
		hogs[i].pid = spawn(occupy, &hogs[i]);
	}
	for (i = 1; i < n; i++) {
		while (!__atomic_load_n(&hogs[i].runs, __ATOMIC_ACQUIRE)) {
			if (now() > limit)
				FAIL("processor %d is left to others", i);
			usleep(1000);
		}
	}
}

static void write_one(int i, uint32_t length)
{
	post_rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&from, i * EACH, length),
		  to.base + i * EACH, to.rkey, i);
}

static void post_all(void)
{
	struct ibv_send_wr wr[MESSAGES] = {};
	struct ibv_sge sge[MESSAGES];
	int i;

	for (i = 0; i < MESSAGES; i++) {
		sge[i] = sge_of(&from, i * EACH, EACH);
		wr[i].wr_id = i;
		wr[i].next = i + 1 < MESSAGES ? &wr[i + 1] : NULL;
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].wr.rdma.remote_addr = to.base + i * EACH;
		wr[i].wr.rdma.rkey = to.rkey;
	}
	post(&link_.a, wr);
}

/* How many of the messages are complete, in order. */
static int count(int done)
{
	struct ibv_wc wc;

	while (done < MESSAGES && poll_one(link_.a.scq, &wc)) {
		expect(wc, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, done++);
	}
	return done;
}

/*
 * No work item can run, so all is done in the system calls of this process. The kernel lets others
 * run after most of a second, and the clock of a busy host may jump that far.
 */
static bool alone(void *unused)
{
	int n = sysconf(_SC_NPROCESSORS_ONLN), i, done, more = 0;
	struct hog *hogs = mmap(NULL, n * sizeof(*hogs), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	CHECK(hogs != MAP_FAILED);
	buf_fill(from.buf);
	stay_on(0);
	occupy_all(hogs, n);
	run_first(true);
	post_all();
	done = count(0);
	while (done < MESSAGES && more < DOORBELLS) {
		write_one(more++ % MESSAGES, 1);
		done = count(done);
	}
	run_first(false);
	for (i = 1; i < n; i++)
		killed(hogs[i].pid);
	munmap(hogs, n * sizeof(*hogs));
	note("%d of %d messages complete, %d more doorbells", done, MESSAGES,
	     more);
	for (i = done; i < MESSAGES; i++)
		expect(await(link_.a.scq), IBV_WC_SUCCESS);
	while (more--)
		expect(await(link_.a.scq), IBV_WC_SUCCESS);
	for (i = 0; i < MESSAGES * EACH; i++)
		CHECK_EQ(to.buf->data[i], from.buf->data[i]);
	return done == MESSAGES;
}

/* Writes complete although no thread but the sender's may use a processor. */
static void pk5_helps(void)
{
	struct qp_cfg cfg = { .wr = MESSAGES + DOORBELLS,
			      .cqe = MESSAGES + DOORBELLS };

	need_root();
	if (!dev.packets)
		skip("no packets to peers on this host");
	link_make(&link_, &cfg);
	from = region_new(MESSAGES * EACH, 3, ALL_ACCESS);
	to = region_new(MESSAGES * EACH, 5, ALL_ACCESS);
	if (!one_of(3, "others had a processor", alone, NULL))
		FAIL("the sender waited for threads that cannot run");
}

static const struct test tests[] = {
	TEST(pk5_helps, "PK5 a sender that waits helps its receiver"),
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, "Packets, where processors are busy",
			    tests, ARRAY_SIZE(tests));
}
