// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a requester's thread does itself, where no other thread can: a sender whose window is full
 * processes its packets (item PK5), and a reader sends a part of the answer (PK10).
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
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

static struct hog *hogs;
static int processors;

/*
 * From now on no work item can run, so all is done in the system calls of this process. The kernel lets
 * others run after most of a second, and the clock of a busy host may jump that far.
 */
static void stop_others(void)
{
	double limit = now() + patience(PATIENCE);
	int i;

	processors = sysconf(_SC_NPROCESSORS_ONLN);
	hogs = mmap(NULL, processors * sizeof(*hogs), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(hogs != MAP_FAILED);
	stay_on(0);
	for (i = 1; i < processors; i++) {
		hogs[i] = (struct hog){ .cpu = i };
		hogs[i].pid = spawn(occupy, &hogs[i]);
	}
	for (i = 1; i < processors; i++) {
		while (!__atomic_load_n(&hogs[i].runs, __ATOMIC_ACQUIRE)) {
			if (now() > limit)
				FAIL("processor %d is left to others", i);
			usleep(1000);
		}
	}
	run_first(true);
}

static void let_others_go_on(void)
{
	int i;

	run_first(false);
	for (i = 1; i < processors; i++)
		killed(hogs[i].pid);
	munmap(hogs, processors * sizeof(*hogs));
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

static bool writes_alone(void *unused)
{
	int i, done, more = 0;

	(void)unused;
	buf_fill(from.buf);
	stop_others();
	post_all();
	done = count(0);
	while (done < MESSAGES && more < DOORBELLS) {
		write_one(more++ % MESSAGES, 1);
		done = count(done);
	}
	let_others_go_on();
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

static void begin(const struct qp_cfg *cfg)
{
	need_root();
	if (!dev.packets)
		skip("no packets to peers on this host");
	link_make(&link_, cfg);
}

/* Writes complete although no thread but the sender's may use a processor. */
static void pk5_helps(void)
{
	struct qp_cfg cfg = { .wr = MESSAGES + DOORBELLS,
			      .cqe = MESSAGES + DOORBELLS };

	begin(&cfg);
	from = region_new(MESSAGES * EACH, 3, ALL_ACCESS);
	to = region_new(MESSAGES * EACH, 5, ALL_ACCESS);
	if (!one_of(3, "others had a processor", writes_alone, NULL))
		FAIL("the sender waited for threads that cannot run");
}

/* So many bytes of an answer are sent by its reader's thread, and it asks for so many packets at a time. */
enum { AT_ONCE = 65536, PACKETS = 64 };

/* Rings for a READ of @length bytes. Return: how many bytes of the first one are there afterwards. */
static uint32_t read_some(uint32_t length, uint32_t before)
{
	uint32_t came = before;

	post_rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&to, 0, length), from.base,
		  from.rkey, 1);
	while (came < to.buf->length &&
	       to.buf->data[came] == from.buf->data[came])
		came++;
	return came;
}

/* Bytes behind what has come may be equal by chance. */
static bool is_about(uint32_t came, uint32_t bytes)
{
	return came >= bytes && came < bytes + 8;
}

static bool reads_alone(void *unused)
{
	uint32_t first, second;

	(void)unused;
	buf_fill(from.buf);
	memset(to.buf->data, 0, to.buf->length);
	stop_others();
	first = read_some(to.buf->length, 0);
	/* The answer to the first goes on; the second waits behind it. */
	second = read_some(8, first);
	let_others_go_on();
	note("%u of %zu bytes are there after the doorbell, %u after another",
	     first, to.buf->length, second);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	CHECK(!memcmp(to.buf->data, from.buf->data, to.buf->length));
	return is_about(first, AT_ONCE) && is_about(second, 2 * AT_ONCE);
}

/* The doorbell of a READ brings a bounded part of its answer, without any other thread. */
static void pk10_reads(void)
{
	uint32_t length;

	begin(NULL);
	length = PACKETS * (128U << link_.a.cfg.mtu);
	if (length <= 2 * AT_ONCE)
		skip("at this MTU all of an answer is within the bound");
	from = region_new(length, 3, ALL_ACCESS);
	to = region_new(length, 5, ALL_ACCESS);
	if (!one_of(3, "others had a processor", reads_alone, NULL))
		FAIL("it is not as much of the answer as it may be");
}

/* A queue pair that was never modified: it has no MTU. Another one's datagrams for it are dropped. */
static struct end fresh;
static struct link datagrams;

/* The core reads counters at most every 10 ms. Whoever sleeps meanwhile lets others run. */
static long long count_drops(void)
{
	double until = now() + 0.02;

	while (now() < until)
		;
	return device_counter("ud_drops");
}

static bool takes_datagram(void *unused)
{
	long long before, early, taken;

	(void)unused;
	stop_others();
	before = count_drops();
	expect(send_ud(&datagrams.a, sge_of(&from, 0, 100), datagrams.a.ah,
		       fresh.qp->qp_num, QKEY),
	       IBV_WC_SUCCESS);
	early = count_drops() - before;
	post_rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&from, 0, 1), to.base,
		  to.rkey, 1);
	taken = count_drops() - before;
	let_others_go_on();
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	CHECK_EQ(to.buf->data[0], from.buf->data[0]);
	return !early && taken == 1;
}

/* A doorbell also takes what others have sent. */
static void pk10_unmodified(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };

	begin(NULL);
	link_make(&datagrams, &cfg);
	end_make(&fresh, &cfg);
	from = region_new(20000, 1, ALL_ACCESS);
	to = region_new(20000, 7, ALL_ACCESS);
	if (!one_of(3, "others had a processor", takes_datagram, NULL))
		FAIL("the doorbell did not take the datagram");
}

static const struct test tests[] = {
	TEST(pk5_helps, "PK5 a sender that waits helps its receiver"),
	TEST(pk10_reads, "PK10 a reader sends a part of the answer"),
	TEST(pk10_unmodified, "PK10 to a queue pair without an MTU"),
};

int main(int argc, char **argv)
{
	return harness_main(argc, argv, "Packets, where processors are busy",
			    tests, ARRAY_SIZE(tests));
}
