// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Does an event come of a membership in a multicast group that has ended? An id joins a group twice and
 * ends the first membership. See README.rst, 13.
 *
 *	cc rejoined.c
 *	./a.out 10.0.0.1
 *
 * ADDRESS is that of a network device with a device for RDMA. Processes that do the same delay the
 * kernel's work item, which must not have run yet. With slab_debug=P the kernel also says that freed
 * memory was written when the event is read.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_user_cm.h>

enum { PROCESSES = 4, SECONDS = 20, JOINED = 12 };

static int file;
static struct sockaddr_in address = { .sin_family = AF_INET };
static struct sockaddr_in group = { .sin_family = AF_INET };

static int command(uint32_t cmd, const void *body, size_t length, size_t answer)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		uint8_t body[512];
	} out = { .hdr = { cmd, length, answer } };

	memcpy(out.body, body, length);
	return write(file, &out, sizeof(out.hdr) + length) < 0 ? -1 : 0;
}

#define NEED(what)                     \
	do {                           \
		if (what) {            \
			perror(#what); \
			exit(2);       \
		}                      \
	} while (0)

static uint32_t join(uint32_t id, uint64_t uid)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_join_ip_mcast cmd = { .response = (uintptr_t)&resp,
					      .uid = uid,
					      .id = id };

	memcpy(&cmd.addr, &group, sizeof(group));
	NEED(command(RDMA_USER_CM_CMD_JOIN_IP_MCAST, &cmd, sizeof(cmd),
		     sizeof(resp)));
	return resp.id;
}

static void leave(uint32_t membership)
{
	struct rdma_ucm_destroy_id_resp resp;
	struct rdma_ucm_destroy_id cmd = { .response = (uintptr_t)&resp,
					   .id = membership };

	NEED(command(RDMA_USER_CM_CMD_LEAVE_MCAST, &cmd, sizeof(cmd),
		     sizeof(resp)));
}

/* Read what there is; count the events that are not of @uid. */
static int others(uint64_t uid)
{
	struct rdma_ucm_event_resp event;
	struct rdma_ucm_get_event cmd = { .response = (uintptr_t)&event };
	int n = 0;

	while (!command(RDMA_USER_CM_CMD_GET_EVENT, &cmd, sizeof(cmd),
			sizeof(event)))
		n += event.event == JOINED && event.uid != uid;
	return n;
}

static int try_often(void)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_create_id create = { .uid = 1,
					     .response = (uintptr_t)&resp,
					     .ps = RDMA_PS_UDP };
	struct rdma_ucm_bind_ip bind = {};
	time_t end = time(NULL) + SECONDS;
	uint32_t first, second;
	struct pollfd event;
	uint64_t uid = 10;
	int n = 0;

	file = open("/dev/infiniband/rdma_cm", O_RDWR | O_NONBLOCK);
	NEED(file < 0);
	NEED(command(RDMA_USER_CM_CMD_CREATE_ID, &create, sizeof(create),
		     sizeof(resp)));
	bind.id = resp.id;
	memcpy(&bind.addr, &address, sizeof(address));
	NEED(command(RDMA_USER_CM_CMD_BIND_IP, &bind, sizeof(bind), 0));
	event = (struct pollfd){ .fd = file, .events = POLLIN };
	while (time(NULL) < end) {
		uid += 2;
		first = join(bind.id, uid);
		second = join(bind.id, uid + 1);
		leave(first);
		/* That of the second one may come now. */
		poll(&event, 1, 5);
		n += others(uid + 1);
		leave(second);
		n += others(0);
	}
	return n;
}

int main(int argc, char **argv)
{
	int i, n;

	if (argc < 2 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) {
		fprintf(stderr, "usage: %s ADDRESS\n", argv[0]);
		return 2;
	}
	inet_pton(AF_INET, "239.3.3.1", &group.sin_addr);
	for (i = 1; i < PROCESSES; i++)
		if (!fork())
			break;
	n = try_often();
	printf("%d events of memberships that had ended\n", n);
	return n != 0;
}
