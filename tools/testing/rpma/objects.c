// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Calls without a connection: descriptors (item E25), getters and wrong arguments (E28), words
 * (E33), configurations, messages.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <stdarg.h>
#include <string.h>

#include "sides.h"
#include "verbs.h"

#define WRONG(call) CHECK_EQ(call, RPMA_E_INVAL)

/* The value of pointers that a failed call must not change. */
static void *const untouched = (void *)0x5a5a;

enum { DESCRIPTOR = 21 };

/* A descriptor has the fields and the length of librpma's, and nothing around it changes. */
static void e25_written(void)
{
	struct rpma_peer *peer = peer_new();
	uint8_t wire[64], *at = wire + 7;
	uint64_t address, length;
	struct rpma_mr_local *mr;
	char memory[100];
	uint32_t rkey;
	size_t size;

	CHECK_EQ(rpma_mr_reg(peer, memory + 3, 33, RPMA_MR_USAGE_WRITE_DST,
			     &mr),
		 0);
	CHECK_EQ(rpma_mr_get_descriptor_size(mr, &size), 0);
	CHECK_EQ(size, DESCRIPTOR);
	memset(wire, 0xa5, sizeof(wire));
	CHECK_EQ(rpma_mr_get_descriptor(mr, at), 0);
	memcpy(&address, at, 8);
	memcpy(&length, at + 8, 8);
	memcpy(&rkey, at + 16, 4);
	CHECK_EQ(le64toh(address), (uintptr_t)memory + 3);
	CHECK_EQ(le64toh(length), 33);
	/* The first field of a local region is the verbs MR. */
	CHECK_EQ(le32toh(rkey), (*(struct ibv_mr **)mr)->rkey);
	CHECK_EQ(at[20], RPMA_MR_USAGE_WRITE_DST);
	CHECK_EQ(at[-1], 0xa5);
	CHECK_EQ(at[DESCRIPTOR], 0xa5);
	WRONG(rpma_mr_get_descriptor(NULL, wire));
	WRONG(rpma_mr_get_descriptor(mr, NULL));
	WRONG(rpma_mr_get_descriptor_size(NULL, &size));
	WRONG(rpma_mr_get_descriptor_size(mr, NULL));
	CHECK_EQ(rpma_mr_dereg(&mr), 0);
	CHECK_EQ(rpma_peer_delete(&peer), 0);
}

/* A descriptor in the layout of librpma. */
static void e25_read(void)
{
	static const uint8_t wire[DESCRIPTOR + 9] = {
		1,    2,    3,	  4,	5, 6, 7, 8, /* address */
		0x10, 0x20, 0x30, 0x40, 0, 0, 0, 0, /* length */
		0xef, 0xbe, 0xad, 0xde, /* rkey */
		0x28, /* usage */
	};
	struct {
		uint64_t address, length;
		uint32_t rkey;
		int usage;
	} *seen;
	struct rpma_mr_remote *mr = untouched;
	uint8_t bytes[1 + sizeof(wire)];
	size_t size;
	int flush;

	memcpy(bytes + 1, wire, sizeof(wire));
	WRONG(rpma_mr_remote_from_descriptor(NULL, DESCRIPTOR, &mr));
	WRONG(rpma_mr_remote_from_descriptor(wire, DESCRIPTOR, NULL));
	WRONG(rpma_mr_remote_from_descriptor(wire, 0, &mr));
	WRONG(rpma_mr_remote_from_descriptor(wire, DESCRIPTOR - 1, &mr));
	bytes[1 + 20] = 0;
	WRONG(rpma_mr_remote_from_descriptor(bytes + 1, DESCRIPTOR, &mr));
	fail_malloc();
	CHECK_EQ(rpma_mr_remote_from_descriptor(wire, DESCRIPTOR, &mr),
		 RPMA_E_NOMEM);
	CHECK(mr == untouched);

	bytes[1 + 20] = wire[20];
	/* A longer descriptor, as of a later version, is accepted. */
	CHECK_EQ(rpma_mr_remote_from_descriptor(bytes + 1, sizeof(wire), &mr),
		 0);
	seen = (void *)mr;
	CHECK_EQ(seen->address, 0x0807060504030201);
	CHECK_EQ(seen->length, 0x40302010);
	CHECK_EQ(seen->rkey, 0xdeadbeef);
	CHECK_EQ(seen->usage, 0x28);

	CHECK_EQ(rpma_mr_remote_get_size(mr, &size), 0);
	CHECK_EQ(size, 0x40302010);
	CHECK_EQ(rpma_mr_remote_get_flush_type(mr, &flush), 0);
	CHECK_EQ(flush, RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	WRONG(rpma_mr_remote_get_size(NULL, &size));
	WRONG(rpma_mr_remote_get_size(mr, NULL));
	WRONG(rpma_mr_remote_get_flush_type(NULL, &flush));
	WRONG(rpma_mr_remote_get_flush_type(mr, NULL));
	WRONG(rpma_mr_remote_delete(NULL));
	CHECK_EQ(rpma_mr_remote_delete(&mr), 0);
	CHECK(!mr);
	CHECK_EQ(rpma_mr_remote_delete(&mr), 0);
}

/* A region knows its address and its length. */
static void e28_getters(void)
{
	struct rpma_peer *peer = peer_new();
	void *ptr = untouched;
	struct rpma_mr_local *mr;
	char memory[100];
	size_t size = 5;

	CHECK_EQ(rpma_mr_reg(peer, memory, 77, RPMA_MR_USAGE_SEND, &mr), 0);
	WRONG(rpma_mr_get_ptr(NULL, &ptr));
	WRONG(rpma_mr_get_ptr(mr, NULL));
	WRONG(rpma_mr_get_size(NULL, &size));
	WRONG(rpma_mr_get_size(mr, NULL));
	CHECK(ptr == untouched && size == 5);
	CHECK_EQ(rpma_mr_get_ptr(mr, &ptr), 0);
	CHECK_EQ(rpma_mr_get_size(mr, &size), 0);
	CHECK(ptr == memory);
	CHECK_EQ(size, 77);
	CHECK_EQ(rpma_mr_dereg(&mr), 0);
	CHECK_EQ(rpma_peer_delete(&peer), 0);
	CHECK_EQ(rpma_peer_delete(&peer), 0);
}

/* The words for each error and event. */
static void e33_words(void)
{
	static const struct {
		int error;
		const char *want;
	} errors[] = {
		{ 0, "Success" },
		{ RPMA_E_UNKNOWN, "Unknown error" },
		{ RPMA_E_NOSUPP, "Not supported" },
		{ RPMA_E_PROVIDER, "Provider error occurred" },
		{ RPMA_E_NOMEM, "Out of memory" },
		{ RPMA_E_INVAL, "Invalid argument" },
		{ RPMA_E_NO_COMPLETION, "No next completion available" },
		{ RPMA_E_NO_EVENT, "No next event available" },
		{ RPMA_E_AGAIN, "Temporary error, try again" },
		{ RPMA_E_SHARED_CHANNEL, "Completion channel is shared" },
		{ RPMA_E_NOT_SHARED_CHNL, "Completion channel is not shared" },
		{ 1, "Unknown error" },
		{ INT32_MIN, "Unknown error" },
	};
	int event;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		context("error %d", errors[i].error);
		CHECK(!strcmp(rpma_err_2str(errors[i].error), errors[i].want));
	}
	for (event = RPMA_CONN_UNDEFINED - 1;
	     event <= RPMA_CONN_UNREACHABLE + 1; event++)
		CHECK(strlen(rpma_utils_conn_event_2str(event)) > 0);
	CHECK(!strcmp(rpma_utils_conn_event_2str(RPMA_CONN_LOST),
		      "Connection lost"));
	CHECK(!strcmp(rpma_utils_conn_event_2str(1000),
		      "Unsupported connection event"));
}

/* Settings of a peer, and their descriptor. */
static void peer_settings(void)
{
	struct rpma_peer_cfg *cfg = untouched, *copy = untouched;
	uint8_t wire[3] = { 7, 7, 7 };
	size_t size;
	bool value;

	WRONG(rpma_peer_cfg_new(NULL));
	CHECK_EQ(rpma_peer_cfg_new(&cfg), 0);
	CHECK_EQ(rpma_peer_cfg_get_direct_write_to_pmem(cfg, &value), 0);
	CHECK(!value);
	CHECK_EQ(rpma_peer_cfg_get_descriptor_size(cfg, &size), 0);
	CHECK_EQ(size, 1);
	CHECK_EQ(rpma_peer_cfg_get_descriptor(cfg, wire + 1), 0);
	CHECK(wire[0] == 7 && wire[1] == 0 && wire[2] == 7);
	CHECK_EQ(rpma_peer_cfg_set_direct_write_to_pmem(cfg, true), 0);
	CHECK_EQ(rpma_peer_cfg_get_descriptor(cfg, wire + 1), 0);
	CHECK(wire[0] == 7 && wire[1] == 1 && wire[2] == 7);
	WRONG(rpma_peer_cfg_from_descriptor(NULL, 1, &copy));
	WRONG(rpma_peer_cfg_from_descriptor(wire, 0, &copy));
	WRONG(rpma_peer_cfg_from_descriptor(wire, 1, NULL));
	CHECK(copy == untouched);
	CHECK_EQ(rpma_peer_cfg_from_descriptor(wire + 1, 1, &copy), 0);
	CHECK_EQ(rpma_peer_cfg_get_direct_write_to_pmem(copy, &value), 0);
	CHECK(value);
	WRONG(rpma_peer_cfg_get_direct_write_to_pmem(NULL, &value));
	WRONG(rpma_peer_cfg_get_direct_write_to_pmem(cfg, NULL));
	WRONG(rpma_peer_cfg_set_direct_write_to_pmem(NULL, true));
	WRONG(rpma_peer_cfg_get_descriptor(NULL, wire));
	WRONG(rpma_peer_cfg_get_descriptor(cfg, NULL));
	WRONG(rpma_peer_cfg_get_descriptor_size(NULL, &size));
	WRONG(rpma_peer_cfg_get_descriptor_size(cfg, NULL));
	WRONG(rpma_peer_cfg_delete(NULL));
	CHECK_EQ(rpma_peer_cfg_delete(&copy), 0);
	CHECK_EQ(rpma_peer_cfg_delete(&cfg), 0);
	CHECK(!cfg);
}

/* Settings of a connection, their defaults, and what is refused. */
static void connection_settings(void)
{
	struct rpma_conn_cfg *cfg = untouched;
	struct rpma_srq *srq = untouched;
	bool shared = true;
	uint32_t n;
	int ms;

	WRONG(rpma_conn_cfg_new(NULL));
	fail_malloc();
	CHECK_EQ(rpma_conn_cfg_new(&cfg), RPMA_E_NOMEM);
	CHECK((void *)cfg == untouched);
	CHECK_EQ(rpma_conn_cfg_new(&cfg), 0);
	CHECK_EQ(rpma_conn_cfg_get_timeout(cfg, &ms), 0);
	CHECK_EQ(ms, RPMA_DEFAULT_TIMEOUT_MS);
	CHECK_EQ(rpma_conn_cfg_set_timeout(cfg, 0), 0);
	WRONG(rpma_conn_cfg_set_timeout(cfg, -1));
	CHECK_EQ(rpma_conn_cfg_get_timeout(cfg, &ms), 0);
	CHECK_EQ(ms, 0);
	CHECK_EQ(rpma_conn_cfg_get_compl_channel(cfg, &shared), 0);
	CHECK(!shared);
	CHECK_EQ(rpma_conn_cfg_set_compl_channel(cfg, true), 0);
	CHECK_EQ(rpma_conn_cfg_get_compl_channel(cfg, &shared), 0);
	CHECK(shared);
	CHECK_EQ(rpma_conn_cfg_get_srq(cfg, &srq), 0);
	CHECK(!srq);
	CHECK_EQ(rpma_conn_cfg_set_srq(cfg, untouched), 0);
	CHECK_EQ(rpma_conn_cfg_get_srq(cfg, &srq), 0);
	CHECK(srq == untouched);
#define SIZE(name, initial)                                      \
	do {                                                     \
		CHECK_EQ(rpma_conn_cfg_get_##name(cfg, &n), 0);  \
		CHECK_EQ(n, initial);                            \
		CHECK_EQ(rpma_conn_cfg_set_##name(cfg, 123), 0); \
		CHECK_EQ(rpma_conn_cfg_get_##name(cfg, &n), 0);  \
		CHECK_EQ(n, 123);                                \
		WRONG(rpma_conn_cfg_get_##name(NULL, &n));       \
		WRONG(rpma_conn_cfg_get_##name(cfg, NULL));      \
		WRONG(rpma_conn_cfg_set_##name(NULL, 1));        \
	} while (0)
	SIZE(cq_size, 10);
	SIZE(rcq_size, 0);
	SIZE(sq_size, 10);
	SIZE(rq_size, 10);
#undef SIZE
	WRONG(rpma_conn_cfg_delete(NULL));
	CHECK_EQ(rpma_conn_cfg_delete(&cfg), 0);
	CHECK(!cfg);
}

/* Settings of a shared receive queue, their defaults, and what is refused. */
static void shared_queue_settings(void)
{
	struct rpma_srq_cfg *cfg;
	uint32_t n;

	WRONG(rpma_srq_cfg_new(NULL));
	CHECK_EQ(rpma_srq_cfg_new(&cfg), 0);
	CHECK_EQ(rpma_srq_cfg_get_rq_size(cfg, &n), 0);
	CHECK_EQ(n, 100);
	CHECK_EQ(rpma_srq_cfg_get_rcq_size(cfg, &n), 0);
	CHECK_EQ(n, 100);
	CHECK_EQ(rpma_srq_cfg_set_rq_size(cfg, 7), 0);
	CHECK_EQ(rpma_srq_cfg_set_rcq_size(cfg, 0), 0);
	CHECK_EQ(rpma_srq_cfg_get_rq_size(cfg, &n), 0);
	CHECK_EQ(n, 7);
	CHECK_EQ(rpma_srq_cfg_get_rcq_size(cfg, &n), 0);
	CHECK_EQ(n, 0);
	WRONG(rpma_srq_cfg_get_rq_size(NULL, &n));
	WRONG(rpma_srq_cfg_get_rq_size(cfg, NULL));
	WRONG(rpma_srq_cfg_get_rcq_size(NULL, &n));
	WRONG(rpma_srq_cfg_get_rcq_size(cfg, NULL));
	WRONG(rpma_srq_cfg_set_rq_size(NULL, 1));
	WRONG(rpma_srq_cfg_set_rcq_size(NULL, 1));
	WRONG(rpma_srq_cfg_delete(NULL));
	CHECK_EQ(rpma_srq_cfg_delete(&cfg), 0);
	CHECK(!cfg);
}

static int said;
static enum rpma_log_level said_level;

static void listener(enum rpma_log_level level, const char *file,
		     const int line, const char *function, const char *format,
		     ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	CHECK(file && line > 0 && function && text[0]);
	said_level = level;
	said++;
}

/* Makes a call fail that logs an error. */
static void provoke(void)
{
	struct rpma_peer *peer;

	alloc_pd_fails = EPERM;
	CHECK_EQ(rpma_peer_new(dev.ctx, &peer), RPMA_E_PROVIDER);
}

/* Messages of a level come only if the threshold permits it. */
static void messages(void)
{
	enum rpma_log_level level;

	CHECK_EQ(rpma_log_get_threshold(RPMA_LOG_THRESHOLD, &level), 0);
	CHECK_EQ(level, RPMA_LOG_LEVEL_WARNING);
	CHECK_EQ(rpma_log_get_threshold(RPMA_LOG_THRESHOLD_AUX, &level), 0);
	CHECK_EQ(level, RPMA_LOG_DISABLED);
	WRONG(rpma_log_get_threshold(RPMA_LOG_THRESHOLD_MAX, &level));
	WRONG(rpma_log_get_threshold(RPMA_LOG_THRESHOLD, NULL));
	WRONG(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_MAX, level));
	WRONG(rpma_log_set_threshold(RPMA_LOG_THRESHOLD,
				     RPMA_LOG_LEVEL_DEBUG + 1));
	WRONG(rpma_log_set_threshold(RPMA_LOG_THRESHOLD,
				     RPMA_LOG_DISABLED - 1));

	CHECK_EQ(rpma_log_set_function(listener), 0);
	provoke();
	CHECK_EQ(said, 1);
	CHECK_EQ(said_level, RPMA_LOG_LEVEL_ERROR);
	CHECK_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD,
					RPMA_LOG_LEVEL_FATAL),
		 0);
	provoke();
	CHECK_EQ(said, 1);
	CHECK_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD,
					RPMA_LOG_LEVEL_DEBUG),
		 0);
	provoke();
	CHECK_EQ(said, 2);
	/* The default log function, which can also write to stderr. */
	CHECK_EQ(rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION), 0);
	CHECK_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX,
					RPMA_LOG_LEVEL_ERROR),
		 0);
	provoke();
	CHECK_EQ(said, 2);
}

/* A device is found by an address of its own, or by one that it reaches. */
static void devices(void)
{
	struct ibv_context *ctx = untouched;
	int odp;

	WRONG(rpma_utils_get_ibv_context(NULL, RPMA_UTIL_IBV_CONTEXT_LOCAL,
					 &ctx));
	WRONG(rpma_utils_get_ibv_context(address(), RPMA_UTIL_IBV_CONTEXT_LOCAL,
					 NULL));
	WRONG(rpma_utils_get_ibv_context(address(), 2, &ctx));
	/* An invalid address, a remote one, and a local one without an RDMA device. */
	CHECK_EQ(rpma_utils_get_ibv_context("no.such.host.invalid",
					    RPMA_UTIL_IBV_CONTEXT_LOCAL, &ctx),
		 RPMA_E_PROVIDER);
	CHECK_EQ(rpma_utils_get_ibv_context("192.0.2.1",
					    RPMA_UTIL_IBV_CONTEXT_LOCAL, &ctx),
		 RPMA_E_PROVIDER);
	CHECK_EQ(rpma_utils_get_ibv_context("127.0.0.1",
					    RPMA_UTIL_IBV_CONTEXT_LOCAL, &ctx),
		 RPMA_E_PROVIDER);
	CHECK((void *)ctx == untouched);
	CHECK_EQ(rpma_utils_get_ibv_context(address(),
					    RPMA_UTIL_IBV_CONTEXT_REMOTE, &ctx),
		 0);
	CHECK(!strcmp(ibv_get_device_name(ctx->device), device_name()));
	WRONG(rpma_utils_ibv_context_is_odp_capable(NULL, &odp));
	WRONG(rpma_utils_ibv_context_is_odp_capable(ctx, NULL));
	CHECK_EQ(rpma_utils_ibv_context_is_odp_capable(ctx, &odp), 0);
	if (dev.pinion)
		CHECK(odp);
	if (iwarp())
		CHECK(!odp);
}

static const struct test tests[] = {
	TEST(e25_written, "E25 a descriptor of ours"),
	TEST(e25_read, "E25 a descriptor of another"),
	TEST(e28_getters, "E28 what a region knows of itself"),
	TEST(e33_words, "E33 words for errors and events"),
	TEST(peer_settings, "settings of a peer"),
	TEST(connection_settings, "settings of a connection"),
	TEST(shared_queue_settings, "settings of a shared receive queue"),
	TEST(messages, "E36 messages and their thresholds"),
	TEST(devices, "devices by address"),
};

HARNESS_MAIN("objects of libpinion-rpma", tests)
