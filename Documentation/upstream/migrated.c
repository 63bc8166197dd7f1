// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Does the connection manager give back the GID of a connection that it is told has migrated to its
 * alternate path? See README.rst, 11.
 *
 *	cc migrated.c -lrdmacm -libverbs
 *	rdma link add rxe0 type rxe netdev eth0
 *	./a.out 10.0.0.1
 *	rdma link del rxe0
 *
 * ADDRESS is that of the device's network device. The kernel warns of the GID when the device goes.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

static struct rdma_event_channel *channel;

static void need(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(2);
}

/* Returns whose event it is. */
static struct rdma_cm_id *await(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	need(!rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	if (event->event != type) {
		fprintf(stderr, "%s, not %s\n", rdma_event_str(event->event),
			rdma_event_str(type));
		exit(2);
	}
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static void add_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	need(!rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(7471) };
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1 };
	struct rdma_cm_id *listener, *client, *server;

	if (argc < 2 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) {
		fprintf(stderr, "usage: %s ADDRESS\n", argv[0]);
		return 2;
	}
	channel = rdma_create_event_channel();
	need(!!channel, "rdma_create_event_channel");

	need(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP),
	     "rdma_create_id");
	need(!rdma_bind_addr(listener, (struct sockaddr *)&address),
	     "rdma_bind_addr");
	need(!rdma_listen(listener, 1), "rdma_listen");

	need(!rdma_create_id(channel, &client, NULL, RDMA_PS_TCP),
	     "rdma_create_id");
	need(!rdma_resolve_addr(client, NULL, (struct sockaddr *)&address,
				2000),
	     "rdma_resolve_addr");
	await(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(!rdma_resolve_route(client, 2000), "rdma_resolve_route");
	await(RDMA_CM_EVENT_ROUTE_RESOLVED);
	add_qp(client);
	need(!rdma_connect(client, &param), "rdma_connect");

	server = await(RDMA_CM_EVENT_CONNECT_REQUEST);
	add_qp(server);
	need(!rdma_accept(server, &param), "rdma_accept");
	await(RDMA_CM_EVENT_ESTABLISHED);
	await(RDMA_CM_EVENT_ESTABLISHED);

	/* With the patch this fails: there is no alternate path. */
	if (rdma_notify(client, IBV_EVENT_PATH_MIG))
		perror("rdma_notify");
	else
		printf("it has migrated\n");
	/* The end of the process destroys all ids. */
	return 0;
}
