// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which ids are destroyed with a listener? One that has been asked for a connection, where nobody was
 * told of the request, and the connection has ended. See README.rst, 12.
 *
 *	cc unread.c -lrdmacm -libverbs
 *	./a.out 10.0.0.1
 *
 * ADDRESS is that of a network device with a device for RDMA. The kernel should have no KASAN, which
 * keeps freed memory for a while, and reports that it is read.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include <rdma/rdma_cma.h>

enum { OTHERS = 64 };

static void need(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(2);
}

static struct rdma_event_channel *new_channel(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	need(!!channel, "rdma_create_event_channel");
	return channel;
}

static struct rdma_cm_id *new_id(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	need(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP),
	     "rdma_create_id");
	return id;
}

static void await(struct rdma_event_channel *channel,
		  enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	need(!rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	if (event->event != type) {
		fprintf(stderr, "%s, not %s\n", rdma_event_str(event->event),
			rdma_event_str(type));
		exit(2);
	}
	rdma_ack_cm_event(event);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(7471) };
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_event_channel *first, *second, *third;
	struct rdma_cm_id *listener, *client, *others[OTHERS];
	struct pollfd request = { .events = POLLIN };
	int i, gone = 0;

	if (argc < 2 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) {
		fprintf(stderr, "usage: %s ADDRESS\n", argv[0]);
		return 2;
	}
	first = new_channel();
	second = new_channel();
	third = new_channel();

	listener = new_id(first);
	need(!rdma_bind_addr(listener, (struct sockaddr *)&address),
	     "rdma_bind_addr");
	need(!rdma_listen(listener, 1), "rdma_listen");

	client = new_id(second);
	need(!rdma_resolve_addr(client, NULL, (struct sockaddr *)&address,
				2000),
	     "rdma_resolve_addr");
	await(second, RDMA_CM_EVENT_ADDR_RESOLVED);
	need(!rdma_resolve_route(client, 2000), "rdma_resolve_route");
	await(second, RDMA_CM_EVENT_ROUTE_RESOLVED);
	need(!rdma_connect(client, &param), "rdma_connect");

	/* The request has come, and the connection belongs to the first channel. */
	request.fd = first->fd;
	need(poll(&request, 1, 5000) == 1, "poll");
	/* The request moves with the listener, the connection does not ... */
	need(!rdma_migrate_id(listener, third), "rdma_migrate_id");
	/* ... and ends with its channel. */
	rdma_destroy_event_channel(first);

	/* Its memory and its number are reused by one of these. */
	for (i = 0; i < OTHERS; i++)
		others[i] = new_id(second);
	/* This looks for the connection. */
	need(!rdma_destroy_id(listener), "rdma_destroy_id");

	for (i = 0; i < OTHERS; i++)
		if (rdma_bind_addr(others[i], (struct sockaddr *)&any) &&
		    errno == ENOENT)
			gone++;
	printf("%d other ids were destroyed\n", gone);
	return gone != 0;
}
