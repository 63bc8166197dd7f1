// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Another user of the device, whose datagrams wait for neighbours that never answer, takes no room of
 * ours (item FA10).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "command.h"
#include "file.h"
#include "killed.h"
#include "link.h"
#include "rdma_tool.h"

enum {
	NEIGHBOURS = 40, /* the kernel keeps some 200 KiB for each */
	FIRST = 100, /* their addresses: 192.0.2.FIRST and so on */
	NOBODY = 65534,
	LENGTH = 300000,
	ROUNDS = 20,
};

/* They are known at first, since addresses are resolved when a handle is made. */
static void neighbours_are_known(bool known)
{
	int i;

	for (i = 0; i < NEIGHBOURS; i++)
		must_run(known ? "ip neigh replace 192.0.2.%d lladdr "
				 "02:00:00:00:00:77 dev v1 nud permanent" :
				 "ip neigh del 192.0.2.%d dev v1",
			 FIRST + i);
}

/* How often they are asked where they are, once a second, before that counts as an answer. */
static void ask_them(const char *times)
{
	CHECK_EQ(file_write(times, "/proc/sys/net/ipv4/neigh/v1/mcast_solicit"),
		 0);
}

static struct ibv_ah *handle_of(int i)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = dev.gid_index, .hop_limit = 64 },
	};

	attr.grh.dgid = dev.gid;
	attr.grh.dgid.raw[15] = FIRST + i;
	return MUST(ibv_create_ah(dev.pd, &attr));
}

/* The other user: says when he has begun, and never ends. */
static void crowd(int told)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct ibv_ah *handles[NEIGHBOURS];
	struct region region;
	struct end end;
	char go;
	int i;

	CHECK_EQ(setresuid(NOBODY, NOBODY, NOBODY), 0);
	device_open();
	device_use_address(&dev, false);
	end_make(&end, &cfg);
	end_init(&end);
	CHECK_EQ(end_to_rtr(&end, &(struct peer){}), 0);
	CHECK_EQ(end_to_rts(&end), 0);
	region = region_new(1000, 0, IBV_ACCESS_LOCAL_WRITE);
	for (i = 0; i < NEIGHBOURS; i++)
		handles[i] = handle_of(i);
	CHECK_EQ(write(told, "!", 1), 1);
	CHECK_EQ(read(told, &go, 1), 1);
	for (i = 0;; i = (i + 1) % NEIGHBOURS)
		expect(send_ud(&end, sge_of(&region, 0, 1000), handles[i], 2,
			       QKEY),
		       IBV_WC_SUCCESS);
}

/* He has no room any more: all that he sends is dropped. */
static void await_more_drops(void)
{
	double limit = now() + patience(60);
	long long before = rdma_counter("ud_drops");

	while (rdma_counter("ud_drops") < before + 1000) {
		CHECK(now() < limit);
		usleep(10000);
	}
}

/* A user whose packets find no room does not take that of others. */
static void fa10_others(void)
{
	struct qp_cfg a = { .wr = 4 }, b = a;
	struct region out, in;
	struct link link;
	int pair[2], i;
	pid_t pid;
	char said;

	need_root();
	need_rdma_tool();
	device_open();
	far_open();
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	neighbours_are_known(true);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		crowd(pair[1]);
		_exit(1);
	}
	close(pair[1]);
	CHECK_EQ(read(pair[0], &said, 1), 1);
	ask_them("100000");
	neighbours_are_known(false);
	CHECK_EQ(write(pair[0], "!", 1), 1);
	b.device = &far_dev;
	a.mtu = b.mtu = IBV_MTU_1024;
	link_make2(&link, &a, &b);
	out = region_reg(dev.pd, buf_new(LENGTH, 3), ALL_ACCESS);
	in = region_reg(far_dev.pd, buf_new(LENGTH, 50), ALL_ACCESS);
	await_more_drops();
	for (i = 0; i < ROUNDS; i++) {
		rnd_fill(out.buf->data, LENGTH);
		expect(rdma(&link.a, IBV_WR_RDMA_WRITE, sge_of(&out, 0, LENGTH),
			    in.base, in.rkey),
		       IBV_WC_SUCCESS);
		CHECK(!memcmp(in.buf->data, out.buf->data, LENGTH));
		/* What the other end reads leaves here, too. */
		rnd_fill(out.buf->data, LENGTH);
		expect(rdma(&link.b, IBV_WR_RDMA_READ, sge_of(&in, 0, LENGTH),
			    out.base, out.rkey),
		       IBV_WC_SUCCESS);
		CHECK(!memcmp(in.buf->data, out.buf->data, LENGTH));
	}
	await_more_drops();
	killed(pid);
	ask_them("3");
}

static const struct test tests[] = {
	TEST(fa10_others, "FA10 who has no room takes none of others"),
};

HARNESS_MAIN("A crowded device", tests)
