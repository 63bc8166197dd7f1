// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Failures of a port and of a device, which root forces for tests. In
 * /sys/kernel/debug/pinion/DEVICE:
 *
 * port: `down' takes the port down, whatever the state of the netdev; after `up' it follows the
 * netdev again. Reads as one of the two.
 *
 * fatal: 1 makes the device fail like an mlx5 with a fatal error: all queue pairs enter the error
 * state and flush, objects can be destroyed but not created, and the device cannot be opened. Only
 * `rdma link del' and `add' end that.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>

#include "../mem/inject.h"
#include "../path/qp.h"
#include "dev.h"

#define MAX_WORD	8

static void force_event(struct pinion_dev *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = type,
	};

	ib_dispatch_event(&event);
}

/* Update what depends on the port's state, and notify consumers. The device is registered. */
static void force_follow(struct pinion_dev *dev, struct net_device *ndev,
			 enum ib_port_state before)
{
	enum ib_port_state state = pinion_port_state(dev, ndev);

	pinion_netdev_refresh(dev, ndev);
	if (state == before)
		return;
	dev->state = state;
	force_event(dev, state == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
}

/* Called with RTNL held. Return: whether the state has changed. */
static bool force_port_locked(struct pinion_dev *dev, struct net_device *ndev, bool down)
{
	enum ib_port_state before = pinion_port_state(dev, ndev);

	if (dev->port_down == down)
		return false;
	WRITE_ONCE(dev->port_down, down);
	force_follow(dev, ndev, before);
	return true;
}

/*
 * The wire checks the port's state only while pinion_injecting is on, so that is switched on before
 * the port goes down and off after it came up. With @broken the device is broken from then on.
 * Return: 0; -ENODEV if the netdev is being removed; -EIO if the device is broken already, so its
 * port stays down.
 */
static int force_port(struct pinion_dev *dev, bool down, bool broken)
{
	struct net_device *ndev = ib_device_get_netdev(&dev->ibdev, 1);
	bool changed = false;
	int err = 0;

	if (!ndev)
		return -ENODEV;
	if (down)
		pinion_inject_use(true);
	rtnl_lock();
	if (READ_ONCE(dev->broken))
		err = -EIO;
	else if (ndev->reg_state != NETREG_REGISTERED)
		err = -ENODEV;
	else
		changed = force_port_locked(dev, ndev, down);
	/* With RTNL still held, or the port could be taken up again before. */
	if (!err && broken)
		WRITE_ONCE(dev->broken, true);
	rtnl_unlock();
	if (changed != down)
		pinion_inject_use(false);
	dev_put(ndev);
	return err;
}

/* A queue pair in RESET has nothing to flush, and qp_modify.c keeps it in RESET from now on. */
static void force_break_qp(struct pinion_qp *qp)
{
	pinion_half_interrupt(&qp->resp.lock);
	if (qp->state != IB_QPS_RESET)
		pinion_qp_fail(qp, PINION_NO_EVENT);
	pinion_half_release(&qp->resp.lock);
}

static void force_break_qps(struct pinion_dev *dev)
{
	unsigned long qpn = 0;
	struct pinion_qp *qp;

	while ((qp = pinion_node_next_qp(&dev->node, &qpn))) {
		force_break_qp(qp);
		pinion_qp_put(qp);
		qpn++;
		cond_resched();
	}
}

/* First prevent new queue pairs and new states, then break the existing ones. */
static int force_fatal(struct pinion_dev *dev)
{
	int err = force_port(dev, true, true);

	if (err)
		return err == -EIO ? 0 : err;
	force_break_qps(dev);
	force_event(dev, IB_EVENT_DEVICE_FATAL);
	return 0;
}

void pinion_force_end(struct pinion_dev *dev)
{
	if (dev->port_down)
		pinion_inject_use(false);
	dev->port_down = false;
}

/* ------------------------------------------------------------------ the files */

/* Copy one word, without the newline. Return: 0 or a negative errno. */
static int force_word(char *word, const char __user *from, size_t count)
{
	loff_t at = 0;
	ssize_t copied;

	if (!count || count >= MAX_WORD)
		return -EINVAL;
	copied = simple_write_to_buffer(word, MAX_WORD - 1, &at, from, count);
	if (copied < 0)
		return copied;
	word[copied] = 0;
	strim(word);
	return 0;
}

/* Only a registered device may raise events. The reference delays its removal until we are done. */
static int force_registered(struct pinion_dev *dev, int (*force)(struct pinion_dev *dev))
{
	int err;

	if (!ib_device_try_get(&dev->ibdev))
		return -ENODEV;
	err = force(dev);
	ib_device_put(&dev->ibdev);
	return err;
}

static int force_down(struct pinion_dev *dev)
{
	return force_port(dev, true, false);
}

static int force_up(struct pinion_dev *dev)
{
	return force_port(dev, false, false);
}

static ssize_t port_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	struct pinion_dev *dev = file->private_data;
	char word[MAX_WORD];
	int err;

	err = force_word(word, from, count);
	if (err)
		return err;
	if (!strcmp(word, "down"))
		err = force_registered(dev, force_down);
	else if (!strcmp(word, "up"))
		err = force_registered(dev, force_up);
	else
		err = -EINVAL;
	return err ?: count;
}

static ssize_t port_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	const struct pinion_dev *dev = file->private_data;
	const char *word = READ_ONCE(dev->port_down) ? "down\n" : "up\n";

	return simple_read_from_buffer(to, count, pos, word, strlen(word));
}

static const struct file_operations port_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = port_read,
	.write = port_write,
};

static ssize_t fatal_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	struct pinion_dev *dev = file->private_data;
	char word[MAX_WORD];
	int err;

	err = force_word(word, from, count);
	if (!err)
		err = strcmp(word, "1") ? -EINVAL : force_registered(dev, force_fatal);
	return err ?: count;
}

static ssize_t fatal_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	const struct pinion_dev *dev = file->private_data;
	const char *word = READ_ONCE(dev->broken) ? "1\n" : "0\n";

	return simple_read_from_buffer(to, count, pos, word, strlen(word));
}

static const struct file_operations fatal_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = fatal_read,
	.write = fatal_write,
};

void pinion_force_add_files(struct pinion_dev *dev)
{
	debugfs_create_file("port", 0600, dev->debugfs, dev, &port_fops);
	debugfs_create_file("fatal", 0600, dev->debugfs, dev, &fatal_fops);
}
