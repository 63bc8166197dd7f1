// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Who processes the packets that wait for a receiver lets others have the receiver between two
 * packets (item PK4), and leaves most members of a group to their users' work items (PK9). Needs a
 * kernel with fault injection.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file.h"
#include "link.h"

/*
 * PACKETS are fewer than one turn may process (BURST in kernel/wire/conn.c), so without giving way
 * a few turns process them all. There are several ASKERS, so that one always waits or soon will:
 * before the packet is delivered, which takes milliseconds, as does an answer. The memory is that
 * of an implicit region, since its delay does not affect the sender.
 */
enum { PACKETS = 48, ENOUGH = 20, EACH = 64, GRH = 40, ASKERS = 3 };
#define DELAY_US "5000"

#define FILES "/sys/kernel/debug/pinion/"

static struct link link_;
static struct region from, to;
/*
 * Of the askers, which are processes: in user-mode Linux threads of one process wait for each other's
 * time in user mode, so that on a busy machine none of them would ask.
 */
static struct {
	unsigned int answers; /* to queries of the receiver; atomic */
	bool go_on, over; /* atomic */
} *asked;

/* Owns the receiver, and sleeps meanwhile. */
static void ask(void *unused)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	(void)unused;
	while (!__atomic_load_n(&asked->over, __ATOMIC_SEQ_CST)) {
		if (!__atomic_load_n(&asked->go_on, __ATOMIC_SEQ_CST)) {
			usleep(1000);
			continue;
		}
		CHECK_EQ(ibv_query_qp(link_.b.qp, &attr, IBV_QP_STATE, &init),
			 0);
		__atomic_add_fetch(&asked->answers, 1, __ATOMIC_SEQ_CST);
	}
}

static unsigned int answered(void)
{
	return __atomic_load_n(&asked->answers, __ATOMIC_SEQ_CST);
}

static int askers[ASKERS];

/* Before there is memory: a fork would take the right to write from its pages. */
static void askers_begin(void)
{
	int i;

	asked = mmap(NULL, sizeof(*asked), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(asked != MAP_FAILED);
	for (i = 0; i < ASKERS; i++)
		askers[i] = spawn(ask, NULL);
}

static void askers_end(void)
{
	int i;

	__atomic_store_n(&asked->over, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < ASKERS; i++)
		reap_ok(askers[i]);
}

static int delay(const char *us)
{
	return file_write(us, FILES "dwell_owner_us") ?:
		       file_write(us, FILES "dwell_child_us");
}

static void begin(enum ibv_qp_type type, bool askers_wanted)
{
	struct qp_cfg cfg = {
		.type = type, .wr = PACKETS, .recv_wr = PACKETS, .cqe = PACKETS
	};
	struct ibv_sge sge;
	struct buf *buf;

	need_root();
	need_odp();
	if (!dev.packets)
		skip("no packets to peers on this host");
	if (delay("0"))
		skip("this kernel injects no faults");
	link_make(&link_, &cfg);
	if (askers_wanted)
		askers_begin();
	from = region_new(PACKETS * EACH, 3, ALL_ACCESS);
	buf = buf_new(PACKETS * (GRH + EACH), 5);
	to = region_of(buf, MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL)),
		       (uintptr_t)buf->data);
	sge = sge_of(&to, 0, PACKETS * (GRH + EACH));
	CHECK_EQ(ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
		 0);
}

/* One packet for each request, all posted by one doorbell. */
static void send_all(enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr wr[PACKETS] = {};
	struct ibv_sge sge[PACKETS];
	int i;

	for (i = 0; i < PACKETS; i++) {
		sge[i] = sge_of(&from, i * EACH, EACH);
		wr[i].next = i + 1 < PACKETS ? &wr[i + 1] : NULL;
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].opcode = opcode;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		if (opcode == IBV_WR_SEND) {
			wr[i].wr.ud.ah = link_.a.ah;
			wr[i].wr.ud.remote_qpn = link_.b.qp->qp_num;
			wr[i].wr.ud.remote_qkey = QKEY;
		} else {
			wr[i].wr.rdma.remote_addr =
				to.base + i * (GRH + EACH) + GRH;
			wr[i].wr.rdma.rkey = to.rkey;
		}
	}
	post(&link_.a, wr);
}

/*
 * Between two packets that waited, somebody who waited was answered. Where a processor is busy with
 * other things, an asker may come after several packets, but not every time.
 */
static bool gives_way(void *arg)
{
	enum ibv_wr_opcode opcode = *(enum ibv_wr_opcode *)arg;
	unsigned int before, meanwhile;
	struct ibv_sge sge;
	int i;

	for (i = 0; opcode == IBV_WR_SEND && i < PACKETS; i++) {
		sge = sge_of(&to, i * (GRH + EACH), GRH + EACH);
		post_recv(&link_.b, &sge, 1, i);
	}
	buf_fill(from.buf);
	CHECK_EQ(delay(DELAY_US), 0);
	before = answered();
	__atomic_store_n(&asked->go_on, true, __ATOMIC_SEQ_CST);
	while (answered() < before + ASKERS)
		sched_yield();
	before = answered();
	send_all(opcode);
	for (i = 0; i < PACKETS; i++)
		expect(await(link_.a.scq), IBV_WC_SUCCESS);
	for (i = 0; opcode == IBV_WR_SEND && i < PACKETS; i++)
		expect(await(link_.b.rcq), IBV_WC_SUCCESS);
	meanwhile = answered() - before;
	__atomic_store_n(&asked->go_on, false, __ATOMIC_SEQ_CST);
	CHECK_EQ(delay("0"), 0);
	for (i = 0; i < PACKETS; i++)
		CHECK(!memcmp(from.buf->data + i * EACH,
			      to.buf->data + i * (GRH + EACH) + GRH, EACH));
	note("%u answers while %d packets came", meanwhile, PACKETS);
	return meanwhile >= ENOUGH;
}

static void try_all(enum ibv_wr_opcode opcode)
{
	if (!one_of(3, "those who ask were late", gives_way, &opcode))
		FAIL("packets were processed that others waited for");
	askers_end();
}

/* A receiver of many datagrams gives way to others on its processor. */
static void pk4_datagrams(void)
{
	begin(IBV_QPT_UD, true);
	try_all(IBV_WR_SEND);
}

/* A receiver of many writes gives way to others on its processor. */
static void pk4_writes(void)
{
	begin(IBV_QPT_RC, true);
	try_all(IBV_WR_RDMA_WRITE);
}

/* Members of a group, at whom a datagram arrives in milliseconds each. */
enum { MEMBERS = 32, GROUP_ROUNDS = 10 };

static struct end members[MEMBERS];

static struct ibv_ah *join_all(void)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, 0xff, 239, 9, 9, 9 } };
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = gid, .sgid_index = dev.gid_index },
	};
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct peer peer = { .gid = dev.gid };
	int i;

	for (i = 0; i < MEMBERS; i++) {
		end_make(&members[i], &cfg);
		end_init(&members[i]);
		end_connect(&members[i], &peer);
		CHECK_EQ(ibv_attach_mcast(members[i].qp, &gid, 0), 0);
	}
	return MUST(ibv_create_ah(dev.pd, &attr));
}

static void send_to_group(struct ibv_ah *ah)
{
	struct ibv_sge sge = sge_of(&from, 0, EACH), sink;
	int i;

	buf_fill(from.buf);
	for (i = 0; i < MEMBERS; i++) {
		sink = sge_of(&to, i * (GRH + EACH), GRH + EACH);
		post_recv(&members[i], &sink, 1, i);
	}
	expect(send_ud(&link_.a, sge, ah, 0xffffff, QKEY), IBV_WC_SUCCESS);
}

static void check_received(void)
{
	int i;

	for (i = 0; i < MEMBERS; i++)
		CHECK(!memcmp(from.buf->data,
			      to.buf->data + i * (GRH + EACH) + GRH, EACH));
}

/* Writes by another connection that complete before the datagram is at all members. */
static int writes_meanwhile(struct link *other, struct ibv_ah *ah)
{
	struct ibv_sge sge = sge_of(&from, EACH, EACH);
	struct region sink = region_new(EACH, 0, ALL_ACCESS);
	int there = 0, writes = 0;
	struct ibv_wc wc;

	CHECK_EQ(file_write(DELAY_US, FILES "dwell_child_us"), 0);
	send_to_group(ah);
	while (there < MEMBERS) {
		expect(rdma(&other->a, IBV_WR_RDMA_WRITE, sge, sink.base,
			    sink.rkey),
		       IBV_WC_SUCCESS);
		writes++;
		while (there < MEMBERS && poll_one(members[there].rcq, &wc)) {
			expect(wc, IBV_WC_SUCCESS);
			there++;
		}
	}
	CHECK_EQ(delay("0"), 0);
	check_received();
	region_free(&sink);
	return writes;
}

/*
 * A datagram to a large group does not hold up other packets: the one thread that delivers them all
 * leaves it to the work items of the members' users.
 */
static void pk9_group(void)
{
	int i, writes, most = 0;
	struct link other;
	struct ibv_ah *ah;

	begin(IBV_QPT_UD, false);
	link_make(&other, NULL);
	ah = join_all();
	for (i = 0; i < GROUP_ROUNDS; i++) {
		writes = writes_meanwhile(&other, ah);
		if (writes > most)
			most = writes;
	}
	note("%d writes while a datagram came to %d members", most, MEMBERS);
	CHECK(most >= MEMBERS);
}

static const struct test tests[] = {
	TEST(pk4_datagrams, "PK4 a receiver of datagrams gives way"),
	TEST(pk4_writes, "PK4 a receiver of writes gives way"),
	TEST(pk9_group, "PK9 most members of a group are left to their users"),
};

int main(int argc, char **argv)
{
	int rc = harness_main(argc, argv,
			      "Packets, and who else wants their receiver",
			      tests, ARRAY_SIZE(tests));

	/* A failed test may have left them on. */
	delay("0");
	return rc;
}
