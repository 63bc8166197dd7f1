// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connects two sides within one process: calls that wait for the other side come after what they
 * wait for.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <string.h>

#include "sides.h"

bool iwarp(void)
{
	return dev.ctx->device->transport_type == IBV_TRANSPORT_IWARP;
}

static void netdev_of(char *text, size_t size)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/0",
		 device_name());
	file = fopen(path, "r");
	if (!file || !fgets(text, size, file))
		FAIL("%s: no netdev", path);
	text[strcspn(text, "\n")] = 0;
	fclose(file);
}

const char *address(void)
{
	static char text[INET_ADDRSTRLEN];
	struct ifaddrs *all, *one;
	char netdev[64];

	netdev_of(netdev, sizeof(netdev));
	CHECK_EQ(getifaddrs(&all), 0);
	for (one = all; one; one = one->ifa_next) {
		if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET &&
		    !strcmp(one->ifa_name, netdev))
			break;
	}
	if (!one)
		FAIL("%s has no address", netdev);
	inet_ntop(AF_INET, &((struct sockaddr_in *)one->ifa_addr)->sin_addr,
		  text, sizeof(text));
	freeifaddrs(all);
	return text;
}

struct rpma_peer *peer_new(void)
{
	struct rpma_peer *peer = NULL;
	struct ibv_context *ctx;

	CHECK_EQ(rpma_utils_get_ibv_context(address(),
					    RPMA_UTIL_IBV_CONTEXT_LOCAL, &ctx),
		 0);
	if (strcmp(ibv_get_device_name(ctx->device), device_name()))
		FAIL("%s is at %s, not %s", ibv_get_device_name(ctx->device),
		     address(), device_name());
	CHECK_EQ(rpma_peer_new(ctx, &peer), 0);
	return peer;
}

enum rpma_conn_event event_of(struct rpma_conn *conn)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;

	CHECK_EQ(rpma_conn_next_event(conn, &event), 0);
	return event;
}

void sides_connect(struct sides *sides, const struct rpma_conn_cfg *near,
		   const struct rpma_conn_cfg *far)
{
	static const char port[] = "7999";
	struct rpma_conn_req *req;
	int i;

	for (i = NEAR; i <= FAR; i++) {
		if (!sides->peer[i])
			sides->peer[i] = peer_new();
	}
	if (!sides->ep)
		CHECK_EQ(rpma_ep_listen(sides->peer[FAR], address(), port,
					&sides->ep),
			 0);
	CHECK_EQ(rpma_conn_req_new(sides->peer[NEAR], address(), port, near,
				   &req),
		 0);
	CHECK_EQ(rpma_conn_req_connect(&req, NULL, &sides->conn[NEAR]), 0);
	CHECK_EQ(rpma_ep_next_conn_req(sides->ep, far, &req), 0);
	CHECK_EQ(rpma_conn_req_connect(&req, NULL, &sides->conn[FAR]), 0);
	for (i = NEAR; i <= FAR; i++) {
		CHECK_EQ(event_of(sides->conn[i]), RPMA_CONN_ESTABLISHED);
		CHECK_EQ(rpma_conn_get_cq(sides->conn[i], &sides->cq[i]), 0);
	}
}

void sides_disconnect(struct sides *sides)
{
	CHECK_EQ(rpma_conn_disconnect(sides->conn[NEAR]), 0);
	CHECK_EQ(event_of(sides->conn[FAR]), RPMA_CONN_CLOSED);
	CHECK_EQ(rpma_conn_disconnect(sides->conn[FAR]), 0);
	CHECK_EQ(event_of(sides->conn[NEAR]), RPMA_CONN_CLOSED);
	CHECK_EQ(rpma_conn_delete(&sides->conn[NEAR]), 0);
	CHECK_EQ(rpma_conn_delete(&sides->conn[FAR]), 0);
}

void sides_end(struct sides *sides)
{
	int i;

	for (i = NEAR; i <= FAR; i++)
		CHECK_EQ(rpma_conn_delete(&sides->conn[i]), 0);
	CHECK_EQ(rpma_ep_shutdown(&sides->ep), 0);
	for (i = NEAR; i <= FAR; i++)
		CHECK_EQ(rpma_peer_delete(&sides->peer[i]), 0);
}

void sides_free(struct sides *sides)
{
	sides_disconnect(sides);
	sides_end(sides);
}

struct rpma_mr_remote *remote_of(const struct rpma_mr_local *mr)
{
	struct rpma_mr_remote *remote = NULL;
	char descriptor[64];
	size_t size;

	CHECK_EQ(rpma_mr_get_descriptor_size(mr, &size), 0);
	/* The descriptor may have any alignment. */
	CHECK_EQ(rpma_mr_get_descriptor(mr, descriptor + 3), 0);
	CHECK_EQ(rpma_mr_remote_from_descriptor(descriptor + 3, size, &remote),
		 0);
	return remote;
}

struct memory memory_of(struct rpma_peer *peer, struct buf *buf, int usage)
{
	struct memory memory = { .buf = buf };

	CHECK_EQ(rpma_mr_reg(peer, buf->data, buf->length, usage,
			     &memory.local),
		 0);
	memory.remote = remote_of(memory.local);
	return memory;
}

struct memory memory_reg(struct rpma_peer *peer, size_t length, size_t offset,
			 int usage)
{
	return memory_of(peer, buf_new(length, offset), usage);
}

void memory_dereg(struct memory *memory)
{
	CHECK_EQ(rpma_mr_remote_delete(&memory->remote), 0);
	CHECK_EQ(rpma_mr_dereg(&memory->local), 0);
	buf_free(memory->buf);
}

struct ibv_wc cq_next(struct rpma_cq *cq)
{
	struct ibv_wc wc;
	int rc;

	for (;;) {
		rc = rpma_cq_get_wc(cq, 1, &wc, NULL);
		if (rc != RPMA_E_NO_COMPLETION)
			break;
		CHECK_EQ(rpma_cq_wait(cq), 0);
	}
	CHECK_EQ(rc, 0);
	return wc;
}

void cq_expect(struct rpma_cq *cq, enum ibv_wc_opcode opcode,
	       const void *op_context)
{
	struct ibv_wc wc = cq_next(cq);

	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.opcode, opcode);
	CHECK_EQ(wc.wr_id, (uintptr_t)op_context);
}

struct memory near_memory(struct sides *sides, int usage)
{
	return memory_reg(sides->peer[NEAR], LENGTH, 123, usage);
}

struct memory far_memory(struct sides *sides, int usage)
{
	return memory_reg(sides->peer[FAR], LENGTH, 4091, usage);
}

void expect_copy(struct memory *to, size_t to_offset, const struct memory *from,
		 size_t from_offset, size_t len)
{
	memcpy(to->buf->want + to_offset, from->buf->data + from_offset, len);
}

void check_both(const struct memory *a, const struct memory *b)
{
	buf_check(a->buf);
	buf_check(b->buf);
}

void send_one(struct sides *sides, const struct memory *from)
{
	CHECK_EQ(rpma_send(sides->conn[NEAR], from->local, 0, 100,
			   RPMA_F_COMPLETION_ALWAYS, NULL),
		 0);
	cq_expect(sides->cq[NEAR], IBV_WC_SEND, NULL);
}
