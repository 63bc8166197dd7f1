// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "clock.h"
#include "hub.h"

enum {
	FRAME_BYTES = 9216, /* an MTU of 9000 and all headers before it */
	ADDRESS_BYTES = 6,
	BATCH = 64,
	QUEUE = 256,
	CROWDED = QUEUE / 2, /* from this length on senders wait */
	ADDRESSES = 256,
};

/* A host that has read nothing for this long, in seconds, does not read at all. */
static const double STUCK = 0.2;

struct port {
	int fd;
	double since; /* when its host last read, or the queue became non-empty */
	int head, count;
	int len[QUEUE];
	unsigned char frame[QUEUE][FRAME_BYTES];
};

static struct {
	int n;
	struct port port[HUB_PORTS];
	struct hub_counts *counts;
	/* The port of each address, by its hash; a collision replaces the entry. */
	struct {
		unsigned char address[ADDRESS_BYTES];
		struct port *port;
	} seen[ADDRESSES];
} hub;

/* -------------------------------------------------------------------- addresses */

static int hash(const unsigned char *address)
{
	return (address[3] * 31 + address[4] * 7 + address[5]) % ADDRESSES;
}

static void learn(const unsigned char *address, struct port *port)
{
	int at = hash(address);

	memcpy(hub.seen[at].address, address, ADDRESS_BYTES);
	hub.seen[at].port = port;
}

/* Return: the port of the address; NULL if it is unknown, or a group. */
static struct port *look_up(const unsigned char *address)
{
	int at = hash(address);

	if (address[0] & 1 ||
	    memcmp(hub.seen[at].address, address, ADDRESS_BYTES))
		return NULL;
	return hub.seen[at].port;
}

/* ----------------------------------------------------------------------- queues */

static bool is_crowded(const struct port *port)
{
	return port->count >= CROWDED && seconds() - port->since < STUCK;
}

static void keep(struct port *port, const struct iovec *frame)
{
	int at = (port->head + port->count) % QUEUE;

	if (port->count == QUEUE) {
		hub.counts->dropped++;
		return;
	}
	if (!port->count++)
		port->since = seconds();
	memcpy(port->frame[at], frame->iov_base, frame->iov_len);
	port->len[at] = frame->iov_len;
}

/* Return: how many frames were sent. For a host that has exited that is all of them. */
static int send_frames(struct port *port, struct iovec *frames, int n)
{
	struct mmsghdr m[BATCH] = { 0 };
	int i, sent;

	for (i = 0; i < n; i++) {
		m[i].msg_hdr.msg_iov = &frames[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	sent = sendmmsg(port->fd, m, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent >= 0)
		hub.counts->passed += sent;
	else if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS)
		sent = 0;
	else
		sent = n;
	return sent;
}

static void flush(struct port *port)
{
	while (port->count) {
		struct iovec frames[BATCH];
		int n, sent;

		for (n = 0; n < BATCH && n < port->count; n++) {
			int at = (port->head + n) % QUEUE;

			frames[n].iov_base = port->frame[at];
			frames[n].iov_len = port->len[at];
		}
		sent = send_frames(port, frames, n);
		if (!sent)
			return;
		port->head = (port->head + sent) % QUEUE;
		port->count -= sent;
		port->since = seconds();
	}
}

/* ---------------------------------------------------------------------- passing */

static void deliver(struct port *port, struct iovec *frames, int n)
{
	int sent = 0;

	if (!port->count && n)
		sent = send_frames(port, frames, n);
	while (sent < n)
		keep(port, &frames[sent++]);
}

/* Forward the frames that have arrived at @from, to each port with one call. */
static void pass(struct port *from)
{
	static unsigned char buffer[BATCH][FRAME_BYTES];
	struct iovec in[BATCH], out[BATCH];
	struct mmsghdr m[BATCH] = { 0 };
	struct port *to, *where[BATCH];
	int i, n, wanted;

	for (i = 0; i < BATCH; i++) {
		in[i].iov_base = buffer[i];
		in[i].iov_len = FRAME_BYTES;
		m[i].msg_hdr.msg_iov = &in[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	n = recvmmsg(from->fd, m, BATCH, MSG_DONTWAIT, NULL);
	for (i = 0; i < n; i++) {
		in[i].iov_len = m[i].msg_len;
		/* Too short, or truncated. */
		if (m[i].msg_len < 2 * ADDRESS_BYTES ||
		    m[i].msg_hdr.msg_flags & MSG_TRUNC) {
			where[i] = from;
			hub.counts->dropped++;
			continue;
		}
		learn(buffer[i] + ADDRESS_BYTES, from);
		where[i] = look_up(buffer[i]);
	}
	for (to = hub.port; to < hub.port + hub.n; to++) {
		if (to == from)
			continue;
		for (wanted = i = 0; i < n; i++)
			if (!where[i] || where[i] == to)
				out[wanted++] = in[i];
		deliver(to, out, wanted);
	}
}

void hub_run(const int *fd, int n, struct hub_counts *counts)
{
	int i;

	hub.n = n;
	hub.counts = counts;
	for (i = 0; i < n; i++)
		hub.port[i].fd = fd[i];
	for (;;) {
		struct pollfd p[HUB_PORTS];
		bool crowded = false;

		for (i = 0; i < n; i++)
			crowded |= is_crowded(&hub.port[i]);
		for (i = 0; i < n; i++) {
			p[i].fd = hub.port[i].fd;
			p[i].events = (crowded ? 0 : POLLIN) |
				      (hub.port[i].count ? POLLOUT : 0);
		}
		if (poll(p, n, crowded ? STUCK * 1000 : -1) < 0)
			continue;
		for (i = 0; i < n; i++) {
			if (p[i].revents & (POLLOUT | POLLERR))
				flush(&hub.port[i]);
			if (p[i].revents & POLLIN)
				pass(&hub.port[i]);
		}
	}
}
