// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands for /dev/infiniband/rdma_cm that are nearly right, or not at all (item UC): ids that are
 * bound, listen, are connected by the device under test and enter groups, with wrong lengths,
 * others' ids, bits flipped and steps in any order.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_user_cm.h>

#include "fuzz.h"
#include "link.h"

/* What headers of older kernels lack. */
enum { CMD_RESOLVE_IB_SERVICE = 23, CMD_WRITE_CM_EVENT };

enum event {
	EVENT_ADDR = 0,
	EVENT_ROUTE = 2,
	EVENT_REQUEST = 4,
	EVENT_RESPONSE = 5,
	EVENT_REJECTED = 8,
	EVENT_ESTABLISHED = 9,
	EVENT_DISCONNECTED = 10,
	EVENT_JOINED = 12,
	EVENTS = 32,
};

/* In the counts of fuzz.h, events come after commands. */
enum { FIRST_EVENT = FUZZ_KINDS - EVENTS };

static const uint8_t must_succeed[] = {
	RDMA_USER_CM_CMD_CREATE_ID,
	RDMA_USER_CM_CMD_DESTROY_ID,
	RDMA_USER_CM_CMD_BIND_IP,
	RDMA_USER_CM_CMD_RESOLVE_IP,
	RDMA_USER_CM_CMD_RESOLVE_ROUTE,
	RDMA_USER_CM_CMD_QUERY_ROUTE,
	RDMA_USER_CM_CMD_CONNECT,
	RDMA_USER_CM_CMD_LISTEN,
	RDMA_USER_CM_CMD_ACCEPT,
	RDMA_USER_CM_CMD_REJECT,
	RDMA_USER_CM_CMD_DISCONNECT,
	RDMA_USER_CM_CMD_INIT_QP_ATTR,
	RDMA_USER_CM_CMD_GET_EVENT,
	RDMA_USER_CM_CMD_SET_OPTION,
	RDMA_USER_CM_CMD_JOIN_MCAST,
	RDMA_USER_CM_CMD_LEAVE_MCAST,
	RDMA_USER_CM_CMD_MIGRATE_ID,
	RDMA_USER_CM_CMD_QUERY,
	RDMA_USER_CM_CMD_BIND,
	RDMA_USER_CM_CMD_RESOLVE_ADDR,
	FIRST_EVENT + EVENT_ADDR,
	FIRST_EVENT + EVENT_ROUTE,
	FIRST_EVENT + EVENT_REQUEST,
	FIRST_EVENT + EVENT_RESPONSE,
	FIRST_EVENT + EVENT_REJECTED,
	FIRST_EVENT + EVENT_ESTABLISHED,
	FIRST_EVENT + EVENT_DISCONNECTED,
};

enum state {
	FRESH,
	BOUND,
	LISTENS,
	RESOLVING, /* ADDR or ROUTE is to come */
	HAS_ADDR,
	HAS_ROUTE,
	CONNECTING,
	REQUESTED, /* to be accepted or rejected */
	ANSWERED, /* the other end has accepted */
	CONNECTED,
};

enum { IDS = 16, FILES = 2, GROUPS = 8, MEMBERSHIPS = 64 };
enum { PORTS = 4, FIRST_PORT = 7170 };

/* What this process has made, as far as it knows. */
static struct id {
	uint32_t id;
	enum state state;
	bool datagrams;
	bool listens; /* from then on, whatever its state is taken to be */
	int file;
	uint16_t port; /* of one that listens */
} ids[IDS];
static unsigned int ids_count;

static uint32_t groups[GROUPS];
static unsigned int groups_count;

/* Which of them have joined what. */
static struct membership {
	bool is; /* or this place is free */
	uint32_t id;
	uint32_t number; /* for LEAVE_MCAST */
	uint8_t address[16]; /* of the group, with its family */
} memberships[MEMBERSHIPS];

static int files[FILES];
static uint8_t *arena; /* two pages, and none behind them */
static struct in_addr address;
static uint32_t qp_num;

static struct id *id_find(uint32_t number)
{
	unsigned int i;

	for (i = 0; i < ids_count; i++) {
		if (ids[i].id == number)
			return &ids[i];
	}
	return NULL;
}

/* The one that had the number before has gone. */
static struct id *id_add(uint32_t number, enum state state, int file)
{
	struct id *id = id_find(number);

	if (!id && ids_count < IDS)
		id = &ids[ids_count++];
	if (id)
		*id = (struct id){ .id = number, .state = state, .file = file };
	return id;
}

static void id_drop(struct id *id)
{
	if (id)
		*id = ids[--ids_count];
}

static struct id *any_id(void)
{
	return ids_count ? &ids[rnd_below(ids_count)] : NULL;
}

/* Mostly one in @state, if there is one. */
static struct id *id_in(enum state state)
{
	unsigned int i, from = rnd_below(IDS);

	if (!rnd_below(8))
		return any_id();
	for (i = 0; i < IDS; i++) {
		struct id *id = &ids[(from + i) % IDS];

		if (id < ids + ids_count && id->state == state)
			return id;
	}
	return any_id();
}

static uint32_t number_of(const struct id *id)
{
	return id && rnd_below(30) ? id->id : rnd_below(rnd() & 1 ? 40 : ~0U);
}

/* --------------------------------------------------------------------- commands */

/* A command: what is written, and what it was meant to be. */
static struct {
	struct rdma_ucm_cmd_hdr hdr;
	uint8_t body[1000];
} out;

static uint64_t answer_at(void)
{
	switch (rnd_below(40)) {
	case 0:
		return 8;
	case 1:
		return rnd();
	case 2:
		return (uintptr_t)arena + 2 * PAGE - rnd_below(64);
	}
	return (uintptr_t)arena;
}

/*
 * These are sent as they should be, or for ids that do not exist. An id that is rejected while its own
 * message waits for an answer forgets that message, but the end of the id waits until it has been sent
 * for more than a minute (Linux 7.2, ib_send_cm_rej()); and to accept what cannot be accepted is to
 * reject it.
 */
static bool is_delicate(uint32_t cmd)
{
	return cmd == RDMA_USER_CM_CMD_CONNECT ||
	       cmd == RDMA_USER_CM_CMD_ACCEPT ||
	       cmd == RDMA_USER_CM_CMD_REJECT ||
	       cmd == RDMA_USER_CM_CMD_DISCONNECT;
}

static uint32_t nobody(void)
{
	return 100000 + rnd_below(1000);
}

/*
 * The connection manager forgets its references to a GID and to its device when it is told that an
 * established connection has migrated to its alternate path (Linux 7.2, cm_migrate();
 * Documentation/upstream, 11). So what is about to be sent never says that.
 */
static void spare_paths(void)
{
	struct rdma_ucm_notify *cmd = (void *)out.body;

	if (out.hdr.cmd == RDMA_USER_CM_CMD_NOTIFY &&
	    cmd->event == IBV_EVENT_PATH_MIG)
		cmd->event = IBV_EVENT_PATH_MIG_ERR;
}

/*
 * A listener, when it ends, looks at the connections that have asked for it and that nobody has been
 * told of, although they may have been destroyed and freed (Linux 7.2, ucma_cleanup_ctx_events();
 * Documentation/upstream, 12). So they have to live until then: they are not destroyed by ids that are
 * guessed, and the listener stays at their file, as they would end with it.
 */
static void spare_requests(void)
{
	struct rdma_ucm_destroy_id *destroy = (void *)out.body;
	struct rdma_ucm_migrate_id *migrate = (void *)out.body;
	const struct id *id;

	switch (out.hdr.cmd) {
	case RDMA_USER_CM_CMD_DESTROY_ID:
		if (!id_find(destroy->id))
			destroy->id = nobody();
		break;
	case RDMA_USER_CM_CMD_MIGRATE_ID:
		id = id_find(migrate->id);
		if (!id || id->listens)
			migrate->id = nobody();
		break;
	}
}

/* The parts of both commands for joining; false: it is another one. */
static bool joins(uint32_t **id, const void **address)
{
	struct rdma_ucm_join_ip_mcast *by_ip = (void *)out.body;
	struct rdma_ucm_join_mcast *join = (void *)out.body;

	switch (out.hdr.cmd) {
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
		*id = &by_ip->id;
		*address = &by_ip->addr;
		return true;
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		*id = &join->id;
		*address = &join->addr;
		return true;
	}
	return false;
}

/*
 * An id that leaves a group that it has joined twice leaves the other membership, and frees what the
 * event of this one refers to, which may be yet to come (Linux 7.2, rdma_leave_multicast();
 * Documentation/upstream, 13). So no id joins a group that it is in.
 */
static void spare_groups(void)
{
	const struct membership *m;
	const void *address;
	bool room = false;
	uint32_t *id;

	if (!joins(&id, &address))
		return;
	for (m = memberships; m < memberships + MEMBERSHIPS; m++) {
		room |= !m->is;
		if (m->is && m->id == *id &&
		    !memcmp(m->address, address, sizeof(m->address)))
			break;
	}
	if (m < memberships + MEMBERSHIPS || !room)
		*id = nobody();
}

static void note_joined(uint32_t id, const void *address)
{
	uint64_t answer;
	struct membership *m = memberships;

	while (m->is)
		m++;
	memcpy(&answer, out.body, sizeof(answer));
	m->is = true;
	m->id = id;
	m->number = answer == (uintptr_t)arena ? *(uint32_t *)arena : ~0U;
	memcpy(m->address, address, sizeof(m->address));
}

static void forget_memberships(bool of_id, uint32_t number)
{
	struct membership *m;

	for (m = memberships; m < memberships + MEMBERSHIPS; m++)
		m->is &= (of_id ? m->id : m->number) != number;
}

/* What the functions above rely on, also if the command was meant to be another one. */
static void note_done(int err)
{
	const struct rdma_ucm_destroy_id *destroy = (void *)out.body;
	const struct rdma_ucm_listen *listens = (void *)out.body;
	const void *address;
	uint32_t *number;
	struct id *id;

	if (!err && joins(&number, &address))
		note_joined(*number, address);

	switch (out.hdr.cmd) {
	case RDMA_USER_CM_CMD_DESTROY_ID:
		/* It is done, even if the answer could not be written. */
		if (err && err != EFAULT)
			break;
		id_drop(id_find(destroy->id));
		forget_memberships(true, destroy->id);
		break;
	case RDMA_USER_CM_CMD_LEAVE_MCAST:
		if (!err || err == EFAULT)
			forget_memberships(false, destroy->id);
		break;
	case RDMA_USER_CM_CMD_LISTEN:
		id = err ? NULL : id_find(listens->id);
		if (id)
			id->listens = true;
		break;
	}
}

/* Return: 0 or an errno. */
static int command(int file, uint32_t cmd, const void *body, size_t length,
		   size_t answer)
{
	size_t all = sizeof(out.hdr) + length, spared;
	bool delicate = is_delicate(cmd);
	int err;

	memset(&out, 0, sizeof(out));
	out.hdr = (struct rdma_ucm_cmd_hdr){ cmd, length, answer };
	memcpy(out.body, body, length);
	/* Options stay where they are, see set_option(). */
	spared = cmd == RDMA_USER_CM_CMD_SET_OPTION ? 8 : 0;
	if (!delicate && !rnd_below(8))
		fuzz_flip(out.body + spared, length - spared);
	if (!rnd_below(30))
		out.hdr.in = rnd_below(rnd() & 1 ? 600 : 1 << 16);
	if (!rnd_below(30))
		out.hdr.out = rnd_below(rnd() & 1 ? 300 : 1 << 16);
	if (!delicate && !rnd_below(60)) {
		uint32_t other = rnd_below(30);

		if (!is_delicate(other))
			cmd = out.hdr.cmd = other;
	}
	if (!rnd_below(30))
		all = rnd_below(sizeof(out));
	spare_paths();
	spare_requests();
	spare_groups();
	err = write(file, &out, all) < 0 ? errno : 0;
	note_done(err);
	fuzz_returned(cmd < FIRST_EVENT ? (int)cmd : -1, err);
	return err;
}

#define COMMAND(id, cmd, body, answer)                                    \
	command(files[id ? (id)->file : (int)(rnd() & 1)], (cmd), (body), \
		sizeof(*(body)), (answer))

static uint32_t answered(void)
{
	return *(volatile uint32_t *)arena;
}

static uint16_t some_port(void)
{
	const struct id *listener = id_in(LISTENS);

	if (listener && listener->port && rnd_below(8))
		return listener->port;
	return rnd() & 1 ? FIRST_PORT + rnd_below(PORTS) : rnd_below(3);
}

/* An address of this host, mostly that of the device, or of a group. Returns its length. */
static size_t some_address(void *to, uint16_t port)
{
	struct sockaddr_in v4 = { AF_INET, htons(port), address, {} };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(port) };

	switch (rnd_below(24)) {
	case 0:
		rnd_fill(to, sizeof(v6));
		return rnd_below(sizeof(v6));
	case 1:
		v6.sin6_addr = in6addr_loopback;
		memcpy(to, &v6, sizeof(v6));
		return sizeof(v6);
	case 2:
		v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		break;
	case 3:
		v4.sin_addr.s_addr ^= htonl(1 + rnd_below(200));
		break;
	case 4:
		v4.sin_family = rnd_below(40);
		break;
	}
	memcpy(to, &v4, sizeof(v4));
	return sizeof(v4);
}

static void create(void)
{
	struct rdma_ucm_create_id cmd = {
		.uid = rnd_in(1, 100),
		.response = answer_at(),
		.ps = rnd() & 3 ? RDMA_PS_TCP : RDMA_PS_UDP,
		.qp_type = IBV_QPT_RC,
	};
	int file = rnd() & 1;
	struct id *id;

	cmd.qp_type = cmd.ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	if (ids_count == IDS)
		return;
	*(volatile uint32_t *)arena = ~0U;
	if (command(files[file], RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd),
		    sizeof(struct rdma_ucm_create_id_resp)) ||
	    answered() == ~0U)
		return;
	id = id_add(answered(), FRESH, file);
	if (id)
		id->datagrams = cmd.ps == RDMA_PS_UDP;
}

static void destroy(void)
{
	struct id *id = any_id();
	struct rdma_ucm_destroy_id cmd = { .response = answer_at(),
					   .id = number_of(id) };

	if (ids_count < IDS / 2 && rnd_below(6))
		return;
	COMMAND(id, RDMA_USER_CM_CMD_DESTROY_ID, &cmd,
		sizeof(struct rdma_ucm_destroy_id_resp));
}

static void bind_ip(void)
{
	struct id *id = id_in(FRESH);
	struct rdma_ucm_bind_ip cmd = { .id = number_of(id) };

	some_address(&cmd.addr, some_port());
	if (!COMMAND(id, RDMA_USER_CM_CMD_BIND_IP, &cmd, 0) && id)
		id->state = BOUND;
}

static void bind_storage(void)
{
	struct id *id = id_in(FRESH);
	struct rdma_ucm_bind cmd = { .id = number_of(id) };

	cmd.addr_size = some_address(&cmd.addr, some_port());
	if (!COMMAND(id, RDMA_USER_CM_CMD_BIND, &cmd, 0) && id)
		id->state = BOUND;
}

static int query_of(struct id *id, uint32_t option, size_t answer)
{
	struct rdma_ucm_query cmd = { .response = answer_at(),
				      .id = number_of(id),
				      .option = option };

	return COMMAND(id, RDMA_USER_CM_CMD_QUERY, &cmd, answer);
}

static void listen_(void)
{
	struct id *id = id_in(BOUND);
	struct rdma_ucm_listen cmd = { .id = number_of(id),
				       .backlog = rnd_below(9) };
	const struct rdma_ucm_query_addr_resp *resp = (void *)arena;

	if (COMMAND(id, RDMA_USER_CM_CMD_LISTEN, &cmd, 0) || !id)
		return;
	id->state = LISTENS;
	memset(arena, 0, sizeof(*resp));
	if (!query_of(id, RDMA_USER_CM_QUERY_ADDR, sizeof(*resp)))
		id->port = ntohs(
			((const struct sockaddr_in *)&resp->src_addr)->sin_port);
}

static void resolve_ip(void)
{
	struct id *id = id_in(FRESH);
	struct rdma_ucm_resolve_ip cmd = { .id = number_of(id),
					   .timeout_ms = rnd_below(3000) };

	if (rnd() & 1)
		some_address(&cmd.src_addr, 0);
	some_address(&cmd.dst_addr, some_port());
	if (!COMMAND(id, RDMA_USER_CM_CMD_RESOLVE_IP, &cmd, 0) && id)
		id->state = RESOLVING;
}

static void resolve_addr(void)
{
	struct id *id = id_in(FRESH);
	struct rdma_ucm_resolve_addr cmd = { .id = number_of(id),
					     .timeout_ms = rnd_below(3000) };

	if (rnd() & 1)
		cmd.src_size = some_address(&cmd.src_addr, 0);
	cmd.dst_size = some_address(&cmd.dst_addr, some_port());
	if (!COMMAND(id, RDMA_USER_CM_CMD_RESOLVE_ADDR, &cmd, 0) && id)
		id->state = RESOLVING;
}

static void resolve_route(void)
{
	struct id *id = id_in(HAS_ADDR);
	struct rdma_ucm_resolve_route cmd = { .id = number_of(id),
					      .timeout_ms = rnd_below(3000) };

	if (!COMMAND(id, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &cmd, 0) && id)
		id->state = RESOLVING;
}

static void query_route(void)
{
	struct id *id = any_id();
	struct rdma_ucm_query cmd = { .response = answer_at(),
				      .id = number_of(id) };

	COMMAND(id, RDMA_USER_CM_CMD_QUERY_ROUTE, &cmd,
		sizeof(struct rdma_ucm_query_route_resp));
}

static void query(void)
{
	query_of(any_id(), rnd_below(5), rnd() & 1 ? 300 : rnd_below(2000));
}

static struct rdma_ucm_conn_param some_param(void)
{
	struct rdma_ucm_conn_param param = {
		.qp_num = qp_num,
		.private_data_len = rnd() & 3 ? rnd_below(57) : rnd_below(256),
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = rnd_below(8),
		.rnr_retry_count = rnd_below(8),
		.valid = rnd_below(30) ? 1 : rnd(),
	};

	rnd_fill(param.private_data, sizeof(param.private_data));
	return param;
}

/* An id in @state; its number, or that of nobody. NULL: there is none. */
static struct id *exactly_in(enum state state, uint32_t *number)
{
	struct id *id = id_in(state);

	if (!id || id->state != state)
		return NULL;
	*number = rnd_below(8) ? id->id : nobody();
	return id;
}

static void connect_(void)
{
	struct rdma_ucm_connect cmd = { .conn_param = some_param() };
	struct id *id = exactly_in(HAS_ROUTE, &cmd.id);

	if (id && !COMMAND(id, RDMA_USER_CM_CMD_CONNECT, &cmd, 0))
		id->state = CONNECTING;
}

static void accept_(void)
{
	struct rdma_ucm_accept cmd = { .uid = rnd_in(1, 100),
				       .conn_param = some_param() };
	struct id *id = exactly_in(rnd() & 1 ? REQUESTED : ANSWERED, &cmd.id);

	if (!id)
		return;
	/* The end that has asked has no more to say. */
	if (id->state == ANSWERED)
		cmd.conn_param.valid = 0;
	if (!COMMAND(id, RDMA_USER_CM_CMD_ACCEPT, &cmd, 0))
		id->state = id->state == ANSWERED ? CONNECTED : CONNECTING;
}

static void reject(void)
{
	struct rdma_ucm_reject cmd = { .private_data_len = rnd_below(200),
				       .reason = 28 };
	struct id *id;

	/* Most are to be accepted. */
	if (rnd_below(4))
		return;
	id = exactly_in(REQUESTED, &cmd.id);
	if (id && !COMMAND(id, RDMA_USER_CM_CMD_REJECT, &cmd, 0))
		id->state = BOUND;
}

static void disconnect(void)
{
	struct rdma_ucm_disconnect cmd = {};
	struct id *id = exactly_in(CONNECTED, &cmd.id);

	if (id && !COMMAND(id, RDMA_USER_CM_CMD_DISCONNECT, &cmd, 0))
		id->state = BOUND;
}

static void init_qp_attr(void)
{
	struct id *id = id_in(rnd() & 1 ? HAS_ROUTE : ANSWERED);
	struct rdma_ucm_init_qp_attr cmd = { .response = answer_at(),
					     .id = number_of(id),
					     .qp_state = rnd_below(7) };

	COMMAND(id, RDMA_USER_CM_CMD_INIT_QP_ATTR, &cmd,
		sizeof(struct ib_uverbs_qp_attr));
}

static void set_option(void)
{
	static uint32_t value[256];
	struct id *id = any_id();
	struct rdma_ucm_set_option cmd = {
		.optval = rnd_below(30) ? (uintptr_t)value : rnd(),
		.id = number_of(id),
		.level = rnd_below(8) ? RDMA_OPTION_ID : rnd_below(3),
		.optname = rnd_below(5),
		.optlen = rnd() & 1 ? 4 : 1,
	};

	/*
	 * The core takes any byte as a timeout of acknowledgements, and shifts by it when it
	 * connects (Linux 7.2, rdma_set_ack_timeout() and cm_convert_to_ms()).
	 */
	value[0] = rnd_below(rnd() & 1 ? 2 : 10);
	if (!rnd_below(8))
		cmd.optlen = rnd_below(sizeof(value));
	COMMAND(id, RDMA_USER_CM_CMD_SET_OPTION, &cmd, 0);
}

static void notify(void)
{
	struct id *id = id_in(CONNECTED);
	struct rdma_ucm_notify cmd = { .id = number_of(id),
				       .event = rnd_below(20) };

	COMMAND(id, RDMA_USER_CM_CMD_NOTIFY, &cmd, 0);
}

static struct in_addr some_group(void)
{
	return (struct in_addr){ htonl(0xef030300 + rnd_below(4)) };
}

static struct id *id_of_datagrams(void)
{
	unsigned int i;

	for (i = 0; i < ids_count && rnd_below(8); i++) {
		if (ids[i].datagrams && ids[i].state >= BOUND)
			return &ids[i];
	}
	return any_id();
}

static void joined(void)
{
	groups[groups_count++ % GROUPS] = answered();
}

static void join(void)
{
	struct id *id = id_of_datagrams();
	struct rdma_ucm_join_mcast cmd = { .response = answer_at(),
					   .uid = rnd_in(1, 100),
					   .id = number_of(id),
					   .join_flags = rnd_below(12) ?
								 0 :
								 rnd_below(3) };
	struct sockaddr_in group = { .sin_family = AF_INET,
				     .sin_addr = some_group() };

	memcpy(&cmd.addr, &group, sizeof(group));
	cmd.addr_size = sizeof(group);
	if (!COMMAND(id, RDMA_USER_CM_CMD_JOIN_MCAST, &cmd,
		     sizeof(struct rdma_ucm_create_id_resp)))
		joined();
}

static void join_ip(void)
{
	struct id *id = id_of_datagrams();
	struct rdma_ucm_join_ip_mcast cmd = { .response = answer_at(),
					      .uid = rnd_in(1, 100),
					      .id = number_of(id) };
	struct sockaddr_in group = { .sin_family = AF_INET,
				     .sin_addr = some_group() };

	memcpy(&cmd.addr, &group, sizeof(group));
	if (!COMMAND(id, RDMA_USER_CM_CMD_JOIN_IP_MCAST, &cmd,
		     sizeof(struct rdma_ucm_create_id_resp)))
		joined();
}

static void leave(void)
{
	struct id *id = id_of_datagrams();
	struct rdma_ucm_destroy_id cmd = {
		.response = answer_at(),
		.id = groups_count && rnd_below(30) ?
			      groups[rnd_below(groups_count < GROUPS ?
						       groups_count :
						       GROUPS)] :
			      rnd_below(40),
	};

	COMMAND(id, RDMA_USER_CM_CMD_LEAVE_MCAST, &cmd,
		sizeof(struct rdma_ucm_destroy_id_resp));
}

static void migrate(void)
{
	struct id *id = any_id();
	struct rdma_ucm_migrate_id cmd = { .response = answer_at(),
					   .id = number_of(id),
					   .fd = rnd_below(20) };
	int to = id ? !id->file : 0;

	if (rnd_below(4))
		return;
	if (rnd_below(20))
		cmd.fd = files[!to];
	if (!command(files[to], RDMA_USER_CM_CMD_MIGRATE_ID, &cmd, sizeof(cmd),
		     sizeof(struct rdma_ucm_migrate_resp)) &&
	    id)
		id->file = to;
}

static void resolve_service(void)
{
	struct id *id = id_in(HAS_ADDR);
	uint8_t body[96] = {};
	uint32_t number = number_of(id);

	memcpy(body, &number, sizeof(number));
	rnd_fill(body + 8, 8 + rnd_below(64));
	body[80] = rnd_below(5);
	COMMAND(id, CMD_RESOLVE_IB_SERVICE, &body, 0);
}

static void write_event(void)
{
	struct id *id = any_id();
	/* id, reserved, event, status, parameters */
	uint32_t body[100] = { number_of(id), 0, rnd_in(15, 22), rnd() };

	/* Events that nobody reads stay in memory. */
	if (rnd_below(4))
		return;
	COMMAND(id, CMD_WRITE_CM_EVENT, &body, 0);
}

/* Read an event, and take note of what it means for its id. */
static void get_event(void)
{
	struct rdma_ucm_event_resp *resp = (void *)arena;
	struct rdma_ucm_get_event cmd = { .response = answer_at() };
	int file = rnd() & 1;
	struct pollfd poll_fd = { .fd = files[file], .events = POLLIN };
	struct id *id;

	if (!rnd_below(4))
		poll(&poll_fd, 1, rnd_below(3));
	memset(resp, 0xff, sizeof(*resp));
	if (command(files[file], RDMA_USER_CM_CMD_GET_EVENT, &cmd, sizeof(cmd),
		    sizeof(*resp)) ||
	    resp->event >= EVENTS)
		return;
	fuzz_returned(FIRST_EVENT + resp->event, 0);
	if (resp->event == EVENT_REQUEST) {
		id_add(resp->id, REQUESTED, file);
		return;
	}
	id = id_find(resp->id);
	if (!id || resp->status)
		return;
	switch (resp->event) {
	case EVENT_ADDR:
		id->state = HAS_ADDR;
		break;
	case EVENT_ROUTE:
		id->state = HAS_ROUTE;
		break;
	case EVENT_RESPONSE:
		id->state = ANSWERED;
		break;
	case EVENT_ESTABLISHED:
		id->state = CONNECTED;
		break;
	case EVENT_DISCONNECTED:
		id->state = BOUND;
		break;
	}
}

static void call(void)
{
	static void (*const steps[])(void) = {
		create,	      create,	     destroy,	  bind_ip,
		bind_storage, listen_,	     listen_,	  resolve_ip,
		resolve_addr, resolve_route, query_route, query,
		connect_,     connect_,	     accept_,	  accept_,
		accept_,      reject,	     disconnect,  init_qp_attr,
		set_option,   notify,	     join,	  join_ip,
		leave,	      migrate,	     write_event, resolve_service,
		get_event,    get_event,     get_event,	  get_event,
		get_event,    get_event,     get_event,	  resolve_route,
	};

	steps[rnd_below(ARRAY_SIZE(steps))]();
}

static int open_cm(void)
{
	return open("/dev/infiniband/rdma_cm", O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

static struct link link_;

static void begin(void)
{
	int i;

	link_make(&link_, NULL);
	qp_num = link_.a.qp->qp_num;
	memcpy(&address, dev.gid.raw + 12, sizeof(address));
	for (i = 0; i < FILES; i++) {
		files[i] = open_cm();
		CHECK(files[i] >= 0);
	}
	arena = fuzz_arena(2 * PAGE);
}

/* A command or event of which there has been none yet; -1: there is none. */
static int missing(void)
{
	return fuzz_missing(must_succeed, ARRAY_SIZE(must_succeed));
}

static bool enough(void)
{
	return fuzz_seen->calls >= 1000 && fuzz_errnos() >= 5 && missing() < 0;
}

/*
 * Thousands of commands: connections come about between them, others' messages go on, and nothing
 * is left.
 */
static void garbage(void)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const struct fuzz fuzz = {
		.word = "ucm",
		.begin = begin,
		.call = call,
		.enough = enough,
		.calls = 8000,
		.calls_in_short = 3000,
	};
	struct region a, b;
	int file;

	if (!dev.pinion)
		skip("others' queue pair 1 is their own");
	if (memcmp(dev.gid.raw, mapped, sizeof(mapped)))
		skip("the device has no IPv4 address");
	if (system("modprobe -q rdma_ucm 2>/dev/null"))
		note("rdma_ucm is no module here");
	file = open_cm();
	if (file < 0)
		skip("no rdma_cm here");
	close(file);
	link_make(&link_, NULL);
	a = region_new(20000, 1, ALL_ACCESS);
	b = region_new(20000, 7, ALL_ACCESS);
	fuzz_run(&fuzz);
	note("%u kinds of commands and events, %u errnos, %lu connections",
	     fuzz_kinds(), fuzz_errnos(),
	     fuzz_seen->good_of[FIRST_EVENT + EVENT_ESTABLISHED]);
	if (missing() >= 0)
		FAIL("%s %d never succeeded",
		     missing() < FIRST_EVENT ? "command" : "event",
		     missing() % FIRST_EVENT);
	CHECK(fuzz_seen->calls >= 1000 && fuzz_errnos() >= 5);
	link_renew(&link_);
	exchange(&link_, &a, &b);
}

static const struct test tests[] = {
	LONG_TEST(garbage, "UC1 nearly right commands for rdma_cm", 300),
};

HARNESS_MAIN("garbage for rdma_cm", tests)
