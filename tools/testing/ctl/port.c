// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The port's counters as tools for InfiniBand ask for them: by management datagrams of the
 * performance class, through /dev/infiniband/umadN (items CT73 to CT75; kernel/verbs/mad.c).
 * perfquery(8) itself stops before: it wants a port with queue pair 0, which no Ethernet port has.
 * The suite ctl tests what it says.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_ioctl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "link.h"

enum {
	MAD = 256,
	GSI_QPN = 1,
	NOBODY = 0xfffffe,
	CLASS_PERFORMANCE = 4,
	METHOD_GET = 0x01,
	METHOD_SET = 0x02,
	METHOD_GET_RESP = 0x81,
	CLASS_PORT_INFO = 0x0001,
	PORT_COUNTERS = 0x0012,
	PORT_COUNTERS_EXT = 0x001d,
	ALL_PORTS = 255,
	/* status */
	UNSUPPORTED = 0x0c,
	INVALID_VALUE = 0x1c,
	/* ClassPortInfo */
	ALL_PORTS_SUPPORTED = 1 << 8,
	EXT_SUPPORTED = 1 << 9,
	/* of the traffic */
	MTU = 1024,
	MOST = 20 * MTU,
};

/* The kernel lets only who opens this file, or has CAP_NET_RAW, send with it. */
static const uint32_t gsi_qkey = 0x80010000;

struct pma {
	uint8_t base_version, class, class_version, method;
	uint16_t status, class_specific;
	uint64_t tid;
	uint16_t attr, reserved;
	uint32_t modifier;
	uint8_t reserved2[40];
	uint8_t data[MAD - 64];
};

_Static_assert(sizeof(struct pma) == MAD, "a MAD has 256 bytes");

struct packet {
	struct ib_user_mad_hdr hdr;
	struct pma pma;
};

static int umad = -1;
static uint32_t agent;
static struct ibv_gid_entry own;

/* umadN of the device under test. */
static void umad_path(char *path, size_t size)
{
	DIR *dir = opendir("/sys/class/infiniband_mad");
	struct dirent *entry;
	char name[64];
	FILE *file;

	*path = 0;
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "umad", 4))
			continue;
		snprintf(path, size, "/sys/class/infiniband_mad/%s/ibdev",
			 entry->d_name);
		file = MUST(fopen(path, "re"));
		CHECK_EQ(fscanf(file, "%63s", name), 1);
		fclose(file);
		snprintf(path, size, "/dev/infiniband/%s", entry->d_name);
		if (!strcmp(name, ibv_get_device_name(dev.ctx->device)))
			break;
		*path = 0;
	}
	if (dir)
		closedir(dir);
}

/*
 * An entry of an IPv6 address. Of IPv4 the kernel gets the answer, but does not find the question:
 * it compares the GID with bytes of the GRH where an IPv4 header has something else.
 */
static bool find_own(void)
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };
	int i;

	for (i = 0; i < dev.port.gid_tbl_len; i++)
		if (!ibv_query_gid_ex(dev.ctx, 1, i, &own, 0) &&
		    own.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    memcmp(own.gid.raw, mapped, sizeof(mapped)))
			return true;
	return false;
}

static void begin(void)
{
	struct ib_user_mad_reg_req req = {
		.qpn = GSI_QPN,
		.mgmt_class = CLASS_PERFORMANCE,
		.mgmt_class_version = 1,
	};
	char path[300];

	need_root();
	if (!dev.pinion)
		skip("others count as they like");
	umad_path(path, sizeof(path));
	if (!*path)
		skip("no ib_umad here");
	if (!find_own())
		skip("no IPv6 address here");
	umad = open(path, O_RDWR | O_CLOEXEC);
	CHECK(umad >= 0);
	CHECK_EQ(ioctl(umad, IB_USER_MAD_ENABLE_PKEY), 0);
	CHECK_EQ(ioctl(umad, IB_USER_MAD_REGISTER_AGENT, &req), 0);
	agent = req.id;
}

/* Send a question to the device's own port, and wait for the answer. Return: its status. */
static int ask(int method, int attr, int port, struct pma *answer)
{
	struct packet out = {
		.hdr = {
			.id = agent,
			.timeout_ms = patience(20) * 1000,
			.qpn = htobe32(GSI_QPN),
			.qkey = htobe32(gsi_qkey),
			.grh_present = 1,
			.gid_index = own.gid_index,
			.hop_limit = 64,
		},
		.pma = {
			.base_version = 1,
			.class = CLASS_PERFORMANCE,
			.class_version = 1,
			.method = method,
			.tid = htobe64(rnd() >> 32),
			.attr = htobe16(attr),
			.data[1] = port,
		},
	};
	struct pollfd ready = { .fd = umad, .events = POLLIN };
	struct packet in;

	memcpy(out.hdr.gid, own.gid.raw, sizeof(out.hdr.gid));
	CHECK_EQ(write(umad, &out, sizeof(out)), sizeof(out));
	CHECK_EQ(poll(&ready, 1, patience(20) * 1000), 1);
	CHECK_EQ(read(umad, &in, sizeof(in)), sizeof(in));
	CHECK_EQ(in.hdr.status, 0);
	CHECK_EQ(in.hdr.id, agent);
	CHECK_EQ(in.pma.method, METHOD_GET_RESP);
	CHECK_EQ(be16toh(in.pma.attr), attr);
	/* The kernel has the upper half of the number for itself. */
	CHECK_EQ(be64toh(in.pma.tid) & UINT32_MAX, be64toh(out.pma.tid));
	*answer = in.pma;
	return be16toh(in.pma.status);
}

static uint64_t word(const struct pma *pma, int at)
{
	uint32_t value;

	memcpy(&value, pma->data + at, sizeof(value));
	return be32toh(value);
}

static uint64_t long_word(const struct pma *pma, int at)
{
	return word(pma, at) << 32 | word(pma, at + 4);
}

static struct port_traffic traffic_of(const struct pma *pma)
{
	return (struct port_traffic){
		.xmit_data = word(pma, 24),
		.rcv_data = word(pma, 28),
		.xmit_packets = word(pma, 32),
		.rcv_packets = word(pma, 36),
	};
}

static struct port_traffic traffic_of_ext(const struct pma *pma)
{
	return (struct port_traffic){
		.xmit_data = long_word(pma, 8),
		.rcv_data = long_word(pma, 16),
		.xmit_packets = long_word(pma, 24),
		.rcv_packets = long_word(pma, 32),
	};
}

static bool same(const struct port_traffic *a, const struct port_traffic *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Both ends are of this port, so each counter grows by the same. */
static struct port_traffic plus(const struct port_traffic *t, uint64_t bytes,
				uint64_t packets)
{
	return (struct port_traffic){
		.xmit_data = t->xmit_data + bytes / 4,
		.rcv_data = t->rcv_data + bytes / 4,
		.xmit_packets = t->xmit_packets + packets,
		.rcv_packets = t->rcv_packets + packets,
	};
}

static void await_traffic(const struct port_traffic *want)
{
	double end = now() + patience(PATIENCE);
	struct port_traffic t = port_traffic();

	while (!same(&t, want)) {
		if (now() > end)
			FAIL("%llu bytes in %llu packets sent, not %llu in %llu",
			     4ULL * t.xmit_data,
			     (unsigned long long)t.xmit_packets,
			     4ULL * want->xmit_data,
			     (unsigned long long)want->xmit_packets);
		usleep(10000);
		t = port_traffic();
	}
}

/* Writes of random lengths. Return: what the counters are then. */
static struct port_traffic
make_traffic(struct link *link, const struct region *a, const struct region *b)
{
	struct port_traffic before = port_traffic(), t;
	uint64_t bytes = 0, packets = 0;
	int i, num = rnd_in(3, 30);

	for (i = 0; i < num; i++) {
		uint32_t length = 4 * rnd_in(1, MOST / 4);

		expect(rdma(&link->a, IBV_WR_RDMA_WRITE, sge_of(a, 0, length),
			    b->base, b->rkey),
		       IBV_WC_SUCCESS);
		bytes += length;
		packets += (length + MTU - 1) / MTU;
	}
	t = plus(&before, bytes, packets);
	await_traffic(&t);
	return t;
}

/* Datagrams that nobody receives: what is sent and what is received differ from then on. */
static void send_to_nobody(const struct region *a)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD, .mtu = IBV_MTU_1024 };
	struct ibv_sge sge = sge_of(a, 0, 100);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct port_traffic t = port_traffic();
	int i, num = rnd_in(20, 50);
	struct link link;

	link_make(&link, &cfg);
	wr.wr.ud.ah = link.a.ah;
	wr.wr.ud.remote_qpn = NOBODY;
	wr.wr.ud.remote_qkey = QKEY;
	for (i = 0; i < num; i++) {
		post(&link.a, &wr);
		expect(await(link.a.scq), IBV_WC_SUCCESS);
	}
	t.xmit_packets += num;
	t.xmit_data += num * 100 / 4;
	await_traffic(&t);
}

#define BETWEEN(first, t, last, what)            \
	do {                                     \
		CHECK((t).what >= (first).what); \
		CHECK((t).what <= (last).what);  \
	} while (0)

/*
 * The answer is of a moment between these two. Each question and its answer are a packet of 256
 * bytes themselves.
 */
static void between(const struct port_traffic *first,
		    const struct port_traffic *t,
		    const struct port_traffic *last)
{
	BETWEEN(*first, *t, *last, xmit_data);
	BETWEEN(*first, *t, *last, rcv_data);
	BETWEEN(*first, *t, *last, xmit_packets);
	BETWEEN(*first, *t, *last, rcv_packets);
}

/* They agree with sysfs, and sysfs with what was sent. */
static void ct73_counters(void)
{
	struct qp_cfg cfg = { .mtu = IBV_MTU_1024 };
	struct port_traffic first, last, t;
	struct region a, b;
	struct link link;
	struct pma pma;
	int i;

	begin();
	link_make(&link, &cfg);
	a = region_new(MOST, 0, ALL_ACCESS);
	b = region_new(MOST, 0, ALL_ACCESS);
	send_to_nobody(&a);
	for (i = 0; i < 4; i++) {
		first = make_traffic(&link, &a, &b);
		last = plus(&first, 2 * MAD, 2);
		CHECK_EQ(ask(METHOD_GET, PORT_COUNTERS_EXT, 1, &pma), 0);
		await_traffic(&last);
		t = traffic_of_ext(&pma);
		between(&first, &t, &last);
		CHECK_EQ(long_word(&pma, 40), t.xmit_packets);
		CHECK_EQ(long_word(&pma, 48), t.rcv_packets);

		first = make_traffic(&link, &a, &b);
		last = plus(&first, 2 * MAD, 2);
		CHECK_EQ(ask(METHOD_GET, PORT_COUNTERS, 1, &pma), 0);
		await_traffic(&last);
		t = traffic_of(&pma);
		between(&first, &t, &last);
	}
}

/* What perfquery asks first, and with -a. */
static void ct74_class(void)
{
	struct port_traffic first, last, t;
	struct pma pma;
	uint16_t mask;

	begin();
	CHECK_EQ(ask(METHOD_GET, CLASS_PORT_INFO, 0, &pma), 0);
	CHECK_EQ(pma.data[0], 1);
	CHECK_EQ(pma.data[1], 1);
	memcpy(&mask, pma.data + 2, sizeof(mask));
	CHECK_EQ(be16toh(mask), ALL_PORTS_SUPPORTED | EXT_SUPPORTED);

	usleep(100000);
	first = port_traffic();
	CHECK_EQ(ask(METHOD_GET, PORT_COUNTERS_EXT, ALL_PORTS, &pma), 0);
	last = plus(&first, 2 * MAD, 2);
	await_traffic(&last);
	t = traffic_of_ext(&pma);
	between(&first, &t, &last);
	CHECK_EQ(pma.data[1], ALL_PORTS);
}

/* Another port has no counters; nobody resets them; what is unknown says so. */
static void ct75_refused(void)
{
	static const int attrs[] = { PORT_COUNTERS, PORT_COUNTERS_EXT };
	struct port_traffic first, last;
	struct pma pma;
	size_t i, j;
	int port;

	begin();
	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		port = rnd_in(2, ALL_PORTS - 1);
		context("attribute %#x, port %d", attrs[i], port);
		CHECK_EQ(ask(METHOD_GET, attrs[i], port, &pma), INVALID_VALUE);
		for (j = 0; j < sizeof(pma.data); j++)
			CHECK_EQ(pma.data[j], 0);
		usleep(100000);
		first = port_traffic();
		CHECK_EQ(ask(METHOD_SET, attrs[i], 1, &pma), UNSUPPORTED);
		last = plus(&first, 2 * MAD, 2);
		await_traffic(&last);
	}
	context("%s", "");
	/* PortSamplesControl */
	CHECK_EQ(ask(METHOD_GET, 0x0010, 1, &pma), UNSUPPORTED);
}

static const struct test tests[] = {
	TEST(ct73_counters, "CT73 performance query: after known traffic"),
	TEST(ct74_class, "CT74 performance query: class, all ports"),
	TEST(ct75_refused, "CT75 performance query: what is refused"),
};

HARNESS_MAIN("The port's counters by management datagrams", tests)
