// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /sys/kernel/debug/pinion/DEVICE/queues: queue pairs created by DEVX commands, which the core, and
 * so rdma-netlink, does not know. Shows the indices of each and of its completion queues. For root
 * and tests; read-only.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "../path/look.h"
#include "../path/qp.h"
#include "dev.h"

static const char *const services[] = {
	[IB_QPT_RC] = "rc",
	[IB_QPT_UC] = "uc",
	[IB_QPT_UD] = "ud",
};

/* Not known to the core. The others are shown by rdma-netlink. */
static bool queues_are_hidden(const struct pinion_qp *qp)
{
	return qp->raw && !qp->ibqp.uobject;
}

/* Find the next hidden queue pair from *@pos on, with a reference until next or stop. */
static struct pinion_qp *queues_at(struct seq_file *file, loff_t *pos)
{
	struct pinion_dev *dev = file->private;
	unsigned long qpn = *pos;
	struct pinion_qp *qp;

	for (; (qp = pinion_node_next_qp(&dev->node, &qpn)) && !queues_are_hidden(qp); qpn++) {
		pinion_qp_put(qp);
		cond_resched();
	}
	*pos = qpn;
	return qp;
}

static void *queues_start(struct seq_file *file, loff_t *pos)
{
	return queues_at(file, pos);
}

static void *queues_next(struct seq_file *file, void *qp, loff_t *pos)
{
	pinion_qp_put(qp);
	cond_resched();
	++*pos;
	return queues_at(file, pos);
}

static void queues_stop(struct seq_file *file, void *qp)
{
	if (qp)
		pinion_qp_put(qp);
}

static void queues_show_ring(struct seq_file *file, const char *what,
			     const struct pinion_ring_facts *ring)
{
	seq_printf(file, " %s %u to %u of %u", what, ring->kern_idx, ring->user_idx,
		   ring->entries);
}

static int queues_show(struct seq_file *file, void *at)
{
	struct pinion_qp *qp = at;
	struct pinion_queue_facts facts, cq;

	pinion_qp_look(&qp->ibqp, &facts);
	seq_printf(file, "%#08x %s state %d pid %d", facts.number, services[qp->ibqp.qp_type],
		   READ_ONCE(qp->state), qp->pid);
	queues_show_ring(file, "sends", &facts.ring[0]);
	queues_show_ring(file, "receives", &facts.ring[1]);
	pinion_cq_look(qp->ibqp.send_cq, &cq);
	queues_show_ring(file, "sent", &cq.ring[0]);
	pinion_cq_look(qp->ibqp.recv_cq, &cq);
	queues_show_ring(file, "received", &cq.ring[0]);
	seq_printf(file, "%s%s\n", facts.flags & PINION_QUEUE_WAITING ? " waiting" : "",
		   facts.flags & PINION_QUEUE_BROKEN ? " broken" : "");
	return 0;
}

static const struct seq_operations queues_sops = {
	.start = queues_start,
	.next = queues_next,
	.stop = queues_stop,
	.show = queues_show,
};
DEFINE_SEQ_ATTRIBUTE(queues);

void pinion_queues_add_file(struct pinion_dev *dev)
{
	debugfs_create_file("queues", 0400, dev->debugfs, dev, &queues_fops);
}
