// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A queue pair on a umem, created by DEVX commands: mlx5dv_devx_umem_reg(3) mentions this use ("for
 * example upon mlx5dv_devx_obj_create to create a QP") without an example.
 *
 *	pinion-raw-qp [DEVICE]
 *
 * makes a completion queue and a queue pair by commands, in memory of its own, connects the
 * queue pair to itself, writes a request into it, and finds the completion. Of libibverbs
 * it has the device, a protection domain and a region; the rest is done here by hand.
 *
 * Commands are bit fields in network order. Where each field is, counted in bits, is in
 * mlx5_ifc.h of the kernel and of rdma-core; names are from there.
 */
#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <pinion/mlx5dv.h>

static void need(int fine, const char *what)
{
	if (fine)
		return;
	perror(what);
	exit(1);
}

/* Write a big-endian field of @width bits, the first (highest) of which is bit @at. */
static void put(uint8_t *to, uint32_t at, uint32_t width, uint64_t value)
{
	uint32_t i, bit;

	for (i = 0; i < width; i++) {
		bit = at + width - 1 - i;
		if (value >> i & 1)
			to[bit / 8] |= 0x80 >> bit % 8;
	}
}

static uint32_t get32(const uint8_t *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return be32toh(value);
}

/*
 * One umem has everything: receives of one segment of 16 bytes each (not used here), behind them
 * sends in blocks of 64 bytes, completions of 64 bytes, and two doorbell records. The umem need not
 * be aligned, but each of these.
 */
enum {
	LOG_SENDS = 4, /* blocks */
	LOG_COMPLETIONS = 4,
	RECEIVES = 0,
	SENDS = 64, /* offset; before them are 4 receives of 16 bytes */
	COMPLETIONS = SENDS + (64 << LOG_SENDS),
	QP_RECORD = COMPLETIONS + (64 << LOG_COMPLETIONS),
	CQ_RECORD = QP_RECORD + 64,
	QUEUES = CQ_RECORD + 64,
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct mlx5dv_devx_umem *umem;
static uint8_t *queues;
static uint32_t cqn, qpn;

/*
 * A command that is refused fails with EREMOTEIO, and its answer has the status in the first byte
 * and the syndrome in the second word.
 */
static void refused(const char *what, const uint8_t *out)
{
	perror(what);
	fprintf(stderr, "status %#x, syndrome %u\n", out[0], get32(out + 4));
	exit(1);
}

static struct mlx5dv_devx_obj *create(const char *what, uint8_t *in,
				      size_t length, uint32_t *number)
{
	struct mlx5dv_devx_obj *obj;
	uint8_t out[16] = {};

	obj = mlx5dv_devx_obj_create(ctx, in, length, out, sizeof(out));
	if (!obj)
		refused(what, out);
	*number = get32(out + 8) & 0xffffff;
	return obj;
}

static struct mlx5dv_devx_obj *create_cq(void)
{
	enum { CREATE_CQ = 0x400, CQC = 0x80 };
	uint8_t in[0x110] = {};
	uint32_t eqn, i;

	/* The event queue of completion vector 0. */
	need(!mlx5dv_devx_query_eqn(ctx, 0, &eqn), "mlx5dv_devx_query_eqn");
	put(in, 0x00, 16, CREATE_CQ);
	put(in, CQC + 0x06, 1, 1); /* dbr_umem_valid */
	put(in, CQC + 0x08, 3, 0); /* cqe_sz: 64 bytes */
	put(in, CQC + 0x20, 32, umem->umem_id); /* dbr_umem_id */
	put(in, CQC + 0x63, 5, LOG_COMPLETIONS); /* log_cq_size */
	put(in, CQC + 0xa0, 32, eqn); /* c_eqn */
	put(in, CQC + 0x1c0, 64, CQ_RECORD); /* dbr_addr */
	put(in, 0x280, 64, COMPLETIONS); /* cq_umem_offset */
	put(in, 0x2c0, 32, umem->umem_id); /* cq_umem_id */
	put(in, 0x2e0, 1, 1); /* cq_umem_valid */
	/* Mark all completions as invalid, in their last bytes. */
	for (i = 0; i < 1 << LOG_COMPLETIONS; i++)
		queues[COMPLETIONS + i * 64 + 63] = 0xf1;
	return create("CREATE_CQ", in, sizeof(in), &cqn);
}

static struct mlx5dv_devx_obj *create_qp(void)
{
	enum { CREATE_QP = 0x500, QPC = 0xc0 };
	struct mlx5dv_pd number = {};
	struct mlx5dv_obj obj = { .pd = { pd, &number } };
	uint8_t in[0x110] = {};

	/* Commands name a domain by its number. */
	need(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), "mlx5dv_init_obj");
	put(in, 0x00, 16, CREATE_QP);
	put(in, QPC + 0x08, 8, 0); /* st: reliable connection */
	put(in, QPC + 0x13, 2, 3); /* pm_state: migrated */
	put(in, QPC + 0x28, 24, number.pdn); /* pd */
	put(in, QPC + 0x49, 4, 2); /* log_rq_size */
	put(in, QPC + 0x4d, 3, 0); /* log_rq_stride: 16 bytes */
	put(in, QPC + 0x51, 4, LOG_SENDS); /* log_sq_size */
	put(in, QPC + 0x3e8, 24, cqn); /* cqn_snd */
	put(in, QPC + 0x4e8, 24, cqn); /* cqn_rcv */
	put(in, QPC + 0x500, 64, QP_RECORD); /* dbr_addr */
	put(in, QPC + 0x683, 1, 1); /* dbr_umem_valid */
	put(in, QPC + 0x720, 32, umem->umem_id); /* dbr_umem_id */
	put(in, 0x800, 64,
	    RECEIVES); /* wq_umem_offset: of receives, then sends */
	put(in, 0x840, 32, umem->umem_id); /* wq_umem_id */
	put(in, 0x860, 1, 1); /* wq_umem_valid */
	return create("CREATE_QP", in, sizeof(in), &qpn);
}

/* Find the GID of an IPv4 address; else use the first GID. */
static int find_gid(union ibv_gid *gid)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_gid_entry entry;
	int i;

	for (i = 0; !ibv_query_gid_ex(ctx, 1, i, &entry, 0); i++) {
		*gid = entry.gid;
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(gid->raw, v4, sizeof(v4)))
			return i;
	}
	need(!ibv_query_gid(ctx, 1, 0, gid), "ibv_query_gid");
	return 0;
}

/* The three commands take the same context; each uses some fields. */
static void change(struct mlx5dv_devx_obj *qp, const char *what, int opcode)
{
	enum { QPC = 0xc0, PATH = QPC + 0xc0, MTU_1024 = 3 };
	struct ibv_ah_attr ah = { .is_global = 1, .port_num = 1 };
	uint8_t in[0x110] = {}, out[16] = {}, mac[6];
	union ibv_gid gid;
	uint16_t vlan;

	ah.grh.sgid_index = find_gid(&gid);
	ah.grh.dgid = gid;
	ah.grh.hop_limit = 64;
	/* Verbs resolve the MAC of a GID. A command must contain it. */
	need(!ibv_resolve_eth_l2_from_gid(ctx, &ah, mac, &vlan), "its address");
	put(in, 0x00, 16, opcode);
	put(in, 0x48, 24, qpn);
	/* For INIT: the port, and the rights of the peer. */
	put(in, PATH + 0x128, 8, 1); /* vhca_port_num */
	put(in, QPC + 0x490, 1, 1); /* rre */
	put(in, QPC + 0x491, 1, 1); /* rwe */
	/* For RTR: the peer's address, and how to receive. */
	put(in, QPC + 0x40, 3, MTU_1024); /* mtu */
	put(in, QPC + 0xa8, 24, qpn); /* remote_qpn: itself */
	put(in, PATH + 0x48, 8, ah.grh.sgid_index); /* src_addr_index */
	put(in, PATH + 0x58, 8, ah.grh.hop_limit); /* hop_limit */
	memcpy(in + (PATH + 0x80) / 8, gid.raw, sizeof(gid.raw)); /* rgid_rip */
	memcpy(in + (PATH + 0x130) / 8, mac, sizeof(mac)); /* rmac_47_32 */
	put(in, QPC + 0x4a3, 5, 12); /* min_rnr_nak */
	put(in, QPC + 0x4a8, 24, 0); /* next_rcv_psn */
	/* For RTS: how to send, and retries. */
	put(in, PATH + 0x40, 5, 14); /* ack_timeout */
	put(in, QPC + 0x38d, 3, 7); /* retry_count */
	put(in, QPC + 0x390, 3, 7); /* rnr_retry */
	put(in, QPC + 0x3c8, 24, 0); /* next_send_psn */
	if (mlx5dv_devx_obj_modify(qp, in, sizeof(in), out, sizeof(out)))
		refused(what, out);
}

/* Post an RDMA WRITE, of three segments, in the first block of the ring. */
static void post_write(const struct ibv_mr *mr, uint64_t from, uint64_t to,
		       uint32_t length)
{
	enum { RDMA_WRITE = 0x08, SIGNALED = 8, SEGMENTS = 3 };
	uint32_t *record = (uint32_t *)(queues + QP_RECORD);
	uint8_t *wqe = queues + SENDS;

	/* Control segment: opcode, index of the first block, and length. */
	put(wqe, 0x08, 16, 0);
	put(wqe, 0x18, 8, RDMA_WRITE);
	put(wqe, 0x20, 24, qpn);
	put(wqe, 0x3a, 6, SEGMENTS);
	put(wqe, 0x58, 8, SIGNALED);
	/* Remote address segment. */
	put(wqe + 16, 0x00, 64, to);
	put(wqe + 16, 0x40, 32, mr->rkey);
	/* Data segment. */
	put(wqe + 32, 0x00, 32, length);
	put(wqe + 32, 0x20, 32, mr->lkey);
	put(wqe + 32, 0x40, 64, from);
	/*
	 * Ring the doorbell: after the request is written, store the number of blocks in the second
	 * word of the record, which is for sends. Hardware also needs a store to the UAR.
	 */
	__atomic_store_n(&record[1], htobe32(1), __ATOMIC_RELEASE);
}

/* Wait for the first completion. Return: whether it is a success. */
static int poll_first(void)
{
	uint32_t *record = (uint32_t *)(queues + CQ_RECORD);
	uint8_t *cqe = queues + COMPLETIONS, own;
	int i;

	for (i = 0; i < 100000; i++) {
		own = __atomic_load_n(&cqe[63], __ATOMIC_ACQUIRE);
		/* In the first round a completion is valid if the owner bit is 0. */
		if (!(own & 1) && own >> 4 != 0xf)
			break;
		usleep(50);
	}
	if (own >> 4) {
		fprintf(stderr, "completion %#x, syndrome %#x\n", own, cqe[55]);
		return 0;
	}
	/* The slot may be used again. */
	__atomic_store_n(record, htobe32(1), __ATOMIC_RELEASE);
	return 1;
}

static void open_device(const char *name)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	int i;

	need(!!devices, "ibv_get_device_list");
	for (i = 0; devices[i]; i++) {
		if (name && strcmp(ibv_get_device_name(devices[i]), name))
			continue;
		if (mlx5dv_is_supported(devices[i]))
			break;
	}
	if (!devices[i]) {
		fprintf(stderr, "no such device that takes commands\n");
		exit(1);
	}
	ctx = ibv_open_device(devices[i]);
	need(!!ctx, "ibv_open_device");
	ibv_free_device_list(devices);
	pd = ibv_alloc_pd(ctx);
	need(!!pd, "ibv_alloc_pd");
}

int main(int argc, char **argv)
{
	enum { RST2INIT_QP = 0x502, INIT2RTR_QP, RTR2RTS_QP, HALF = 4096 };
	struct mlx5dv_devx_obj *cq, *qp;
	struct ibv_mr *mr;
	uint8_t *data;
	int good;

	open_device(argc > 1 ? argv[1] : NULL);
	data = calloc(2, HALF);
	queues = aligned_alloc(4096, (QUEUES + 4095) & ~4095);
	need(data && queues, "memory");
	memset(queues, 0, QUEUES);
	memset(data, 'x', HALF);
	mr = ibv_reg_mr(pd, data, 2 * HALF,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(!!mr, "ibv_reg_mr");

	/* The device writes completions to the umem. */
	umem = mlx5dv_devx_umem_reg(ctx, queues, QUEUES,
				    IBV_ACCESS_LOCAL_WRITE);
	need(!!umem, "mlx5dv_devx_umem_reg");
	cq = create_cq();
	qp = create_qp();
	change(qp, "RST2INIT_QP", RST2INIT_QP);
	change(qp, "INIT2RTR_QP", INIT2RTR_QP);
	change(qp, "RTR2RTS_QP", RTR2RTS_QP);

	post_write(mr, (uintptr_t)data, (uintptr_t)data + HALF, HALF);
	good = poll_first() && !memcmp(data, data + HALF, HALF);
	printf("queue pair %u on umem %u: %s\n", qpn, umem->umem_id,
	       good ? "the data are there" : "WRONG: the data are not there");

	/* Destroy the queues before their umem, or mlx5dv_devx_umem_dereg() fails with EBUSY. */
	need(!mlx5dv_devx_obj_destroy(qp), "the queue pair's end");
	need(!mlx5dv_devx_obj_destroy(cq), "the completion queue's end");
	need(!mlx5dv_devx_umem_dereg(umem), "mlx5dv_devx_umem_dereg");
	need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	need(!ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	ibv_close_device(ctx);
	free(queues);
	free(data);
	return !good;
}
