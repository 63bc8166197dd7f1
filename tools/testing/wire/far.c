// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages to and from a device at the other end of a cable, pinion's or another driver's, over
 * a cable that may harm packets (items FA1 to FA9). All transferred bytes, and those around them,
 * are compared.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "newer.h"
#include "transfer.h"
#include "xrc.h"

enum {
	ZONE = 220000, /* longest message: many packets with any MTU */
	WRITES = 3,
	READS = 2,
	SENDS = 2,
	ATOMICS = 3,
	BURST = WRITES + READS + SENDS + ATOMICS,
	DATAGRAMS = 80,
	SLOTS = 16,
	COMMITS = 4,
	ECT = 2, /* ECN: routers may mark the packets */
};

struct duel {
	struct link link;
	struct region out, back, old; /* the requester's */
	struct region in, source, box, word; /* the responder's */
};

static struct region region_at(const struct device *device, size_t length,
			       int access)
{
	return region_reg(device->pd, buf_new(length, rnd_below(PAGE)), access);
}

static struct qp_cfg cfg_of(const struct device *device, enum ibv_qp_type type)
{
	return (struct qp_cfg){
		.type = type,
		.device = device,
		.mtu = common_mtu(),
		.traffic_class = ECT,
		.wr = 4 * SLOTS,
	};
}

/* Most tests run once in each direction. */
static const struct device *requester, *responder;

static void begin(int to_far)
{
	device_open();
	far_open();
	requester = to_far ? &dev : &far_dev;
	responder = to_far ? &far_dev : &dev;
}

static void duel_connect(struct duel *d, enum ibv_qp_type type)
{
	struct qp_cfg a = cfg_of(requester, type), b = cfg_of(responder, type);

	link_make2(&d->link, &a, &b);
}

static void duel_make(struct duel *d)
{
	duel_connect(d, IBV_QPT_RC);
	d->out = region_at(requester, ZONE, IBV_ACCESS_LOCAL_WRITE);
	d->back = region_at(requester, READS * ZONE, IBV_ACCESS_LOCAL_WRITE);
	d->old = region_at(requester, ATOMICS * 8, IBV_ACCESS_LOCAL_WRITE);
	d->in = region_at(responder, WRITES * ZONE, ALL_ACCESS);
	d->source = region_at(responder, ZONE, ALL_ACCESS);
	d->box = region_at(responder, SENDS * ZONE, IBV_ACCESS_LOCAL_WRITE);
	d->word = region_reg(responder->pd, buf_new(8, 8 * rnd_below(100)),
			     ALL_ACCESS);
}

static void duel_check(const struct duel *d)
{
	buf_check(d->out.buf);
	buf_check(d->back.buf);
	buf_check(d->old.buf);
	buf_check(d->in.buf);
	buf_check(d->source.buf);
	buf_check(d->box.buf);
	buf_check(d->word.buf);
}

/* Returns a length: 0, within one packet, near the borders of packets, or of many packets. */
static uint32_t some_length(void)
{
	uint32_t mtu = 128 << common_mtu();

	switch (rnd_below(5)) {
	case 0:
		return rnd_below(17);
	case 1:
		return mtu * rnd_in(1, 3) + rnd_below(3) - 1;
	case 2:
		return rnd_below(20 * mtu) % (ZONE + 1);
	default:
		return rnd_below(ZONE + 1);
	}
}

/* ------------------------------------------------------- reliable connections */

static void model_copy(struct region *to, uint64_t at,
		       const struct region *from, uint64_t of, uint32_t length)
{
	memcpy(to->buf->want + at, from->buf->want + of, length);
}

static void post_write(struct duel *d, int i)
{
	uint32_t length = some_length();
	uint64_t from = rnd_in(0, ZONE - length);
	uint64_t to = i * ZONE + rnd_in(0, ZONE - length);

	post_rdma(&d->link.a, IBV_WR_RDMA_WRITE, sge_of(&d->out, from, length),
		  d->in.base + to, d->in.rkey, 0);
	model_copy(&d->in, to, &d->out, from, length);
}

static void post_read(struct duel *d, int i)
{
	uint32_t length = some_length();
	uint64_t from = rnd_in(0, ZONE - length);
	uint64_t to = i * ZONE + rnd_in(0, ZONE - length);

	post_rdma(&d->link.a, IBV_WR_RDMA_READ, sge_of(&d->back, to, length),
		  d->source.base + from, d->source.rkey, 0);
	model_copy(&d->back, to, &d->source, from, length);
}

static void post_message(struct duel *d, int i)
{
	uint32_t length = some_length();
	uint64_t from = rnd_in(0, ZONE - length);
	struct ibv_sge sge = sge_of(&d->out, from, length);
	struct ibv_sge sink = sge_of(&d->box, i * ZONE, ZONE);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	post_recv(&d->link.b, &sink, 1, length);
	post(&d->link.a, &wr);
	model_copy(&d->box, i * ZONE, &d->out, from, length);
}

static void post_atomic(struct duel *d, int i)
{
	struct ibv_sge sge = sge_of(&d->old, 8 * i, 8);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = rnd() & 1 ? IBV_WR_ATOMIC_FETCH_AND_ADD :
				      IBV_WR_ATOMIC_CMP_AND_SWP,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { d->word.base, rnd(), rnd(), d->word.rkey },
	};
	uint64_t before;

	memcpy(&before, d->word.buf->want, 8);
	memcpy(d->old.buf->want + 8 * i, &before, 8);
	if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		before += wr.wr.atomic.compare_add;
	} else {
		/* Compare with the current value, so that the swap happens. */
		wr.wr.atomic.compare_add = before;
		before = wr.wr.atomic.swap;
	}
	memcpy(d->word.buf->want, &before, 8);
	post(&d->link.a, &wr);
}

/* Posts several requests of each kind at once, in random order. */
static void burst(struct duel *d)
{
	int left[] = { WRITES, READS, SENDS, ATOMICS }, kind, i, n = BURST;
	void (*const posts[])(struct duel *d, int i) = { post_write, post_read,
							 post_message,
							 post_atomic };
	struct ibv_wc wc;

	while (n) {
		kind = rnd_below(ARRAY_SIZE(left));
		if (!left[kind])
			continue;
		posts[kind](d, --left[kind]);
		n--;
	}
	for (i = 0; i < BURST; i++)
		expect(await(d->link.a.scq), IBV_WC_SUCCESS);
	for (i = 0; i < SENDS; i++) {
		wc = await(d->link.b.rcq);
		expect(wc, IBV_WC_SUCCESS);
		CHECK_EQ(wc.byte_len, wc.wr_id);
	}
	duel_check(d);
}

/* Bursts of requests of all kinds between two hosts, compared with a model. */
static void fa1_bursts(int to_far)
{
	double end = now() + opt.seconds;
	struct duel d;
	int done = 0;

	begin(to_far);
	duel_make(&d);
	do
		burst(&d);
	while (go_on(end, ++done >= 5));
	note("%d bursts of %d requests", done, BURST);
}

/* --------------------------- unreliable services: lost, but never wrong */

/* Fills a message with its number, and with bytes that are computed from that. */
static void contents(uint8_t *to, size_t length, uint32_t number)
{
	uint64_t state = number;
	size_t i;

	for (i = 0; i < length; i++)
		to[i] = rnd_next(&state);
}

static void check_contents(const uint8_t *data, size_t length, uint32_t number)
{
	uint8_t *want = MUST(malloc(length + 1));

	contents(want, length, number);
	if (memcmp(data, want, length))
		FAIL("%zu bytes of message %u are not its own", length, number);
	free(want);
}

struct lossy {
	struct duel *d;
	struct region out, in;
	size_t slot; /* bytes */
	bool writes;
	uint32_t lengths[DATAGRAMS];
	int header, arrived;
};

static void lossy_receive(struct lossy *l, uint64_t slot)
{
	struct ibv_sge sge = sge_of(&l->in, slot * l->slot, l->slot);

	post_recv(&l->d->link.b, &sge, 1, slot);
}

static void lossy_arrived(struct lossy *l, const struct ibv_wc *wc)
{
	uint32_t number = ntohl(wc->imm_data);
	uint64_t slot = l->writes ? number % SLOTS : wc->wr_id;

	expect(*wc, IBV_WC_SUCCESS);
	CHECK(wc->wc_flags & IBV_WC_WITH_IMM);
	CHECK(number < DATAGRAMS);
	CHECK_EQ(wc->byte_len, l->lengths[number] + l->header);
	check_contents(l->in.buf->data + slot * l->slot + l->header,
		       l->lengths[number], number);
	l->arrived++;
	lossy_receive(l, wc->wr_id);
}

/* Sends, and waits until the message arrives or is regarded as lost. It may arrive later. */
static void lossy_send(struct lossy *l, uint32_t number)
{
	uint64_t slot = number % SLOTS * l->slot;
	struct ibv_sge sge = sge_of(&l->out, slot, l->lengths[number]);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = l->writes ? IBV_WR_RDMA_WRITE_WITH_IMM :
				      IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htonl(number),
	};
	int before = l->arrived;
	struct ibv_wc wc;

	contents(l->out.buf->data + slot, l->lengths[number], number);
	if (l->d->link.a.ah) {
		wr.wr.ud.ah = l->d->link.a.ah;
		wr.wr.ud.remote_qpn = l->d->link.b.qp->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	} else if (l->writes) {
		wr.wr.rdma.remote_addr = l->in.base + slot;
		wr.wr.rdma.rkey = l->in.rkey;
	}
	post(&l->d->link.a, &wr);
	expect(await(l->d->link.a.scq), IBV_WC_SUCCESS);
	while (l->arrived == before &&
	       comes_within(l->d->link.b.rcq, patience(0.1), &wc))
		lossy_arrived(l, &wc);
}

static void lossy(enum ibv_qp_type type, bool writes)
{
	uint32_t number, most = type == IBV_QPT_UD ? 128 << common_mtu() : 5000;
	struct lossy l = { .header = type == IBV_QPT_UD ? 40 : 0,
			   .writes = writes };
	struct ibv_wc wc;
	struct duel d;
	int i;

	duel_connect(&d, type);
	l.d = &d;
	l.slot = most + l.header;
	l.out = region_at(requester, SLOTS * l.slot, IBV_ACCESS_LOCAL_WRITE);
	l.in = region_at(responder, SLOTS * l.slot,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	for (i = 0; i < SLOTS; i++)
		lossy_receive(&l, i);
	for (number = 0; number < DATAGRAMS; number++) {
		l.lengths[number] = rnd_below(most + 1);
		lossy_send(&l, number);
	}
	while (comes_within(d.link.b.rcq, patience(0.3), &wc))
		lossy_arrived(&l, &wc);
	note("%d of %d arrived", l.arrived, DATAGRAMS);
	/* After a lost packet of an unreliable WRITE, rxe may discard all later messages. */
	if (!writes || responder->pinion)
		CHECK(l.arrived > DATAGRAMS / 3);
}

/* Messages of an unreliable connection arrive whole and in order, or not at all. */
static void fa2_uc(int to_far)
{
	begin(to_far);
	lossy(IBV_QPT_UC, false);
	lossy(IBV_QPT_UC, true);
}

/* Datagrams arrive whole, or not at all. */
static void fa3_ud(int to_far)
{
	begin(to_far);
	lossy(IBV_QPT_UD, false);
}

/* --------------------------------------------- features of some devices only */

#ifdef HAVE_WR_FLUSH
static uint64_t persistent_ops(void)
{
	return IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE |
	       IBV_QP_EX_WITH_RDMA_WRITE;
}

/* rxe computes the ICRC of FLUSH differently: see Documentation/wire.rst. */
static bool flushes(void)
{
	return requester->pinion && responder->pinion;
}

/* Posts data, a FLUSH of it, then an ATOMIC WRITE that commits it. Returns how many requests. */
static int post_commit(struct duel *d)
{
	uint32_t length = rnd_in(1, ZONE);
	struct ibv_sge sge = sge_of(&d->out, rnd_in(0, ZONE - length), length);
	uint64_t to = rnd_in(0, ZONE - length), value = rnd();
	struct ibv_qp_ex *ex = d->link.a.ex;

	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, d->in.rkey, d->in.base + to);
	ibv_wr_set_sge(ex, sge.lkey, sge.addr, sge.length);
	if (flushes())
		ibv_wr_flush(ex, d->in.rkey, d->in.base + to, length,
			     IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	ibv_wr_atomic_write(ex, d->word.rkey, d->word.base, &value);
	CHECK_EQ(ibv_wr_complete(ex), 0);
	model_copy(&d->in, to, &d->out, sge.addr - d->out.base, length);
	memcpy(d->word.buf->want, &value, 8);
	return flushes() ? 3 : 2;
}

/* Writes as to persistent memory, several times in a row. */
static void write_and_commit(struct duel *d)
{
	int i, count = 0;

	for (i = 0; i < COMMITS; i++)
		count += post_commit(d);
	while (count--)
		expect(await(d->link.a.scq), IBV_WC_SUCCESS);
	buf_check(d->out.buf);
	buf_check(d->in.buf);
	buf_check(d->word.buf);
}

/* Writes that are followed by a flush and an atomic write are there when the latter is. */
static void fa4_commits(int to_far)
{
	int access = ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL, done = 0;
	double end = now() + opt.seconds;
	struct qp_cfg a, b;
	struct duel d;

	begin(to_far);
	a = cfg_of(requester, IBV_QPT_RC);
	b = cfg_of(responder, IBV_QPT_RC);
	a.ops = persistent_ops();
	b.access = access;
	link_make2(&d.link, &a, &b);
	d.out = region_at(requester, ZONE, IBV_ACCESS_LOCAL_WRITE);
	d.in = region_at(responder, ZONE, access);
	d.word = region_reg(responder->pd, buf_new(8, 8 * rnd_below(100)),
			    ALL_ACCESS);
	do
		write_and_commit(&d);
	while (go_on(end, ++done >= 5));
	note("%d times %d commits", done, COMMITS);
}
#else
static void fa4_commits(int to_far)
{
	(void)to_far;
	no_wr_flush();
}
#endif

/* The other side binds a window to a region, which is written to, and a message invalidates it. */
struct lender {
	struct duel d;
	struct region lent;
	struct ibv_mw *mw;
};

static void lend(struct lender *l)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = l->mw,
			     .bind_info = { l->lent.mr, l->lent.base, ZONE,
					    IBV_ACCESS_REMOTE_WRITE } },
	};

	wr.bind_mw.rkey = ibv_inc_rkey(l->mw->rkey);
	post(&l->d.link.b, &wr);
	expect(await(l->d.link.b.scq), IBV_WC_SUCCESS);
	l->mw->rkey = wr.bind_mw.rkey;
}

static void give_back(struct lender *l, struct ibv_sge *sge)
{
	struct ibv_sge sink = sge_of(&l->d.box, 7, ZONE - 7);
	struct ibv_send_wr wr = { .send_flags = IBV_SEND_SIGNALED,
				  .num_sge = 1,
				  .sg_list = sge,
				  .opcode = IBV_WR_SEND_WITH_INV,
				  .invalidate_rkey = l->mw->rkey };
	struct ibv_wc wc;

	post_recv(&l->d.link.b, &sink, 1, 1);
	post(&l->d.link.a, &wr);
	expect(await(l->d.link.a.scq), IBV_WC_SUCCESS);
	wc = await(l->d.link.b.rcq);
	expect(wc, IBV_WC_SUCCESS);
	/* rxe reports the kernel's IB_WC_WITH_INVALIDATE, which is another bit. */
	if (responder->pinion)
		CHECK(wc.wc_flags & IBV_WC_WITH_INV);
	CHECK_EQ(wc.invalidated_rkey, l->mw->rkey);
	CHECK_EQ(wc.byte_len, sge->length);
	model_copy(&l->d.box, 7, &l->d.out, sge->addr - l->d.out.base,
		   sge->length);
	buf_check(l->d.box.buf);
}

/* A send gives a window back: its data were right, and it is refused from then on. */
static void fa5_invalidates(int to_far)
{
	double end = now() + opt.seconds;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct lender l;
	uint64_t from;
	int done = 0;

	begin(to_far);
	duel_connect(&l.d, IBV_QPT_RC);
	l.d.out = region_at(requester, ZONE, IBV_ACCESS_LOCAL_WRITE);
	l.d.box = region_at(responder, ZONE, IBV_ACCESS_LOCAL_WRITE);
	l.lent = region_at(responder, ZONE, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	l.mw = MUST(ibv_alloc_mw(responder->pd, IBV_MW_TYPE_2));
	do {
		lend(&l);
		from = rnd_below(ZONE - 70001);
		sge = sge_of(&l.d.out, from, 70001);
		expect(rdma(&l.d.link.a, IBV_WR_RDMA_WRITE, sge,
			    l.lent.base + 5, l.mw->rkey),
		       IBV_WC_SUCCESS);
		model_copy(&l.lent, 5, &l.d.out, from, 70001);
		buf_check(l.lent.buf);
		give_back(&l, &sge);
	} while (go_on(end, ++done >= 3));
	note("invalidated %d times", done);
	wc = rdma(&l.d.link.a, IBV_WR_RDMA_WRITE, sge, l.lent.base + 5,
		  l.mw->rkey);
	/* The refusal is said once. If it is lost (suite loss), nobody answers any more. */
	if (!getenv("PACKETS_ARE_LOST") || wc.status != IBV_WC_RETRY_EXC_ERR)
		expect(wc, IBV_WC_REM_ACCESS_ERR);
	end_await_state(&l.d.link.b, IBV_QPS_ERR);
	buf_check(l.lent.buf);
}

/* Messages of all sizes to a shared receive queue. */
static void fa6_shared(int to_far)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16,
						    .max_sge = 4 } };
	struct qp_cfg a, b;
	struct region x, y;
	struct transfer t;
	struct link link;
	int i;

	begin(to_far);
	a = cfg_of(requester, IBV_QPT_RC);
	b = cfg_of(responder, IBV_QPT_RC);
	x = region_at(requester, 2 * ZONE + PAGE, ALL_ACCESS);
	y = region_at(responder, 2 * ZONE + PAGE, ALL_ACCESS);
	b.srq = MUST(ibv_create_srq(responder->pd, &attr));
	link_make2(&link, &a, &b);
	for (i = 0; i < 12; i++) {
		t = transfer_in_pieces(i & 1 ? IBV_WR_SEND_WITH_IMM :
					       IBV_WR_SEND,
				       some_length());
		transfer(&link, &x, &y, &t);
	}
}

/* XRC: messages of each kind to a shared receive queue by its number. */
static void fa7_xrc(void)
{
	double end = now() + opt.seconds;
	struct qp_cfg a, b;
	struct region x, y;
	struct transfer t;
	struct link link;
	int i = 0;

	begin(true);
	if (!far_dev.pinion)
		skip("rxe has no XRC");
	a = cfg_of(&dev, IBV_QPT_XRC_SEND);
	b = cfg_of(&far_dev, IBV_QPT_XRC_RECV);
	b.xrcd = MUST(xrcd_open(far_dev.ctx, -1));
	b.rcq = MUST(ibv_create_cq(far_dev.ctx, 64, NULL, NULL, 0));
	{
		struct ibv_srq_init_attr_ex attr = {
			.attr = { .max_wr = 16, .max_sge = 4 },
			.comp_mask = IBV_SRQ_INIT_ATTR_TYPE |
				     IBV_SRQ_INIT_ATTR_XRCD |
				     IBV_SRQ_INIT_ATTR_CQ |
				     IBV_SRQ_INIT_ATTR_PD,
			.srq_type = IBV_SRQT_XRC,
			.pd = far_dev.pd,
			.xrcd = b.xrcd,
			.cq = b.rcq,
		};

		b.srq = MUST(ibv_create_srq_ex(far_dev.ctx, &attr));
	}
	link_make2(&link, &a, &b);
	x = region_at(&dev, 2 * ZONE + PAGE, ALL_ACCESS);
	y = region_at(&far_dev, 2 * ZONE + PAGE, ALL_ACCESS);
	do {
		t = transfer_in_pieces(transfer_opcodes[i % TRANSFER_OPCODES],
				       some_length());
		transfer(&link, &x, &y, &t);
	} while (go_on(end, ++i >= 4 * TRANSFER_OPCODES));
	note("%d messages", i);
}

/* ---------------------------------------------------------------- groups */

enum { GRH = 40, CALLS = 12 };

struct crowd {
	struct duel d; /* link.b is a member of the group on the other side */
	struct end beside; /* another member, on the side of the sender */
	bool has_beside; /* only if the sender is a pinion device */
	struct region out, in, in_beside;
	union ibv_gid group;
	struct ibv_ah *ah;
};

static union ibv_gid some_group(bool v6)
{
	union ibv_gid v4 = { .raw = { [10] = 0xff, 0xff, 239, 7 } };
	union ibv_gid gid = { .raw = { 0xff, 0x05 } };
	int i;

	if (!v6)
		gid = v4;
	for (i = 14; i < 16; i++)
		gid.raw[i] = rnd_in(1, 254);
	return gid;
}

/* Is a netdev of this namespace a member, for the network stack? */
static bool is_joined(const union ibv_gid *group, bool v6)
{
	char line[256], want[33] = "";
	bool found = false;
	FILE *file;
	int i;

	if (v6)
		for (i = 0; i < 16; i++)
			sprintf(want + 2 * i, "%02x", group->raw[i]);
	else
		for (i = 0; i < 4; i++)
			sprintf(want + 2 * i, "%02X", group->raw[15 - i]);
	file = MUST(fopen(v6 ? "/proc/net/igmp6" : "/proc/net/igmp", "r"));
	while (!found && fgets(line, sizeof(line), file))
		found = strstr(line, want);
	fclose(file);
	return found;
}

/*
 * Joins the group by a socket on the other host. rxe does not join at the IP layer, and without
 * that its host drops the packets of the group.
 */
static void have_far_join(const union ibv_gid *group, bool v6)
{
	struct ip_mreqn four = { .imr_ifindex = 0 };
	struct ipv6_mreq six;
	int fd, rc;

	device_enter(&far_dev);
	fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
	CHECK(fd >= 0);
	if (v6) {
		memcpy(&six.ipv6mr_multiaddr, group->raw, 16);
		six.ipv6mr_interface = if_nametoindex("v0");
		rc = setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &six,
				sizeof(six));
	} else {
		memcpy(&four.imr_multiaddr, group->raw + 12, 4);
		four.imr_ifindex = if_nametoindex("v0");
		rc = setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &four,
				sizeof(four));
	}
	CHECK_EQ(rc, 0);
	/* Do not close fd: the membership lasts as long as the socket. */
	device_leave(&far_dev);
}

static void member(struct end *end, const struct region *in, int i)
{
	uint32_t slot = GRH + (128 << common_mtu());
	struct ibv_sge sge = sge_of(in, i * slot, slot);

	post_recv(end, &sge, 1, i);
}

static void heard(struct crowd *c, const struct device *device, struct end *end,
		  const struct region *in, int call, uint32_t length)
{
	uint32_t slot = GRH + (128 << common_mtu());
	const uint8_t *at = in->buf->data + call * slot;
	bool v6 = c->group.raw[0] == 0xff;
	struct ibv_wc wc = await(end->rcq);

	expect(wc, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, call);
	CHECK_EQ(wc.byte_len, length + GRH);
	CHECK_EQ(wc.src_qp, c->d.link.a.qp->qp_num);
	check_contents(at + GRH, length, call);
	if (device->pinion)
		CHECK(!memcmp(at + (v6 ? 24 : 36), c->group.raw + (v6 ? 0 : 12),
			      v6 ? 16 : 4));
}

static void call_out(struct crowd *c, int call, uint32_t length)
{
	contents(c->out.buf->data, length, call);
	expect(send_ud(&c->d.link.a, sge_of(&c->out, 0, length), c->ah,
		       0xffffff, QKEY),
	       IBV_WC_SUCCESS);
}

static void crowd_make(struct crowd *c, bool v6)
{
	uint32_t most = 128 << common_mtu();
	struct qp_cfg cfg = cfg_of(requester, IBV_QPT_UD);
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = device_address(requester, v6).gid_index,
			 .hop_limit = 4 },
	};
	struct peer peer = { .gid = requester->gid };

	duel_connect(&c->d, IBV_QPT_UD);
	c->group = some_group(v6);
	attr.grh.dgid = c->group;
	c->ah = MUST(ibv_create_ah(requester->pd, &attr));
	c->out = region_at(requester, most, IBV_ACCESS_LOCAL_WRITE);
	c->in = region_at(responder, (CALLS + 1) * (most + GRH),
			  IBV_ACCESS_LOCAL_WRITE);
	c->in_beside = region_at(requester, (CALLS + 1) * (most + GRH),
				 IBV_ACCESS_LOCAL_WRITE);
	c->has_beside = requester->pinion;
	if (!c->has_beside)
		return;
	end_make(&c->beside, &cfg);
	end_init(&c->beside);
	end_connect(&c->beside, &peer);
	CHECK_EQ(ibv_attach_mcast(c->beside.qp, &c->group, 0), 0);
	/* The sender is a member, too, and must not receive its own messages. */
	CHECK_EQ(ibv_attach_mcast(c->d.link.a.qp, &c->group, 0), 0);
	member(&c->d.link.a, &c->in_beside, CALLS);
}

/* Each member receives each message once, on either host. A queue pair that left receives none. */
static void groups(bool v6)
{
	bool here = responder == &dev;
	uint32_t length;
	struct crowd c;
	int i;

	crowd_make(&c, v6);
	CHECK_EQ(is_joined(&c.group, v6), !here);
	if (!responder->pinion)
		have_far_join(&c.group, v6);
	CHECK_EQ(ibv_attach_mcast(c.d.link.b.qp, &c.group, 0), 0);
	CHECK(is_joined(&c.group, v6));
	for (i = 0; i < CALLS; i++) {
		length = rnd_below((128 << common_mtu()) + 1);
		member(&c.d.link.b, &c.in, i);
		if (c.has_beside)
			member(&c.beside, &c.in_beside, i);
		call_out(&c, i, length);
		heard(&c, responder, &c.d.link.b, &c.in, i, length);
		if (c.has_beside)
			heard(&c, requester, &c.beside, &c.in_beside, i,
			      length);
	}
	member(&c.d.link.b, &c.in, CALLS);
	CHECK_EQ(ibv_detach_mcast(c.d.link.b.qp, &c.group, 0), 0);
	CHECK_EQ(is_joined(&c.group, v6), !here);
	call_out(&c, CALLS, 1);
	expect_none(c.d.link.b.rcq, 0.02);
	if (c.has_beside)
		CHECK_EQ(drain(c.d.link.a.rcq), 0);

	if (c.has_beside) {
		CHECK_EQ(ibv_detach_mcast(c.d.link.a.qp, &c.group, 0), 0);
		CHECK_EQ(ibv_detach_mcast(c.beside.qp, &c.group, 0), 0);
	}
	CHECK(!is_joined(&c.group, v6));
}

/* Datagrams to groups arrive at members on the other host. */
static void fa8_groups(int to_far)
{
	begin(to_far);
	groups(false);
	groups(true);
}

/* ------------------------------------------- fields of the address handle */

enum { TOS = 0xba, LABEL = 0x5a5a7 };

/* Traffic class and flow label. The hop limit is not checked: the core takes it from the route. */
static void check_network(const uint8_t *ip, bool v6)
{
	uint32_t first = ip[0] << 24 | ip[1] << 16 | ip[2] << 8 | ip[3];

	if (v6)
		CHECK_EQ(first, 6u << 28 | TOS << 20 | LABEL);
	else
		CHECK_EQ(ip[1], TOS);
}

static void addressed(bool v6)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = device_address(&dev, v6).gid_index,
			 .traffic_class = TOS,
			 .flow_label = LABEL },
	};
	struct region out, in;
	struct ibv_sge sge, sink;
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	static struct captured seen;
	const uint8_t *udp;
	struct duel d;
	int fd;

	duel_connect(&d, IBV_QPT_UD);
	out = region_at(&dev, 100, IBV_ACCESS_LOCAL_WRITE);
	in = region_at(&far_dev, 100 + GRH, IBV_ACCESS_LOCAL_WRITE);
	CHECK_EQ(ibv_query_gid(far_dev.ctx, 1,
			       device_address(&far_dev, v6).gid_index,
			       &attr.grh.dgid),
		 0);
	wr.wr.ud.ah = MUST(ibv_create_ah(dev.pd, &attr));
	wr.wr.ud.remote_qpn = d.link.b.qp->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	sge = sge_of(&out, 0, 100);
	sink = sge_of(&in, 0, 100 + GRH);
	post_recv(&d.link.b, &sink, 1, 1);
	fd = capture_open("v1");
	post(&d.link.a, &wr);
	expect(await(d.link.a.scq), IBV_WC_SUCCESS);
	expect(await(d.link.b.rcq), IBV_WC_SUCCESS);
	CHECK(!memcmp(in.buf->data + GRH, out.buf->data, 100));
	if (far_dev.pinion)
		check_network(in.buf->data + (v6 ? 0 : 20), v6);

	capture_next(fd, &seen, d.link.b.qp->qp_num);
	CHECK_EQ(seen.v6, v6);
	check_network(seen.ip, v6);
	udp = seen.udp;
	/* The UDP source port is in the range of RoCEv2: 0xc000 and up. */
	CHECK(udp[0] >= 0xc0);
	/* UD SEND Only, MigReq set, the default P_Key, and the destination queue pair. */
	CHECK_EQ(udp[8], 0x64);
	CHECK_EQ(udp[9], 0x40);
	CHECK_EQ(udp[10] << 8 | udp[11], 0xffff);
	CHECK_EQ(udp[13] << 16 | udp[14] << 8 | udp[15],
		 (int)d.link.b.qp->qp_num);
	close(fd);
}

/* Flow label, hop limit and traffic class of an address are in its packets. */
static void fa9_address(void)
{
	begin(true);
	need_root();
	addressed(false);
	addressed(true);
}

static const struct test tests[] = {
	LONG_TEST_OF(fa1_bursts, true, "FA1 requests of all kinds, to there",
		     120),
	LONG_TEST_OF(fa1_bursts, false, "FA1 requests of all kinds, from there",
		     120),
	LONG_TEST_OF(fa2_uc, true, "FA2 unreliable connection, to there", 120),
	LONG_TEST_OF(fa2_uc, false, "FA2 unreliable connection, from there",
		     120),
	LONG_TEST_OF(fa3_ud, true, "FA3 datagrams, to there", 120),
	LONG_TEST_OF(fa3_ud, false, "FA3 datagrams, from there", 120),
	LONG_TEST_OF(fa4_commits, true, "FA4 flush and atomic write, to there",
		     120),
	LONG_TEST_OF(fa4_commits, false,
		     "FA4 flush and atomic write, from there", 120),
	LONG_TEST_OF(fa5_invalidates, true,
		     "FA5 send with invalidate, to there", 120),
	LONG_TEST_OF(fa5_invalidates, false,
		     "FA5 send with invalidate, from there", 120),
	TEST_OF(fa6_shared, true, "FA6 shared receives, to there"),
	TEST_OF(fa6_shared, false, "FA6 shared receives, from there"),
	LONG_TEST(fa7_xrc, "FA7 XRC", 120),
	TEST_OF(fa8_groups, true, "FA8 multicast, to there"),
	TEST_OF(fa8_groups, false, "FA8 multicast, from there"),
	TEST(fa9_address, "FA9 what an address says is in its packets"),
};

HARNESS_MAIN("messages to a device at the other end of a cable", tests)
