// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A queue pair of the kernel whose peer is a process. Another process works it by the file `peer'
 * in debugfs, by pread() and pwrite(). From PEER_DATA on it is the page that messages come from and
 * go to; before that, read() gives "QPN COMPLETIONS STATUS", the status of the last one, and
 * write() takes a command:
 *
 *	connect QPN		to that peer; both begin with PEER_PSN
 *	write|read ADDRESS KEY	of the peer's memory; here and below PEER_LENGTH bytes
 *	send
 *	receive
 *	drain	as kernel users do at the end
 *
 * close() drains it if that was not done, and destroys it.
 */
#include <linux/etherdevice.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <rdma/ib_cache.h>

#include "kverbs.h"
#include "peer.h"

enum { DEPTH = 4 };

static struct {
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_cqe cqe;
	bool connected;
	u8 *data;
	u64 address;	/* of @data, for DMA */
	unsigned int completions;
	enum ib_wc_status status;
} peer;

static void peer_done(struct ib_cq *cq, struct ib_wc *wc)
{
	peer.completions++;
	peer.status = wc->status;
}

/* ---------------------------------------------------------------------- its objects */

static int peer_drain(void)
{
	/* One in RESET cannot be drained, and one that was has nothing left. */
	if (!peer.connected)
		return -EINVAL;
	ib_drain_qp(peer.qp);
	peer.connected = false;
	return 0;
}

static void peer_free(void)
{
	if (!IS_ERR_OR_NULL(peer.qp)) {
		peer_drain();
		WARN_ON(ib_destroy_qp(peer.qp));
	}
	if (peer.address)
		ib_dma_unmap_single(peer.pd->device, peer.address, PAGE_SIZE, DMA_BIDIRECTIONAL);
	free_page((unsigned long)peer.data);
	if (!IS_ERR_OR_NULL(peer.cq))
		ib_free_cq(peer.cq);
	if (!IS_ERR_OR_NULL(peer.pd))
		ib_dealloc_pd(peer.pd);
	memset(&peer, 0, sizeof(peer));
}

static int peer_make(struct ib_device *device)
{
	struct ib_qp_init_attr attr = {
		/* One more each, for ib_drain_qp(). */
		.cap = { .max_send_wr = DEPTH + 1, .max_recv_wr = DEPTH + 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	u64 address;

	peer.cqe.done = peer_done;
	peer.pd = ib_alloc_pd(device, 0);
	if (IS_ERR(peer.pd))
		return PTR_ERR(peer.pd);
	peer.cq = ib_alloc_cq(device, NULL, 4 * DEPTH, 0, IB_POLL_DIRECT);
	if (IS_ERR(peer.cq))
		return PTR_ERR(peer.cq);
	peer.data = (u8 *)get_zeroed_page(GFP_KERNEL);
	if (!peer.data)
		return -ENOMEM;
	address = ib_dma_map_single(device, peer.data, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(device, address))
		return -ENOMEM;
	peer.address = address;
	attr.send_cq = peer.cq;
	attr.recv_cq = peer.cq;
	peer.qp = ib_create_qp(peer.pd, &attr);
	return PTR_ERR_OR_ZERO(peer.qp);
}

/* ------------------------------------------------------------------------- commands */

static int peer_connect(u32 qpn)
{
	struct rdma_ah_attr address;
	u8 mac[ETH_ALEN];
	union ib_gid gid;
	int err, index = kverbs_find_gid(peer.pd->device, &gid, mac);

	if (index < 0)
		return index;
	kverbs_address(peer.pd->device, &gid, index, mac, &address);
	err = kverbs_connect(peer.qp, qpn, &address);
	if (!err)
		peer.connected = true;
	return err;
}

static struct ib_sge peer_sge(void)
{
	return (struct ib_sge){ peer.address, PEER_LENGTH, peer.pd->local_dma_lkey };
}

static int peer_ask(enum ib_wr_opcode opcode, u64 remote, u32 key)
{
	struct ib_sge sge = peer_sge();
	struct ib_rdma_wr wr = {
		.wr = { .wr_cqe = &peer.cqe, .opcode = opcode, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = remote,
		.rkey = key,
	};

	return ib_post_send(peer.qp, &wr.wr, NULL);
}

static int peer_receive(void)
{
	struct ib_sge sge = peer_sge();
	struct ib_recv_wr wr = { .wr_cqe = &peer.cqe, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(peer.qp, &wr, NULL);
}

static int peer_command(const char *text)
{
	u32 qpn, key;
	u64 address;

	if (sscanf(text, "connect %u", &qpn) == 1)
		return peer_connect(qpn);
	if (sscanf(text, "write %llu %u", &address, &key) == 2)
		return peer_ask(IB_WR_RDMA_WRITE, address, key);
	if (sscanf(text, "read %llu %u", &address, &key) == 2)
		return peer_ask(IB_WR_RDMA_READ, address, key);
	if (!strcmp(text, "send"))
		return peer_ask(IB_WR_SEND, 0, 0);
	if (!strcmp(text, "receive"))
		return peer_receive();
	if (!strcmp(text, "drain"))
		return peer_drain();
	return -EINVAL;
}

/* ------------------------------------------------------------------------- the file */

static ssize_t peer_read(char __user *to, size_t length, loff_t *offset)
{
	char text[64];
	loff_t at = *offset - PEER_DATA;
	int n;

	if (at >= 0)
		return simple_read_from_buffer(to, length, &at, peer.data, PAGE_SIZE);
	ib_process_cq_direct(peer.cq, -1);
	n = scnprintf(text, sizeof(text), "%u %u %d\n", peer.qp->qp_num, peer.completions,
		      peer.status);
	return simple_read_from_buffer(to, length, offset, text, n);
}

static ssize_t peer_write(const char __user *from, size_t length, loff_t *offset)
{
	char text[64] = "";
	loff_t at = *offset - PEER_DATA;
	int err;

	if (at >= 0)
		return simple_write_to_buffer(peer.data, PAGE_SIZE, &at, from, length);
	if (length >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, length))
		return -EFAULT;
	err = peer_command(text);
	return err ?: length;
}

struct kverbs_file peer_file = {
	.name = "peer",
	.make = peer_make,
	.free = peer_free,
	.read = peer_read,
	.write = peer_write,
};
